"""Arguments of calls cost what their length costs, whatever they hold and however they are cut into pieces."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from langchain_core.messages import AIMessageChunk, ai
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.utils.json import parse_partial_json

from agent.models.call_arguments import (
    MAX_REPAIRED_CHARS,
    TooManyValuesError,
    bound_argument_parsing,
    parse_arguments,
)
from checkpoints import RunState
from checkpoints.values.limits import MAX_PART_VALUES
from tests.agent.models.test_anthropic_wire import claude_model
from tests.agent.running import model_at, running
from tests.fakes.anthropic import FakeAnthropic
from tests.fakes.openai import Call, FakeOpenAI, Say

# A file with one quote that no backslash escapes, as small models write it.
BROKEN_10_KB = '{"path": "notes.md", "text": "' + "one \\n" * 400 + 'two "three" ' + "four \\n" * 1_100 + '"}'
# Of the whole text, once for each character would be 5,000. LangChain repairs each short piece character by character.
MAX_PARSINGS = 100


@contextmanager
def counting_parsed_chars() -> Iterator[list[int]]:
    """List the characters of each text that Python's parser of JSON gets."""
    decode, sizes = json.JSONDecoder.decode, list[int]()

    def decode_counted(decoder: json.JSONDecoder, text: str, *more: Any) -> Any:
        sizes.append(len(text))
        return decode(decoder, text, *more)

    with patch.object(json.JSONDecoder, "decode", decode_counted):
        yield sizes


async def say_with(model: Any) -> None:
    async with running(model) as chat:
        assert (await chat.say("write it down")).state is RunState.DONE
        assert [kind for kind, _, _ in chat.said()] == ["human", "ai", "tool", "ai"]
        answer: Any = chat.path()[1].langchain
        assert answer.invalid_tool_calls[0]["args"] == BROKEN_10_KB


@pytest.mark.parametrize("size", [100, len(BROKEN_10_KB)], ids=["pieces", "whole"])
@pytest.mark.parametrize("spec", ["openai:some", "openai-responses:some", "anthropic"])
def test_broken_arguments_are_parsed_a_few_times_and_not_once_for_each_character(
    spec: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = tuple(BROKEN_10_KB[start : start + size] for start in range(0, len(BROKEN_10_KB), size))
    replies = Call("calculator", BROKEN_10_KB, tokens=tokens, thought="Hm."), Say("Sorry.")

    async def ask_openai(fake: FakeOpenAI) -> None:
        async with model_at(fake, spec) as model:
            await say_with(model)

    async def ask_claude() -> None:
        async with claude_model() as model:
            await say_with(model)

    with FakeAnthropic() as claude, FakeOpenAI() as fake:
        claude.reply(*replies)
        fake.reply(*replies)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", claude.origin)
        with counting_parsed_chars() as sizes:
            asyncio.run(ask_claude() if spec == "anthropic" else ask_openai(fake))
    assert sum(sizes) <= MAX_PARSINGS * len(BROKEN_10_KB)


def test_long_arguments_are_read_as_langchain_reads_them_where_only_their_end_is_missing() -> None:
    text = json.dumps({"path": "a", "text": "é" * MAX_REPAIRED_CHARS, "more": [1, {"b": None}]}, ensure_ascii=False)
    for cut in (len(text), len(text) - 2, len(text) - 20, len(text) - 100):
        assert parse_arguments(text[:cut]) == parse_partial_json(text[:cut])
    assert parse_arguments(text.replace("é", "\n")) == parse_partial_json(text.replace("é", "\n"))


def test_a_whole_text_with_an_unescaped_quote_is_no_call() -> None:
    bound_argument_parsing()
    text = '{"path": "a", "text": "b "c" d"}'
    piece = AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="write", args=text, id="a", index=0)])
    assert (piece.tool_calls, [each["args"] for each in piece.invalid_tool_calls]) == ([], [text])


@pytest.mark.parametrize("text", ["", "no", "}", "[" * 100_000, '{"a": "\ud800 "b" c"}'])
def test_a_piece_that_is_no_json_is_an_unreadable_call_and_no_error(text: str) -> None:
    bound_argument_parsing()
    call = tool_call_chunk(name="write", args=text, id="a", index=0)
    piece = AIMessageChunk(content="", tool_call_chunks=[call])
    assert [each["args"] for each in piece.invalid_tool_calls] == ([text] if text else [])


def test_arguments_of_too_many_values_are_refused_unparsed() -> None:
    assert len(parse_arguments(f'{{"a": [{"[]," * (MAX_PART_VALUES - 10)}[]]}}')["a"]) == MAX_PART_VALUES - 9
    with counting_parsed_chars() as sizes, pytest.raises(TooManyValuesError):
        parse_arguments(f'{{"a": [{"[]," * MAX_PART_VALUES}[]]}}')
    assert sizes == []


def test_a_library_that_parses_elsewhere_is_noticed_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ai, "parse_partial_json")
    with pytest.raises(AttributeError):
        bound_argument_parsing()
