"""A plain ReAct agent of an author, at a model server: its words stream, its tools run, and Stop keeps what it had said."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.events import TextDelta
from agent.preparation.requests import FilesRefusedError
from checkpoints import Caller, RunState
from checkpoints.values.files import parse_files
from components.panels.chat_actions import find_notice_operation
from components.views.change_log import build_log
from components.views.operations import describe_notice
from tests.agent.running import KEY, Running
from tests.app_process import PATIENCE
from tests.extensions.graphs.running_graphs import hosting
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

Story = Callable[[Running, FakeOpenAI], Awaitable[None]]
REACT = """
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

@tool
def weather(city: str) -> str:
    "The weather in a city."
    return f"sunny in {{city}}"

model = ChatOpenAI(model="some", base_url={address!r}, api_key={key!r}, max_retries=0)

async def agent(state: MessagesState):
    return {{"messages": [await model.bind_tools([weather]).ainvoke(state["messages"])]}}

builder = StateGraph(MessagesState)
builder.add_node("agent", agent)
builder.add_node("tools", ToolNode([weather]))
builder.add_edge(START, "agent")
builder.add_conditional_edges("agent", tools_condition)
builder.add_edge("tools", "agent")
graph = builder.compile()
"""


def read_draft(chat: Running) -> str:
    run = chat.runs.get_latest_run(chat.thread_id)
    return run.draft.text if run else ""


def play(tmp_path: Path, story: Story) -> None:
    async def whole() -> None:
        with FakeOpenAI() as fake:
            async with hosting(tmp_path, REACT.format(address=fake.base_url, key=KEY)) as chat:
                await story(chat, fake)

    asyncio.run(whole())


def test_its_words_stream_and_its_tool_call_has_a_result(tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.script(Call("weather", {"city": "Ulm"}), Say("It is sunny."))
        run = await chat.say("How is Ulm?")
        assert run.state is RunState.DONE
        said = [("human", "done", "How is Ulm?"), ("ai", "done", ""), ("tool", "done", "sunny in Ulm")]
        assert chat.said() == [*said, ("ai", "done", "It is sunny.")]
        assert chat.heard() == "It is sunny."
        assert chat.unanswered() == set()

    play(tmp_path, story)


def test_stop_keeps_the_text_so_far_and_the_graph_learns_of_it(tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.script(Say("One two three four."), Say("Again."))
        fake.hold(after_tokens=2)
        run = await chat.send("Count.")
        await chat.until(lambda: any(isinstance(each, TextDelta) for each in chat.events))
        assert await asyncio.to_thread(fake.held.wait, PATIENCE)
        await chat.until(lambda: chat.heard() == "One two ")
        await chat.until(lambda: read_draft(chat) == "One two ")  # a crash would lose no more
        await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        fake.release()
        assert chat.said() == [("human", "done", "Count."), ("ai", "partial", "One two ")]
        await chat.say("And now?")
        assert chat.said()[2:] == [("human", "done", "And now?"), ("ai", "done", "Again.")]
        assert [message["content"] for message in fake.requests[-1]["messages"]] == ["Count.", "One two ", "And now?"]

    play(tmp_path, story)


def test_a_stopped_answer_is_continued_from_the_step_before_it(tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.script(Say("One two three four."), Say("Five."))
        fake.hold(after_tokens=2)
        run = await chat.send("Count.")
        await chat.until(lambda: chat.heard() == "One two ")
        await chat.runner.stop(chat.thread_id)
        await chat.end(run)
        fake.release()
        await chat.end(await chat.runner.continue_answer(chat.thread_id, caller=Caller()))
        assert chat.said() == [("human", "done", "Count."), ("ai", "done", "Five.")]
        assert describe_notice(find_notice_operation(chat.store, chat.thread_id)) is None  # nobody set anything aside
        log = [entry["text"] for entry in build_log(chat.store.list_operations(chat.thread_id), {})]
        assert log[0] == "Replaced the unfinished answer"

    play(tmp_path, story)


def test_a_provider_that_refuses_fails_the_run_with_a_sentence(tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.script(Fault("status", status=401), Say("Now."))
        run = await chat.say("hello")
        assert run.state is RunState.FAILED
        assert re.search(r"theirs.py, line 15: \w*AuthenticationError: Error code: 401", str(run.error))
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert chat.said() == [("human", "done", "hello"), ("ai", "done", "Now.")]

    play(tmp_path, story)


def test_attached_files_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        files = parse_files([("note.txt", b"hello")])
        with pytest.raises(FilesRefusedError):
            await chat.runner.send(chat.thread_id, "read it", caller=Caller(), attachments=files)
        assert chat.path() == []

    play(tmp_path, story)
