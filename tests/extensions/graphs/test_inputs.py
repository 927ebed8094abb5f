"""Inputs of a graph beside messages: their form, and what a run gets of them."""

from pathlib import Path

import pytest

from agent.preparation.graph_inputs import InputForm
from agent.preparation.requests import InputsRefusedError, MessageTooLongError
from checkpoints import Caller, Database, RunState, StateError, Store
from checkpoints.interchange import reading, transfer
from checkpoints.langgraph import WaymarkSaver
from checkpoints.values.limits import MAX_ARGUMENT_LEVELS, MAX_ARGUMENT_VALUES, MAX_MESSAGE_CHARS
from tests.agent.running import Running
from tests.extensions.graphs.test_driving import play

HEAD = """
import enum, operator
from dataclasses import dataclass
from typing import Annotated, Literal, Optional, Required, TypedDict
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

class Mood(enum.Enum):
    CALM = "calm"
    QUICK = "quick"

@dataclass
class Seat:
    row: int

class Inputs(TypedDict, total=False):
    city: Required[str]
    days: int
    budget: Optional[float]
    fast: bool
    stops: Annotated[list[str], operator.add]
    mood: Mood
    size: Literal["s", "m"]
    seat: Seat
"""
TRIP = (
    HEAD
    + """
class State(Inputs):
    plan: Annotated[list[str], operator.add]

def node(state):
    return {"plan": [f"{state['city']} {state.get('days', 0)}"]}

graph = StateGraph(State, input_schema=Inputs).add_node("node", node).add_edge(START, "node").compile()
"""
)
TALK = (
    HEAD
    + """
class Talk(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    days: int
    stops: Annotated[list[str], operator.add]

def node(state):
    said = f"{state['messages'][-1].text} {state.get('days')} {state.get('stops')}"
    return {"messages": [AIMessage(said)]}

graph = StateGraph(Talk).add_node("node", node).add_edge(START, "node").compile()
"""
)


def find_form(chat: Running) -> InputForm:
    form = chat.runner.find_form("graph")
    assert form is not None
    return form


def read_values(chat: Running) -> dict[str, object]:
    found = WaymarkSaver(chat.store).get_tuple({"configurable": {"thread_id": chat.thread_id}})
    values = found.checkpoint["channel_values"] if found else {}
    return {name: values[name] for name in ("city", "days", "stops", "plan") if name in values}


