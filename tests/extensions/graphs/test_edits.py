"""Edit and retry after turns that did not end: a graph begins at rest, and it is said where that is an earlier place."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agent.events import GraphProgress
from checkpoints import Caller, RunState
from components.views import operations
from components.views.change_log import build_log
from tests.agent.running import Running
from tests.extensions.graphs.running_graphs import answer, one_node, read_channels
from tests.extensions.graphs.test_driving import play

Begin = Callable[[Running], Awaitable[None]]
STEPS = """
import asyncio
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send, interrupt


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    turns: int


def count(state):
    return {"turns": state.get("turns", 0) + 1}


async def work(state):
    text = state["messages"][-1].text
    if text == "fail":
        raise ValueError(text)
    if text == "stop":
        await asyncio.sleep(600)
    if text == "ask":
        interrupt("sure?")
    texts = " | ".join(each.text for each in state["messages"])
    return {"messages": [AIMessage(f"{state['turns']}: {texts}")]}


builder = StateGraph(State).add_node("count", count).add_node("work", work)
builder.add_edge(START, "count")
builder.add_conditional_edges("count", lambda state: [Send("work", state)], ["work"])
graph = builder.compile()
"""
SAID = "the graph begins with its values from before the unfinished turn"


async def leave_failed(chat: Running) -> None:
    assert (await chat.say("fail")).state is RunState.FAILED


async def leave_stopped(chat: Running) -> None:
    await chat.send("stop")
    await chat.until(lambda: any(isinstance(each, GraphProgress) and "work" in each.nodes for each in chat.events))
    await chat.runner.stop(chat.thread_id)


async def leave_waiting(chat: Running) -> None:
    assert (await chat.say("ask")).state is RunState.WAITING


def read_notice(chat: Running) -> str:
    """The banner of the last edit or retry, and its line in the log."""
    done = chat.store.list_operations(chat.thread_id)
    last = next(each for each in done if operations.describe_notice(each) is not None)
    notice = operations.describe_notice(last)
    line = next(each["text"] for each in build_log(done, {}) if each["version"] == last.version)
    assert notice is not None
    assert (SAID in notice["text"]) is (SAID in line)
    return notice["text"]


@pytest.mark.parametrize("leave", [leave_failed, leave_stopped, leave_waiting])
@pytest.mark.parametrize("is_first", [True, False], ids=["the first turn", "a later turn"])
def test_an_edit_after_a_turn_that_did_not_end_begins_at_rest_before_it(
    leave: Begin, is_first: bool, tmp_path: Path
) -> None:
    async def story(chat: Running) -> None:
        turns = 0
        if not is_first:
            await chat.say("one")
            turns = 1
        await leave(chat)
        assert read_channels(chat) == {"turns": turns + 1}  # its first step is done
        left = chat.said()
        await chat.say("two")
        assert read_channels(chat) == {"turns": turns + 2}
        asked = next(each for each in reversed(chat.path()) if each.type == "human")
        edited = await chat.runner.edit(chat.thread_id, asked.id, "three", caller=Caller())
        assert (await chat.end(edited)).state is RunState.DONE
        assert read_channels(chat) == {"turns": turns + 1}
        texts = " | ".join(text for _, _, text in [*left, ("", "", "three")])
        assert chat.said() == [*left, ("human", "done", "three"), ("ai", "done", f"{turns + 1}: {texts}")]
        assert SAID in read_notice(chat)
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert chat.said()[-1] == ("ai", "done", f"{turns + 1}: {texts}")
        assert SAID in read_notice(chat)
        chat.store.undo(chat.thread_id)
        chat.store.undo(chat.thread_id)
        assert read_channels(chat) == {"turns": turns + 2}

    play(tmp_path, story, STEPS)


def test_an_edit_and_a_retry_after_whole_turns_begin_there_and_nothing_is_said(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("one")
        await chat.say("two")
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert (chat.said()[-1][2], read_channels(chat)) == ("2: one | 1: one | two", {"turns": 2})
        assert SAID not in read_notice(chat)
        await chat.end(await chat.runner.edit(chat.thread_id, chat.path()[2].id, "three", caller=Caller()))
        assert (chat.said()[-1][2], read_channels(chat)) == ("2: one | 1: one | three", {"turns": 2})
        assert SAID not in read_notice(chat)
        await chat.end(await chat.runner.edit(chat.thread_id, chat.path()[0].id, "other", caller=Caller()))
        assert (chat.said()[-1][2], read_channels(chat)) == ("1: other", {"turns": 1})
        assert SAID not in read_notice(chat)

    play(tmp_path, story, STEPS)


def test_an_answer_after_an_edit_of_a_message_that_took_the_place_of_one_is_asked_for_again(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await leave_waiting(chat)
        await chat.say("two")
        await chat.end(await chat.runner.edit(chat.thread_id, chat.path()[1].id, "ask", caller=Caller()))
        assert [each.value for each in chat.runner.list_questions(chat.thread_id)] == ["sure?"]
        await answer(chat, "yes")
        assert chat.said()[-1] == ("ai", "done", "1: ask | ask")

    play(tmp_path, story, STEPS)


def test_another_try_answers_the_persons_question_and_no_human_message_of_the_graph(tmp_path: Path) -> None:
    async def story(chat: Running) -> None:
        await chat.say("hello")
        assert [each.is_by_graph for each in chat.path()] == [False, True]
        await chat.end(await chat.runner.retry(chat.thread_id, caller=Caller()))
        assert [text for _, _, text in chat.said()] == ["hello", "1 seen"]

    play(tmp_path, story, one_node("def node(state):\n    return {'messages': f\"{len(state['messages'])} seen\"}"))
