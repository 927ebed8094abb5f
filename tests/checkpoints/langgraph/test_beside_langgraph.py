"""Small programs give on WaymarkSaver what they give on LangGraph's own saver in memory."""

import asyncio
import itertools
import operator
from collections.abc import Callable
from typing import Annotated, Any

import pytest
import sqlalchemy as sa
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send, interrupt
from typing_extensions import TypedDict

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.storage import schema
from checkpoints.upkeep import erasure
from tests.checkpoints.langgraph.graphs import make_config, make_graph
from tests.checkpoints.langgraph.late_savers import LateSaver


class Log(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    name: str


def say(word: str) -> Callable[[Log], Log]:
    return lambda _: {"log": [word], "name": word * 100}


def ask(_: Log) -> Log:
    return {"log": [str(interrupt("well?"))]}


def ask_twice(_: Log) -> Log:
    return {"log": [f"{interrupt('one?')} {interrupt('two?')}"]}


def make_steps(saver: Any) -> Any:
    return StateGraph(Log).add_sequence([("a", say("a")), ("ask", ask), ("c", say("c"))]).add_edge(START, "a").compile(saver)


def nest(saver: Any, memory: bool | None) -> Any:
    inner = make_steps(memory)
    return StateGraph(Log).add_sequence([("inner", inner), ("after", say("z"))]).add_edge(START, "inner").compile(saver)


def list_history(graph: Any, config: Any) -> list[Any]:
    """Return all that LangGraph's history tells, with numbers in place of ids."""
    numbers: dict[str, int] = {}
    counter = itertools.count()

    def number(value: Any) -> Any:
        if isinstance(value, dict):
            return {number(key): number(below) for key, below in value.items()}
        at_id = isinstance(value, str) and value.count("-") == 4
        return numbers.setdefault(value, next(counter)) if at_id else value

    return [
        (
            state.values,
            state.next,
            number(dict(state.config)),
            number(dict(state.parent_config or {})),
            state.metadata["source"],
            [(task.name, task.result, [each.value for each in task.interrupts]) for task in state.tasks],
        )
        for state in graph.get_state_history(config)
    ]


def run_values(saver: Any) -> Any:
    graph = make_graph(saver)
    for text in ("one", "tool", "forget", "two"):
        graph.invoke({"messages": [HumanMessage(text, id=text)]}, make_config("t"), durability="sync")
    values = graph.get_state(make_config("t")).values
    return [each.text for each in values["messages"]], {name: values[name] for name in ("notes", "files", "count")}


def run_history(saver: Any) -> Any:
    graph = make_steps(saver)
    graph.invoke({"log": ["in"], "name": "me"}, make_config("t"), durability="sync")
    graph.invoke(Command(resume="yes"), make_config("t"), durability="sync")
    graph.update_state(make_config("t"), {"log": ["more"]}, as_node="c")
    return list_history(graph, make_config("t"))


def run_history_of_messages(saver: Any) -> Any:
    graph = make_graph(saver, lambda state: {"messages": [AIMessage("b", id=f"b{len(state['messages'])}")], "count": 1})
    for text in ("one", "two"):
        graph.invoke({"messages": [HumanMessage(text, id=text)]}, make_config("t"), durability="sync")
    return list_history(graph, make_config("t"))


def run_replays(saver: Any) -> Any:
    graph = make_steps(saver)
    graph.invoke({"log": ["in"]}, make_config("t"))
    graph.invoke(Command(resume="yes"), make_config("t"))
    found = []
    for state in [*graph.get_state_history(make_config("t"))]:
        first = graph.invoke(None, state.config)
        found.append((first.get("log"), graph.invoke(Command(resume="no"), state.config).get("log")))
    return found, graph.get_state(make_config("t")).values


def run_resumed(saver: Any) -> Any:
    graph = make_steps(saver)
    graph.invoke({"log": ["in"]}, make_config("t"))
    chosen = graph.get_state(make_config("t")).config
    answers = [graph.invoke(Command(resume=word), chosen)["log"] for word in ("yes", "no")]
    return answers, graph.get_state(make_config("t")).values


def run_subgraphs(saver: Any, memory: bool | None) -> Any:
    graph, config = nest(saver, memory), make_config("t")
    graph.invoke({"log": ["in"]}, config)
    at_subgraph = graph.get_state(config, subgraphs=True).tasks[0].state.config
    replayed = graph.invoke(None, at_subgraph).get("log")
    return replayed, graph.invoke(Command(resume="yes"), at_subgraph)["log"], graph.get_state(config).values


def run_durability(saver: Any, durability: Any) -> Any:
    graph, config = nest(saver, True), make_config("t")
    for word in ("yes", "no"):
        graph.invoke({"log": ["in"]}, config, durability=durability)
        graph.invoke(Command(resume=word), config, durability=durability)
    return graph.get_state(config).values


def run_sends(saver: Any) -> Any:
    graph = StateGraph(Log).add_node("work", lambda given: {"log": [given["name"]]})
    graph = graph.add_conditional_edges(START, lambda _: [Send("work", {"name": name}) for name in "ab"]).compile(saver)
    graph.invoke({"name": "me"}, make_config("t"), durability="sync")
    return list_history(graph, make_config("t"))


def run_edited_subgraph(saver: Any, memory: bool | None) -> Any:
    """Fork from before a subgraph, and go back to the older branch, where `update_state` has put something into it."""
    graph, config = nest(saver, memory), make_config("t")
    graph.invoke({"log": ["in"]}, config)
    graph.update_state(graph.get_state(config, subgraphs=True).tasks[0].state.config, {"log": ["edited"]})
    older = graph.get_state(config, subgraphs=True)
    graph.invoke(None, [*graph.get_state_history(config)][-1].config)
    states = [*graph.get_state_history(config)]
    seen = [task.state.values for task in graph.get_state(older.config, subgraphs=True).tasks]
    steps = len([*graph.get_state_history(older.tasks[0].state.config)])
    return seen, steps, graph.invoke(Command(resume="yes"), older.config)["log"], [each.next for each in states]


def run_replay_from_the_input(saver: Any) -> Any:
    graph, config = make_steps(saver), make_config("t")
    graph.invoke({"log": ["in"], "name": "me" * 50}, config)
    graph.invoke(None, [*graph.get_state_history(config)][-1].config)
    return list_history(graph, config)


def run_updated_beside_a_resume(saver: Any) -> Any:
    """An update and a run go on from one state, whose task has asked twice."""
    graph = StateGraph(Log).add_sequence([("twice", ask_twice), ("c", say("c"))]).add_edge(START, "twice").compile(saver)
    config = make_config("t")
    graph.invoke({"log": ["in"]}, config)
    asked = graph.get_state(config).config
    graph.invoke(Command(resume="yes"), config)
    graph.update_state(config, {"log": ["put"]}, as_node="c")
    graph.invoke(Command(resume="no"), asked)
    return list_history(graph, config)


def run_keys(saver: Any) -> Any:
    graph, config = make_steps(saver), make_config("t")
    graph.invoke({"log": ["in"]}, config)
    latest = graph.get_state(config).config
    configs = [
        latest,
        graph.get_state(latest).config,
        graph.update_state(latest, {"log": ["x"]}),
        saver.get_tuple(config).config,
    ]
    return [(sorted(each["configurable"]), each["configurable"]["thread_id"] == "t") for each in configs]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "values": run_values,
    "history": run_history,
    "history of messages": run_history_of_messages,
    "replays": run_replays,
    "resumed at a chosen state": run_resumed,
    "subgraphs": lambda saver: run_subgraphs(saver, None),
    "subgraphs with a memory": lambda saver: run_subgraphs(saver, True),
    "edited subgraph": lambda saver: run_edited_subgraph(saver, None),
    "edited subgraph with a memory": lambda saver: run_edited_subgraph(saver, True),
    "replay from the input": run_replay_from_the_input,
    "updated beside a resume": run_updated_beside_a_resume,
    "sends": run_sends,
    **{f"durability {name}": lambda saver, name=name: run_durability(saver, name) for name in ("sync", "async", "exit")},
    "keys of the config": run_keys,
}


