"""An answer counts only when it is whole, and arguments only when they are JSON."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ai
from langchain_core.messages.tool import tool_call_chunk

from agent.graph import answer as answers
from agent.graph.answer import AnswerCutOff, stream_answer
from agent.graph.state import Limits, RunContext
from checkpoints import MessageStatus
from checkpoints.values.limits import MAX_ARGUMENT_VALUES, MAX_CALLS

T = TypeVar("T")


class Heard:
    """A recorder that keeps the text."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.thoughts: list[str] = []

    def append_text(self, delta: str) -> None:
        self.texts.append(delta)

    def append_reasoning(self, delta: str) -> None:
        self.thoughts.append(delta)

    def withdraw_text(self) -> None:
        self.thoughts += self.texts
        self.texts.clear()

    async def begin_tool(self, call_id: str) -> None:
        raise AssertionError("an answer starts no tool")

    async def commit(self, message: BaseMessage, status: MessageStatus = MessageStatus.DONE) -> int:
        raise AssertionError("an answer commits nothing")

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return work()


class Model:
    """Streams these chunks; a number is a silence of so many seconds."""

    def __init__(self, *parts: AIMessageChunk | float) -> None:
        self._parts = parts

    async def astream(self, _: Sequence[BaseMessage]) -> AsyncIterator[AIMessageChunk]:
        for part in self._parts:
            if isinstance(part, AIMessageChunk):
                yield part
            else:
                await asyncio.sleep(part)


def said(text: str) -> AIMessageChunk:
    return AIMessageChunk(content=text)


def call(arguments: str | None, *, id: str | None = "c1", name: str | None = "calculator", index: int = 0) -> AIMessageChunk:
    return AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name=name, args=arguments, id=id, index=index)])


def finish(reason: str | None) -> AIMessageChunk:
    return AIMessageChunk(content="", response_metadata={"finish_reason": reason} if reason else {})


def answer(*parts: AIMessageChunk | float, heard: Heard | None = None, idle_seconds: float = 5.0) -> AIMessage:
    context = RunContext(heard or Heard(), Limits(idle_seconds=idle_seconds))
    model: Any = Model(*parts)
    return asyncio.run(stream_answer(model, [HumanMessage("hello")], context))


def test_a_whole_answer_is_its_text_told_as_it_came() -> None:
    heard = Heard()
    assert answer(said("Hello "), said("there"), finish("stop"), heard=heard).content == "Hello there"
    assert heard.texts == ["Hello ", "there"]


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (None, "The connection to the model was cut"),
        ("length", "length limit"),
        ("content_filter", "content filter"),
        ("error", "The model provider broke off"),
    ],
)
def test_an_answer_that_is_not_finished_is_cut_off_whatever_it_holds(reason: str | None, sentence: str) -> None:
    heard = Heard()
    with pytest.raises(AnswerCutOff, match=sentence):
        answer(said("Let me"), call('{"expression": "1+1"}'), finish(reason), heard=heard)
    assert heard.texts == ["Let me"]


def test_no_answer_at_all_is_cut_off() -> None:
    with pytest.raises(AnswerCutOff):
        answer()


@pytest.mark.parametrize("text", ["", " \n", "[msg_4] "])
def test_an_answer_with_nothing_in_it_says_so(text: str) -> None:
    with pytest.raises(AnswerCutOff, match="The model said nothing"):
        answer(said(text), finish("stop"))


def test_reasoning_without_an_answer_is_told_apart_from_silence_and_from_a_cut() -> None:
    with pytest.raises(AnswerCutOff, match="The model reasoned but gave no answer"):
        answer(said("<think>Hm.</think>"), finish("stop"))
    with pytest.raises(AnswerCutOff, match="The connection to the model was cut"):
        answer(said("<think>Hm.</think>"))


SILENCE = 3_600.0


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_GRACE_SECONDS", 0.02)


@pytest.mark.usefixtures("short_grace")
def test_a_stream_that_stays_open_after_its_finish_reason_ends_and_keeps_its_usage() -> None:
    usage: Any = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}
    whole = answer(said("Hello"), finish("stop"), AIMessageChunk(content="", usage_metadata=usage), SILENCE, idle_seconds=60)
    assert (whole.content, whole.usage_metadata) == ("Hello", usage)


@pytest.mark.usefixtures("short_grace")
def test_the_grace_after_a_finish_reason_is_not_for_more_text() -> None:
    whole = answer(said("One "), finish("stop"), said("two "), 0.2, said("three"), finish("stop"), SILENCE, idle_seconds=60)
    assert whole.content == "One two three"


def test_a_silence_after_the_finish_reason_fails_no_answer() -> None:
    assert answer(said("Hello"), finish("stop"), SILENCE, idle_seconds=0.02).content == "Hello"
    with pytest.raises(AnswerCutOff, match="length limit"):
        answer(said("Hello"), finish("length"), SILENCE, idle_seconds=0.02)
    with pytest.raises(TimeoutError):
        answer(said("Hello"), SILENCE, idle_seconds=0.02)


