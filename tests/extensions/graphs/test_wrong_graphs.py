"""Graphs that are wrong: each is a sentence, nothing that was sent is lost, and the conversation goes on afterwards."""

import asyncio
import gc
import re
from pathlib import Path
from typing import Any

import pytest

from agent.events import GraphProgress
from checkpoints import Caller, RunState
from extensions.graphs.catalog import GraphCatalog
from extensions.graphs.definitions import GraphLoadError
from extensions.graphs.graph_loop import GraphLoop
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import answer, hosting, one_node
from tests.extensions.graphs.stacks import read_identities
from tests.extensions.graphs.test_driving import play
from tests.fakes.openai import FakeOpenAI

pytestmark = pytest.mark.slow

LATE = "    return {'messages': [AIMessage('late')]}"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("def node(state):\n    raise ValueError('boom')", "theirs.py, line 19: ValueError: boom."),
        ("async def node(state):\n    return state['nothing']", "theirs.py, line 19: KeyError: 'nothing'."),
        ("def node(state):\n    sys.exit(3)", "theirs.py, line 19: SystemExit: 3."),
        ("async def node(state):\n    raise KeyboardInterrupt", "theirs.py, line 19: KeyboardInterrupt."),
        ("def node(state):\n    next(iter([]))", "theirs.py, line 19: StopIteration."),
        ("async def node(state):\n    next(iter([]))", "theirs.py, line 19: StopIteration."),
        ("async def node(state):\n    raise asyncio.CancelledError", "Node 'node' raised asyncio.CancelledError."),
        (
            "from pydantic import BaseModel\nclass Seat(BaseModel):\n    row: int\ndef node(state):\n    Seat(row='x')",
            "theirs.py, line 22: ValidationError: Seat, row: Input should be a valid integer, unable to parse string",
        ),
        (
            "class Unprintable(Exception):\n    def __str__(self): raise OSError\ndef node(state):\n    raise Unprintable",
            "theirs.py, line 21: Unprintable.",
        ),
        ("class Base(BaseException): pass\ndef node(state):\n    raise Base('boom')", "theirs.py, line 20: Base: boom."),
        (
            "async def fail(): raise ValueError('boom')\nasync def node(state):\n"
            "    async with asyncio.TaskGroup() as tasks: tasks.create_task(fail())",
            "theirs.py, line 18: ValueError: boom.",
        ),
        ("def node(state):\n    raise ExceptionGroup('two', [OSError('boom')])", "theirs.py, line 19: OSError: boom."),
        (
            "def node():\n    return {}",
            "theirs.py, node node: TypeError: node() takes 0 positional arguments but 1 was given.",
        ),
        ("def node(state):\n    return 5", "theirs.py, node node: InvalidUpdateError: Expected dict, got 5."),
        ("def node(state):\n    return {'thing': Odd()}", "TypeError: Type is not msgpack serializable: Odd."),
        (
            "def node(state):\n    return {'thing': threading.Lock()}",
            "TypeError: Type is not msgpack serializable: _thread.lock.",
        ),
        (
            "def node(state):\n    return {'messages': [AIMessage('x', additional_kwargs={'a': float('nan')})]}",
            "The graph wrote a message that has values that JSON cannot carry, so the conversation cannot show it.",
        ),
        (
            "def node(state):\n    answer = AIMessage('x')\n    answer.content = None\n    return {'messages': [answer]}",
            "The graph wrote a message that has fields that LangChain cannot read, so the conversation cannot show it.",
        ),
        (
            "def node(state):\n    return {'messages': [AIMessage('x' * 2_000_000)]}",
            "The graph wrote a message that has more than 2,000,000 characters",
        ),
        (
            "def node(state):\n    return {'messages': [AIMessage('x', additional_kwargs={'a': [0] * 20_000})]}",
            "The graph wrote a message that holds more than 19,900 values",
        ),
        (
            "def node(state):\n    deep = [*'x']\n    for _ in range(100): deep = [deep]\n"
            "    return {'messages': [AIMessage('x', additional_kwargs={'a': deep})]}",
            "The graph wrote a message that is nested deeper than 97 levels",
        ),
        (
            "def node(state):\n    calls = [{'name': 't', 'args': {}, 'id': str(n)} for n in range(129)]\n"
            "    return {'messages': [AIMessage('', tool_calls=calls), AIMessage('x')]}",
            "The graph wrote a message that makes more than 128 tool calls",
        ),
        (
            "def node(state):\n    return {'messages': [AIMessage('x', name='n' * 501)]}",
            "The graph wrote a message that has a name or an id of more than 500 characters",
        ),
    ],
)
def test_a_run_that_fails_is_one_sentence_and_the_next_one_begins(body: str, sentence: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        for _ in range(2):
            run = await chat.say("hello")
            assert run.state is RunState.FAILED
            assert sentence in str(run.error)
        assert chat.said() == [("human", "done", "hello")] * 2

    play(tmp_path, story, one_node(body))


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("RemoveMessage('1')", "is a RemoveMessage, which only the reducer add_messages carries out"),
        ("{'role': 'ai', 'content': 'x'}", "is of the type dict, which only the reducer add_messages makes a message of"),
        ("type('Own', (AIMessage,), {})('x')", "is of no class of LangChain's own"),
    ],
)
def test_a_list_without_a_reducer_keeps_what_is_no_message_of_a_conversation(
    written: str, sentence: str, tmp_path: Path
) -> None:
    async def story(chat: Running) -> None:
        assert sentence in str((await chat.say("hello")).error)

    text = one_node(f"def node(state):\n    return {{'messages': [*state['messages'], {written}]}}")
    play(tmp_path, story, text.replace("class State(MessagesState, total=False):", "class State(dict):\n    messages: list"))