@pytest.mark.parametrize("make_saver", [WaymarkSaver, LateSaver])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_gives_what_it_gives_on_langgraphs_saver(
    store: Store, program: str, make_saver: Callable[[Store], WaymarkSaver]
) -> None:
    assert PROGRAMS[program](make_saver(store)) == PROGRAMS[program](InMemorySaver())


def test_writes_of_an_asynchronous_run_may_begin_too_late(store_on_both: Store) -> None:
    async def run(saver: Any) -> Any:
        graph, config = make_steps(saver), make_config("t")
        await graph.ainvoke({"log": ["in"], "name": "me"}, config)
        await graph.ainvoke(Command(resume="yes"), config)
        return await asyncio.to_thread(list_history, graph, config)

    saver = LateSaver(store_on_both)
    assert asyncio.run(run(saver)) == asyncio.run(run(InMemorySaver()))
    assert saver.held


def test_late_writes_are_erased_with_the_state_that_holds_their_values(store: Store) -> None:
    graph, config = make_steps(LateSaver(store)), make_config("t")
    graph.invoke({"log": ["in"]}, config)
    graph.invoke(Command(resume="yes"), config)
    assert count_late_writes(store)
    store.undo("t")
    store.undo("t")
    erasure.erase(store.database, "t", keep_undo=False)
    assert count_late_writes(store) == 0


def count_late_writes(store: Store) -> int:
    with store.database.begin_read() as connection:
        return connection.scalar(sa.select(sa.func.count()).where(schema.state_write.c.late)) or 0


@pytest.mark.parametrize("make_saver", [WaymarkSaver, LateSaver])
def test_an_undone_run_leaves_no_results_where_the_conversation_stands(
    store_on_both: Store, make_saver: Callable[[Store], WaymarkSaver]
) -> None:
    store = store_on_both
    graph, config = make_steps(make_saver(store)), make_config("t")
    graph.invoke({"log": ["in"]}, config)
    waiting = graph.get_state(config)
    graph.invoke(Command(resume="yes"), config)
    assert [task.result for task in graph.get_state(waiting.config).tasks] == [{"log": ["yes"]}]
    store.undo("t")
    assert [task.result for task in graph.get_state(waiting.config).tasks] == [None]
    assert graph.invoke(None, config)["log"] == ["in", "a"]
    assert graph.invoke(Command(resume="no"), waiting.config)["log"] == ["in", "a", "no", "c"]
    assert [task.result for task in graph.get_state(waiting.config).tasks] == [{"log": ["no"]}]