def test_an_unknown_finish_reason_ends_an_answer_as_stop_does() -> None:
    whole = answer(said("Hello"), finish("eos"))
    assert (whole.content, whole.response_metadata["finish_reason"]) == ("Hello", "stop")


def test_a_lone_surrogate_in_arguments_is_replaced() -> None:
    whole = answer(call('{"expression": "\\ud800", "\\udc00": [1]}'), finish("stop"))
    assert whole.tool_calls[0]["args"] == {"expression": "�", "�": [1]}


def used(read: int, written: int) -> AIMessageChunk:
    usage: Any = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
    return AIMessageChunk(content="", usage_metadata=usage)


@pytest.mark.parametrize(
    ("reports", "read", "written"),
    [
        ([(100, 1), (100, 2), (100, 2)], 100, 2),  # the tokens so far in every chunk
        ([(100, 0), (0, 7)], 100, 7),  # the tokens that were added
        ([(100, 3), (0, 2), (0, 2)], 100, 7),
    ],
)
def test_usage_in_every_chunk_is_the_last_one_unless_it_names_what_was_added(
    reports: list[tuple[int, int]], read: int, written: int
) -> None:
    usage = answer(said("Hello"), *(used(*each) for each in reports), finish("stop")).usage_metadata
    assert usage == {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}


def test_a_finish_that_is_said_twice_is_one_finish() -> None:
    whole = answer(said("Hello"), finish("stop"), finish("stop"))
    assert (whole.content, whole.response_metadata["finish_reason"]) == ("Hello", "stop")


WHOLE = json.dumps({"expression": '1 + [2, {"a": 3}]', "n": 12})


@given(st.integers(0, len(WHOLE) - 1))
def test_arguments_that_were_cut_anywhere_are_never_taken_for_whole(length: int) -> None:
    whole = answer(call(WHOLE[:length]), finish("tool_calls"))
    if length == 0:  # no arguments at all are none, as the providers send it for tools without any
        assert whole.tool_calls[0]["args"] == {}
    else:
        assert (whole.tool_calls, whole.invalid_tool_calls[0]["args"]) == ([], WHOLE[:length])


@pytest.mark.parametrize("arguments", ["[1]", '"1+1"', "12", "{'expression': '1'}", "[" * 100_000, '{"a": 1} {"b": 2}'])
def test_arguments_that_are_no_json_object_are_unreadable(arguments: str) -> None:
    whole = answer(call(arguments), finish("tool_calls"))
    assert (whole.tool_calls, len(whole.invalid_tool_calls)) == ([], 1)


def test_arguments_of_too_many_values_are_refused_before_they_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parse = json.loads

    def parse_small(text: str) -> Any:
        assert len(text) < 1_000
        return parse(text)

    monkeypatch.setattr(json, "loads", parse_small)
    monkeypatch.setattr(ai, "parse_partial_json", lambda text: {})  # LangChain's own, which the start of an app replaces
    whole = answer(call(f'{{"a": [{"[]," * 2 * MAX_ARGUMENT_VALUES}0]}}'), finish("tool_calls"))
    assert [each["error"] for each in whole.invalid_tool_calls] == [answers.TOO_MANY_VALUES]


def test_an_answer_has_as_many_calls_as_an_import_takes_and_no_more() -> None:
    calls = [call("{}", id=str(index), index=index) for index in range(MAX_CALLS + 1)]
    assert len(answer(*calls[:-1], finish("tool_calls")).tool_calls) == MAX_CALLS
    with pytest.raises(AnswerCutOff, match=f"more than {MAX_CALLS} tool calls"):
        answer(*calls, finish("tool_calls"))


def test_missing_and_repeated_call_ids_are_mended() -> None:
    calls = [call("{}", id=identifier, index=index) for index, identifier in enumerate(["same", "same", None, ""])]
    identifiers = [each["id"] for each in answer(*calls, finish("tool_calls")).tool_calls]
    assert identifiers[0] == "same"
    assert len(set(identifiers)) == 4
    assert all(identifiers)


def test_parallel_calls_keep_their_order_and_their_fragments_apart() -> None:
    first, second = call('{"expression":', id="a"), call('{"expression":', id="b", index=1)
    rest = [call(' "1"}', id=None, name=None), call(' "2"}', id=None, name=None, index=1)]
    whole = answer(first, second, *rest, finish("tool_calls"))
    assert [(each["id"], each["args"]["expression"]) for each in whole.tool_calls] == [("a", "1"), ("b", "2")]


def test_a_silence_longer_than_the_deadline_ends_the_answer() -> None:
    heard = Heard()
    with pytest.raises(TimeoutError):
        answer(said("Hello"), 30.0, finish("stop"), heard=heard, idle_seconds=0.05)
    assert heard.texts == ["Hello"]


def test_the_deadline_is_for_silence_and_not_for_the_whole_answer() -> None:
    parts = [part for _ in range(8) for part in (0.25, said("x"))]
    assert answer(*parts, finish("stop"), idle_seconds=1.5).content == "x" * 8


def test_halves_of_surrogate_pairs_are_joined_or_replaced_so_that_the_answer_can_be_written() -> None:
    assert answer(said("\ud83d"), said("\ude00 \ud83d."), finish("stop")).content == "😀 �."
