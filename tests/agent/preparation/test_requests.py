"""A user's texts are taken up to a limit, and whatever is taken can be exported and imported again."""

import itertools
from typing import Any

import pytest

from agent.preparation.requests import (
    ArgumentsTooDeepError,
    EmptyMessageError,
    MessageTooLongError,
    NoGraphError,
    TooManyArgumentsError,
)
from checkpoints import Caller, Database, RunState, StateError, Store
from checkpoints.interchange import reading, transfer
from checkpoints.langgraph import WaymarkSaver
from checkpoints.values.limits import MAX_ARGUMENT_LEVELS, MAX_ARGUMENT_VALUES, MAX_MESSAGE_CHARS
from checkpoints.values.serde import MAX_SURROGATES
from tests.agent.running import Running
from tests.agent.tools.test_decisions import decide, play
from tests.checkpoints.langgraph.graphs import ask, make_graph, read_texts
from tests.fakes.openai import Call, FakeOpenAI, Say
from tests.rounds import sample

LETTER = Call("send", {"to": "Ann"}, id="1")


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def import_again(chat: Running) -> None:
    """Import the export of the conversation elsewhere, with the same messages."""
    [document] = reading.read_documents(transfer.export(chat.store, chat.thread_id).encode())
    other = Store(Database.in_memory())
    thread_id = transfer.import_thread(other, document).result
    assert [each.hash for each in other.list_messages(thread_id)] == [each.hash for each in chat.path()]
    other.database.close()


def test_a_message_says_something() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        nothing = ("", "\ud83d" * (MAX_SURROGATES + 1))  # so many are left out
        for thread_id, text in itertools.product((None, chat.thread_id), nothing):
            with pytest.raises(EmptyMessageError):
                await chat.runner.send(thread_id, text, caller=Caller())
        await chat.say("hello")
        for text in nothing:
            with pytest.raises(EmptyMessageError):
                await chat.runner.edit(chat.thread_id, chat.path()[0].id, text, caller=Caller())
        assert [(kind, text) for kind, _, text in chat.said()] == [("human", "hello"), ("ai", "hi")]

    play(story, Say("hi"))


def test_the_built_in_agent_does_not_answer_where_a_programs_graph_goes_on() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        saver, runner = WaymarkSaver(chat.store), chat.runner
        graph = make_graph(saver)
        ask(graph, "t", "one")
        question, answer = chat.store.list_messages("t")
        version = chat.store.get_thread("t").version
        attempts = [
            runner.send("t", "two", caller=Caller()),
            runner.edit("t", question.id, "other", caller=Caller()),
            runner.retry("t", caller=Caller()),
        ]
        for attempt in attempts:
            with pytest.raises(NoGraphError):
                await attempt
        assert chat.store.get_thread("t").version == version
        ask(graph, "t", "two")
        assert read_texts(saver, "t") == ["one", "one!", "two", "two!"]
        [document] = reading.read_documents(transfer.export(chat.store, "t").encode())
        elsewhere = [
            chat.store.fork_thread("t", answer.id, with_states=False).result,
            transfer.import_thread(chat.store, document).result,
        ]
        for thread_id in elsewhere:
            run = await runner.send(thread_id, "hello", caller=Caller())
            await chat.until(lambda run=run: chat.runs.get_run(run.id).state is RunState.DONE)
            assert chat.store.list_messages(thread_id)[-1].langchain.text == "hi"

    play(story, Say("hi"), Say("hi"))


@pytest.mark.parametrize("letter", sample(["🙂", "\n", "x", "é", "\\"], 2))
def test_a_message_is_taken_up_to_the_limit_and_no_further(letter: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say(letter * MAX_MESSAGE_CHARS)).state is RunState.DONE
        with pytest.raises(MessageTooLongError, match="at most 200,000"):
            await chat.send(letter * (MAX_MESSAGE_CHARS + 1))
        first = chat.path()[0].id
        with pytest.raises(MessageTooLongError):
            await chat.runner.edit(chat.thread_id, first, letter * (MAX_MESSAGE_CHARS + 1), caller=Caller())
        assert len(chat.path()) == 2
        import_again(chat)

    play(story, Say("A long one."))


@pytest.mark.parametrize(
    ("kind", "edge", "beyond", "error"),
    [
        (
            "edit",
            {"arguments": nested(MAX_ARGUMENT_LEVELS)},
            {"arguments": nested(MAX_ARGUMENT_LEVELS + 1)},
            ArgumentsTooDeepError,
        ),
        (
            "edit",
            {"arguments": {"to": [0] * (MAX_ARGUMENT_VALUES - 2)}},
            {"arguments": {"to": [0] * (MAX_ARGUMENT_VALUES - 1)}},
            TooManyArgumentsError,
        ),
        (
            "edit",
            {"arguments": {"to": "x" * (MAX_MESSAGE_CHARS - 10)}},
            {"arguments": {"to": "x" * (MAX_MESSAGE_CHARS - 9)}},
            MessageTooLongError,
        ),
        ("respond", {"text": "x" * MAX_MESSAGE_CHARS}, {"text": "x" * (MAX_MESSAGE_CHARS + 1)}, MessageTooLongError),
    ],
)
def test_a_decision_is_taken_up_to_the_limit(kind: str, edge: Any, beyond: Any, error: type[StateError]) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("write")).state is RunState.WAITING
        with pytest.raises(error):
            await decide(chat, kind, **beyond)
        assert await decide(chat, kind, **edge) is RunState.DONE
        import_again(chat)

    play(story, LETTER, Say("Done."))