def test_a_form_has_a_field_of_the_right_kind_for_each_input(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        form = find_form(chat)
        assert {each.name: each.kind for each in form.fields} == {
            "city": "text",
            "days": "integer",
            "budget": "number",
            "fast": "choice",
            "stops": "texts",
            "mood": "choice",
            "size": "choice",
            "seat": "json",
        }
        assert [each.options for each in form.fields if each.options] == [(True, False), ("calm", "quick"), ("s", "m")]
        assert [each.name for each in form.fields if each.required] == ["city"]
        assert (form.has_messages, form.is_own) == (False, True)
        assert chat.runner.find_form("other") is None

    play(tmp_path, story, TRIP)


def test_inputs_reach_the_graph_with_their_message_once(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        assert (find_form(chat).has_messages, find_form(chat).is_own) == (True, False)
        inputs = {"days": 3, "stops": ["Rome"]}
        await chat.end(await chat.runner.send(chat.thread_id, "go", caller=Caller(), inputs=inputs))
        assert chat.said()[-1][2] == "go 3 ['Rome']"
        await chat.say("on")
        assert chat.said()[-1][2] == "on 3 ['Rome']"
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert chat.said()[-1][2] == "on 3 ['Rome']"
        await chat.end(await chat.runner.edit(chat.thread_id, chat.path()[0].id, "went", caller=Caller()))
        assert chat.said()[-1][2] == "went 3 ['Rome']"
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert chat.said()[-1][2] == "went 3 ['Rome']"

    play(tmp_path, story, TALK)


def test_inputs_are_bounded_and_not_for_the_built_in_agent(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        with pytest.raises(MessageTooLongError):
            await chat.runner.send(chat.thread_id, "go", caller=Caller(), inputs={"city": "x" * 300_000})
        chat.store.change_settings(chat.thread_id, {"graph": ""})
        with pytest.raises(InputsRefusedError):
            await chat.runner.send(chat.thread_id, "go", caller=Caller(), inputs={"days": 1})
        assert chat.path() == []

    play(tmp_path, story, TALK)


def nest(levels: int) -> object:
    return [] if levels == 1 else [nest(levels - 1)]


EDGES = {  # inputs of a size, and their limit
    "characters": (lambda size: {"stops": ["x" * (size - len('{"stops": [""]}'))]}, MAX_MESSAGE_CHARS),
    "values": (lambda size: {"stops": ["x"] * (size - 2)}, MAX_ARGUMENT_VALUES),
    "levels": (lambda size: {"stops": nest(size - 1)}, MAX_ARGUMENT_LEVELS),
}


@pytest.mark.parametrize("edge", EDGES)
def test_inputs_at_a_limit_reach_the_graph_and_a_file_and_beyond_it_are_refused(tmp_path: Path, edge: str) -> None:
    write, limit = EDGES[edge]

    async def story(chat: Running) -> None:
        with pytest.raises(StateError, match=f"{limit:,}"):
            await chat.runner.send(chat.thread_id, "go", caller=Caller(), inputs=write(limit + 1))
        run = await chat.end(await chat.runner.send(chat.thread_id, "go", caller=Caller(), inputs=write(limit)))
        assert run.state is RunState.DONE
        document = reading.read_document(transfer.export(chat.store, chat.thread_id))
        other = Store(Database.in_memory())
        copy = transfer.import_thread(other, document).result
        assert [each.hash for each in other.list_messages(copy)] == [each.hash for each in chat.path()]

    play(tmp_path, story, TALK.replace("{state.get('stops')}", "{len(str(state.get('stops')))}"))


def test_checkpoints_of_a_graph_without_messages_are_restored_with_every_channel(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say('{"city": "Rome", "days": 2, "stops": ["a"]}')
        saved = str(chat.store.save(chat.thread_id, name="Rome").result)
        before = read_values(chat)
        await chat.say('{"city": "Oslo", "stops": ["b"]}')
        after = read_values(chat)
        assert after == {"city": "Oslo", "days": 2, "stops": ["a", "b"], "plan": ["Rome 2", "Oslo 2"]}
        chat.store.restore(chat.thread_id, saved)
        assert read_values(chat) == before
        chat.store.undo(chat.thread_id)
        assert read_values(chat) == after
        chat.store.restore_message(chat.thread_id, chat.path()[1].id)
        assert read_values(chat) == before

    play(tmp_path, story, TRIP)


def test_another_answer_of_a_graph_without_messages_begins_before_the_first(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say('{"city": "Rome", "stops": ["a"]}')
        for _ in range(2):
            run = await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
            assert run.state is RunState.DONE
            assert read_values(chat) == {"city": "Rome", "stops": ["a"], "plan": ["Rome 0"]}
        await chat.say('{"city": "Oslo", "stops": ["b"]}')
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert read_values(chat) == {"city": "Oslo", "stops": ["a", "b"], "plan": ["Rome 0", "Oslo 0"]}

    play(tmp_path, story, TRIP)


def test_an_input_that_may_be_null_is_not_required_by_the_form(tmp_path: Path) -> None:
    text = TRIP.replace("budget: Optional[float]", "budget: Required[Optional[float]]")
    text = text.replace("{state.get('days', 0)}", "{state['budget']}")

    async def story(chat: Running) -> None:
        fields = {each.name: (each.required, each.is_null_when_empty) for each in find_form(chat).fields}
        assert (fields["city"], fields["budget"], fields["days"]) == ((True, False), (False, True), (False, False))
        await chat.say('{"city": "Rome", "budget": null}')
        assert read_values(chat)["plan"] == ["Rome None"]

    play(tmp_path, story, text)


JOKE = """
from dataclasses import dataclass
from typing import TypedDict
from langgraph.graph import START, StateGraph
from pydantic import BaseModel

class State(TypedDict):
    topic: str
    joke: str

class Model(BaseModel):
    topic: str
    joke: str = ""

@dataclass
class Data:
    topic: str
    joke: str = ""

class Given(TypedDict):
    topic: str

def node(state):
    topic = state["topic"] if isinstance(state, dict) else state.topic
    return {"joke": f"about {topic}"}

graph = StateGraph(STATE).add_node("node", node).add_edge(START, "node").compile()
"""


@pytest.mark.parametrize(
    ("state", "required"),
    [("State", []), ("Model", ["topic"]), ("Data", ["topic"]), ("State, input_schema=Given", ["topic"])],
)
def test_a_form_requires_what_the_graph_requires(state: str, required: list[str], tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        assert [each.name for each in find_form(chat).fields if each.required] == required
        await chat.say('{"topic": "cats"}')
        assert '"joke": "about cats"' in chat.said()[-1][2]
        await chat.say("dogs")
        assert ('"joke": "about dogs"' in chat.said()[-1][2]) is bool(required)

    play(tmp_path, story, JOKE.replace("STATE", state))


def test_inputs_that_a_graph_does_not_need_are_folded(tmp_path: Path) -> None:
    text = TALK.replace("StateGraph(Talk)", "StateGraph(Talk, input_schema=Given)")
    fields = "messages: Annotated[list[AnyMessage], add_messages]\n    days: int"
    given = f"class Given(TypedDict, total=False):\n    {fields}\n\ngraph = "

    async def story(chat: Running) -> None:
        assert (find_form(chat).has_messages, find_form(chat).is_own) == (True, False)

    play(tmp_path, story, text.replace("graph = ", given))