@pytest.mark.parametrize("answer", ["'x' * 2_000_001", "'x', additional_kwargs={'a': float('nan')}"])
def test_a_message_that_is_refused_does_not_lock_its_conversation(answer: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        assert [(await chat.say(text)).state for text in ("one", "bad", "two")] == [
            RunState.DONE,
            RunState.FAILED,
            RunState.DONE,
        ]
        assert [text for _, _, text in chat.said()] == ["one", "ok", "bad", "two", "ok"]

    body = (
        "def node(state):\n    is_bad = state['messages'][-1].text == 'bad'\n"
        f"    return {{'messages': [AIMessage({answer}) if is_bad else AIMessage('ok')]}}"
    )
    play(tmp_path, story, one_node(body))


@pytest.mark.parametrize(
    "body",
    [
        f"def node(state):\n    time.sleep(600)\n{LATE}",
        f"async def node(state):\n    time.sleep(600)\n{LATE}",
        f"async def node(state):\n    await asyncio.sleep(600)\n{LATE}",
        "async def node(state):\n    while True:\n        try:\n            await asyncio.sleep(600)\n"
        "        except asyncio.CancelledError:\n            pass",
    ],
    ids=["blocks a thread", "blocks its event loop", "waits", "swallows the stop"],
)
def test_stop_works_whatever_a_node_does_and_other_conversations_go_on(body: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        run = await chat.send("hello")
        await chat.until(lambda: any(isinstance(each, GraphProgress) and each.nodes for each in chat.events))
        assert await chat.runner.stop(chat.thread_id)
        ended = await chat.end(run)
        assert (ended.state, ended.error) == (RunState.STOPPED, None)
        assert chat.said() == [("human", "done", "hello")]

    play(tmp_path, story, one_node(body))


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_stop_ends_a_factory_that_blocks_for_ever(kind: str, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    text = f"import pathlib, time\n{kind} graph():\n    pathlib.Path({str(begun)!r}).touch()\n    time.sleep(600)"

    async def story(chat: Running) -> None:
        run = await chat.send("hello")
        await chat.until(begun.exists)
        assert await chat.runner.stop(chat.thread_id)
        assert (await chat.end(run)).state is RunState.STOPPED
        assert chat.said() == [("human", "done", "hello")]

    play(tmp_path, story, text)


def test_what_a_stopped_node_writes_later_is_refused(tmp_path: Path) -> None:
    body = f"""
gate = threading.Event()

async def node(state):
    while not gate.is_set():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            pass
{LATE}
"""

    async def story(chat: Running) -> None:
        await chat.send("hello")
        await chat.until(lambda: any(isinstance(each, GraphProgress) and each.nodes for each in chat.events))
        thread = find_catalog(chat).loop._thread
        await chat.runner.stop(chat.thread_id)
        find_user_graph(chat).entry.nodes["node"].bound.afunc.__globals__["gate"].set()
        await chat.until(lambda: not asyncio.all_tasks(thread._loop))
        assert chat.said() == [("human", "done", "hello")]

    play(tmp_path, story, one_node(body))


def test_an_error_that_a_context_manager_of_the_author_swallows_is_told(tmp_path: Path) -> None:
    text = """
from contextlib import asynccontextmanager, suppress
from langgraph.graph import START, MessagesState, StateGraph

@asynccontextmanager
async def graph():
    with suppress(Exception):
        yield StateGraph(MessagesState).add_node("node", lambda state: 1 / 0).add_edge(START, "node")
"""

    async def story(chat: Running) -> None:
        run = await chat.say("hello")
        assert "theirs.py, line 8: ZeroDivisionError: division by zero." in str(run.error)

    play(tmp_path, story, text)


def find_catalog(chat: Running) -> GraphCatalog:
    user_graphs: Any = chat.runner.parts.user_graphs
    catalog: GraphCatalog = user_graphs.catalog
    return catalog


def find_user_graph(chat: Running) -> Any:
    return find_catalog(chat).find_graph("graph")


SHARING = """
import httpx
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

client = httpx.AsyncClient(trust_env=False)


async def node(state):
    replies = [await client.get({address!r}) for _ in range(3)]
    return {{"messages": [AIMessage(str([each.status_code for each in replies]))]}}


graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
second = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile()
"""


def test_graphs_of_one_project_may_share_a_client(tmp_path: Path) -> None:
    async def story(address: str) -> None:
        text = SHARING.format(address=address)
        async with hosting(tmp_path, text, others=["second"]) as chat:
            for _ in range(3):
                assert (await chat.say("hello")).state is RunState.DONE
                run = await chat.runner.send(None, "hello", caller=Caller(), chosen_settings={"graph": "second"})
                await chat.until(lambda run=run: chat.runs.get_run(run.id).state is not RunState.RUNNING)
                assert chat.runs.get_run(run.id).state is RunState.DONE

    with FakeOpenAI() as fake:
        asyncio.run(story(f"{fake.base_url}/models"))


EXITING = """
import asyncio, sys, threading
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

gate = threading.Event()


async def wait(state):
    while not gate.is_set():
        await asyncio.sleep(0.01)
    return {"messages": [AIMessage("here")]}


async def leave(state):
    sys.exit(3)


graph = StateGraph(MessagesState).add_node("wait", wait).add_edge(START, "wait").compile()
second = StateGraph(MessagesState).add_node("leave", leave).add_edge(START, "leave").compile()
"""


def test_while_one_graph_exits_another_goes_on(tmp_path: Path) -> None:
    async def story() -> None:
        async with hosting(tmp_path, EXITING, others=["second"]) as chat:
            waiting = await chat.send("hello")
            await chat.until(lambda: any(isinstance(each, GraphProgress) and each.nodes for each in chat.events))
            run = await chat.runner.send(None, "hello", caller=Caller(), chosen_settings={"graph": "second"})
            await chat.until(lambda: chat.runs.get_run(run.id).state is not RunState.RUNNING)
            assert "SystemExit: 3." in str(chat.runs.get_run(run.id).error)
            find_user_graph(chat).entry.nodes["wait"].bound.afunc.__globals__["gate"].set()
            assert (await chat.end(waiting)).state is RunState.DONE
            assert chat.said()[-1] == ("ai", "done", "here")

    asyncio.run(story())


def test_after_a_node_that_blocked_the_loop_the_graph_answers_on_another(tmp_path: Path) -> None:
    body = f"""
tries = []

async def node(state):
    tries.append(1)
    time.sleep(600 if len(tries) == 1 else 0)
{LATE}
"""

    async def story(chat: Running) -> None:
        await chat.send("hello")
        await chat.until(lambda: any(isinstance(each, GraphProgress) and each.nodes for each in chat.events))
        await chat.runner.stop(chat.thread_id)
        assert (await chat.say("again")).state is RunState.DONE
        assert chat.said()[-1] == ("ai", "done", "late")

    play(tmp_path, story, one_node(body))


def test_a_node_that_failed_is_tried_again_from_its_step(tmp_path: Path) -> None:
    body = """
tries = []

def node(state):
    tries.append(1)
    if len(tries) == 1:
        raise OSError("down")
    return {"messages": [AIMessage(f"try {len(tries)}")]}
"""

    async def story(chat: Running) -> None:
        assert (await chat.say("hello")).state is RunState.FAILED
        run = await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert run.state is RunState.DONE
        assert chat.said() == [("human", "done", "hello"), ("ai", "done", "try 2")]

    play(tmp_path, story, one_node(body))


def test_messages_that_a_node_changes_or_removes_are_shown_as_they_are_then_and_undone(tmp_path: Path) -> None:
    body = (
        "def node(state):\n    if len(state['messages']) == 1:\n        state['messages'][0].content = 'changed'\n"
        "        return {'messages': [AIMessage('one')]}\n"
        "    return {'messages': [RemoveMessage(m.id) for m in state['messages'][:-1]] + [AIMessage('two')]}"
    )

    async def story(chat: Running) -> None:
        await chat.say("hello")
        before = chat.said()
        assert before == [("human", "done", "changed"), ("ai", "done", "one")]
        await chat.say("more")
        assert chat.said() == [("human", "done", "more"), ("ai", "done", "two")]
        chat.store.undo(chat.thread_id)
        assert chat.said() == before

    play(tmp_path, story, one_node(body))


def test_a_run_that_a_crash_cut_off_goes_on_from_its_last_state(tmp_path: Path) -> None:
    body = "async def node(state):\n    await asyncio.sleep(600)"

    async def story() -> None:
        async with hosting(tmp_path, one_node(body)) as chat:
            await chat.send("hello")
            await chat.until(lambda: any(isinstance(each, GraphProgress) and each.nodes for each in chat.events))
            database, thread_id = chat.store.database, chat.thread_id
            chat.runs.interrupt_orphans()  # as the next start does
            assert database is not None
            await chat.runner.stop(thread_id)
            user_graph = chat.runner.parts.user_graphs.catalog.find_graph("graph")  # type: ignore[union-attr]

            async def answer(_: object) -> dict[str, object]:
                return {"messages": [("ai", "here")]}

            user_graph.entry.nodes["node"].bound.afunc = answer
            run = await chat.end(await chat.runner.continue_answer(thread_id, caller=Caller()))
            assert run.state is RunState.DONE
            assert chat.said() == [("human", "done", "hello"), ("ai", "done", "here")]

    asyncio.run(story())


QUOTING = [
    "def node(state):\n    raise ValueError(state['messages'][0].text)",
    "async def node(state):\n    sys.exit(state['messages'][0].text)",
    "async def fail(text): raise ValueError(text)\n"
    "async def node(state):\n    asyncio.create_task(fail(state['messages'][0].text))\n"
    "    await asyncio.sleep(0.01)\n    return {'messages': [AIMessage('ok')]}",
]


def test_the_log_gets_the_place_of_an_error_and_not_its_text(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story(chat: Running) -> None:
        await chat.say("a secret")

    for number, body in enumerate(QUOTING):
        folder = tmp_path / str(number)  # a file is imported once
        folder.mkdir()
        caplog.clear()
        play(folder, story, one_node(body))
        gc.collect()  # of a task that nothing waits for asyncio tells then
        assert re.search(r"(ValueError|SystemExit) at .*theirs.py:\d+", caplog.text)
        assert "a secret" not in caplog.text


def test_messages_of_another_kind_are_named(tmp_path: Path) -> None:
    text = """
import operator
from typing import Annotated, TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    messages: Annotated[list, operator.add]

def node(state):
    return {"messages": [{"role": "assistant"}]}

graph = StateGraph(State).add_node("node", node).add_edge(START, "node").compile()
"""

    async def story(chat: Running) -> None:
        run = await chat.say("hello")
        assert str(run.error).startswith("The graph wrote a message that is of the type dict, which only the reducer")

    play(tmp_path, story, text)


def test_a_flood_of_values_and_messages_ends_with_all_messages_in_the_conversation(tmp_path: Path) -> None:
    body = (
        "def node(state):\n    for number in range(20_000): get_stream_writer()('x' * 1_000)\n"
        "    return {'messages': [AIMessage(str(number)) for number in range(300)]}"
    )

    async def story(chat: Running) -> None:
        assert (await chat.say("hello")).state is RunState.DONE
        assert [text for _, _, text in chat.said()] == ["hello", *map(str, range(300))]
        told = [each for each in chat.events if isinstance(each, GraphProgress)]
        assert len(told) < 1_000
        assert max(len(line) for each in told for line in each.lines) <= 200

    play(tmp_path, story, one_node(body))


def test_a_graph_that_never_ends_is_one_sentence(tmp_path: Path) -> None:
    text = one_node("def node(state):\n    return {'thing': 1}").replace('builder.add_edge("node", END)', "")
    text = text.replace(
        "graph = builder.compile()",
        'builder.add_edge("node", "node")\ngraph = builder.compile().with_config(recursion_limit=20)',
    )

    async def story(chat: Running) -> None:
        run = await chat.say("hello")
        assert run.state is RunState.FAILED
        assert "GraphRecursionError: Recursion limit of " in str(run.error)

    play(tmp_path, story, text)


def test_channels_with_names_of_ours_are_values_like_others(tmp_path: Path) -> None:
    names = ["run_id", "head_id", "state_id", "values", "versions", "seen", "metadata", "resumed"]
    fields = "\n".join(f"    {name}: Any" for name in names)
    text = one_node(
        f"def node(state):\n    return {{name: len(state['messages']) for name in {names}}} | {{'messages': 'ok'}}"
    )

    async def story(chat: Running) -> None:
        await chat.say("one")
        before = read_identities(chat.store, chat.thread_id)
        assert before.keys() == {*names, "messages"}
        await chat.say("two")
        assert chat.said()[-1] == ("human", "done", "ok")
        chat.store.undo(chat.thread_id)
        assert read_identities(chat.store, chat.thread_id) == before

    play(tmp_path, story, text.replace("    thing: Any", fields))


UNUSUAL = """
from typing import Annotated, Any, TypedDict
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

Chat = Annotated[list[AnyMessage], add_messages]
"""
NODE = '.add_node("node", node).add_edge(START, "node").compile()'


@pytest.mark.parametrize(
    ("text", "given", "output"),
    [
        ("class State(TypedDict):\n    messages: str\ndef node(s): return {'messages': s['messages'] * 2}", "ab", "abab"),
        (
            "class State(TypedDict):\n    messages: dict\ndef node(s): return {'messages': s['messages'] | {'b': 'out'}}",
            '{"messages": {"a": 1}}',
            "out",
        ),
        ("class State(TypedDict):\n    messages: Any\ndef node(s): return {'messages': 'other'}", "hi", "other"),
        ("class State(MessagesState):\n    found: str\ndef node(s): return {'found': 'elsewhere'}", "hi", "elsewhere"),
    ],
    ids=["a text", "a dict", "anything", "an answer in another channel"],
)
def test_where_a_turn_adds_no_message_its_outputs_are_the_answer(text: str, given: str, output: str, tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        for _ in range(2):
            assert (await chat.say(given)).state is RunState.DONE
            assert chat.said()[-2] == ("human", "done", given)
            assert output in chat.said()[-1][2]
        assert len(chat.said()) == 4
        before = chat.said(), read_identities(chat.store, chat.thread_id)
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert chat.said() == before[0]
        chat.store.undo(chat.thread_id)
        assert (chat.said(), read_identities(chat.store, chat.thread_id)) == before

    play(tmp_path, story, f"{UNUSUAL}\n{text}\ngraph = StateGraph(State){NODE}\n")


OTHER_INPUT = f"""{UNUSUAL}
class State(TypedDict, total=False):
    text: str
    messages: Chat

class Input(TypedDict):
    text: str

def node(state):
    if state["text"] == "quiet":
        return {{}}
    count = len(state.get("messages", []))
    said = interrupt("sure?") if state["text"] == "ask" else state["text"]
    return {{"messages": [HumanMessage(said), AIMessage(f"{{said}} after {{count}}")]}}

graph = StateGraph(State, input_schema=Input){NODE}
"""


def test_messages_of_a_graph_whose_input_takes_none_are_shown_after_the_users_own(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        form = chat.runner.find_form("graph")
        assert form is not None
        assert ([each.name for each in form.fields], form.has_messages) == (["text"], False)
        await chat.say('{"text": "abc"}')
        first = chat.said(), read_identities(chat.store, chat.thread_id)
        assert first[0] == [("human", "done", '{"text": "abc"}'), ("ai", "done", "abc after 0")]
        await chat.end(await chat.runner.send(chat.thread_id, "x", caller=Caller(), inputs={"text": "def"}))
        assert chat.said()[2:] == [("human", "done", "x"), ("ai", "done", "def after 2")]
        chat.store.undo(chat.thread_id)
        assert (chat.said(), read_identities(chat.store, chat.thread_id)) == first
        assert (await chat.say("ask")).state is RunState.WAITING
        await answer(chat, "yes")
        assert chat.said()[2:] == [("human", "done", "ask"), ("ai", "done", "yes after 2")]
        await chat.say("quiet")
        assert '"text": "quiet"' in chat.said()[-1][2]
        edited = await chat.runner.edit(chat.thread_id, chat.path()[2].id, "again", caller=Caller())
        assert (await chat.end(edited)).state is RunState.DONE
        assert chat.said() == [*first[0], ("human", "done", "again"), ("ai", "done", "again after 2")]

    play(tmp_path, story, OTHER_INPUT)


TWO_LISTS = f"""{UNUSUAL}
class State(TypedDict, total=False):
    notes: Chat
    chat: Chat

def node(state):
    return {{"chat": [AIMessage(f"chat {{len(state['chat'])}}")]}}

graph = StateGraph(State){NODE}
"""


def test_messages_may_be_under_any_key_and_the_settings_choose_between_two(tmp_path: Path) -> None:
    one = TWO_LISTS.replace("    notes: Chat\n", "")

    async def story(text: str, key: str | None) -> None:
        folder = tmp_path / str(key)  # a file is imported once
        folder.mkdir()
        async with hosting(folder, text, messages_key=key) as chat:
            seen = []
            for number in (1, 3):
                await chat.say("hello")
                assert chat.said()[-2:] == [("human", "done", "hello"), ("ai", "done", f"chat {number}")]
                seen.append((chat.said(), read_identities(chat.store, chat.thread_id)))
            chat.store.undo(chat.thread_id)
            assert (chat.said(), read_identities(chat.store, chat.thread_id)) == seen[0]

    asyncio.run(story(one, None))
    asyncio.run(story(TWO_LISTS, "chat"))
    with pytest.raises(
        GraphLoadError, match=r"theirs.py, line 17: Its messages_key 'no' is no channel .* It has notes, chat"
    ):
        asyncio.run(story(TWO_LISTS, "no"))


def test_the_log_tells_of_a_task_that_failed_with_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("a secret")

    async def work() -> None:
        loop = asyncio.get_running_loop()
        await asyncio.wait({loop.create_task(fail())})
        gc.collect()  # asyncio reports it when the task goes
        loop.call_exception_handler({"message": "a secret"})

    loop = GraphLoop()
    asyncio.run(loop.run_work(work))
    loop.close()
    failed, other = caplog.messages
    assert re.fullmatch(
        rf"a task of a graph that nothing waited for failed: ValueError at {re.escape(__file__)}:\d+", failed
    )
    assert other == "the event loop of the graphs reported a problem without an error"
