"""No step of a run holds the event loop, whatever is sent, answered or returned: counted, and timed in `make test-slow`."""

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai.chat_models import base

from checkpoints import NewMessage, RunState
from checkpoints.values import serde
from checkpoints.values.limits import MAX_ARGUMENT_VALUES, MAX_MESSAGE_CHARS
from tests.agent.running import Running, model_at, running
from tests.fakes.openai import FakeOpenAI
from tests.fakes.raw import DONE, HEAD, RawProvider, chunk, event, finish, say
from tests.loop_steps import (
    MAX_COLD_STEP_SECONDS,
    MAX_STEP_SECONDS,
    Step,
    counting_step_calls,
    find_longest_step,
    timing_steps,
)

MAX_MESSAGES = 6_400  # of a request, as in an app
STORED_MESSAGES = 10_000


def talk_before(chat: Running, messages: int) -> None:
    """Write a conversation of short messages that no request has read yet."""
    said = [HumanMessage(f"And {at}?") if at % 2 == 0 else AIMessage(f"So {at}.") for at in range(messages)]
    chat.store.append(chat.thread_id, [NewMessage(serde.to_body(each)) for each in said])


def test_a_long_request_is_converted_on_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    convert, threads = base._convert_message_to_dict, list[int]()

    def convert_noted(*given: Any, **more: Any) -> Any:
        threads.append(threading.get_ident())
        return convert(*given, **more)

    async def story(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model) as chat:
            talk_before(chat, 100)
            assert (await chat.say("hello")).state is RunState.DONE

    monkeypatch.setattr(base, "_convert_message_to_dict", convert_noted)
    with FakeOpenAI() as fake:
        asyncio.run(story(fake))
        assert len(fake.requests[0]["messages"]) == 102
    assert len(threads) == 102
    assert threading.get_ident() not in threads


def test_no_step_looks_at_each_message_of_a_long_request() -> None:
    async def count_calls(fake: FakeOpenAI, messages: int) -> int:
        async with model_at(fake) as model, running(model, max_messages=MAX_MESSAGES) as chat:
            talk_before(chat, messages)
            with counting_step_calls() as steps:
                assert (await chat.say("hello")).state is RunState.DONE
            return max(steps)

    with FakeOpenAI() as fake:
        asyncio.run(count_calls(fake, 100))  # imports
        short, long = (asyncio.run(count_calls(fake, messages)) for messages in (100, 6_100))
        assert len(fake.requests[-1]["messages"]) == 6_102
    assert long < short + 5_000


def answer_with_call(arguments: str) -> RawProvider:
    call = {"index": 0, "id": "a", "function": {"name": "calculator", "arguments": arguments}}
    return RawProvider([HEAD, event(chunk({"tool_calls": [call]})), finish("tool_calls"), DONE])


def answer_in_pieces(text: str) -> RawProvider:
    begin = {"index": 0, "id": "a", "function": {"name": "calculator", "arguments": ""}}
    pieces = [{"index": 0, "function": {"arguments": text[at : at + 4]}} for at in range(0, len(text), 4)]
    events = [event(chunk({"tool_calls": [each]})) for each in (begin, *pieces)]
    return RawProvider([HEAD, *events, finish("tool_calls"), DONE])


def answer_with_text(text: str) -> RawProvider:
    return RawProvider([HEAD, say(text), finish(), DONE])


BROKEN = '{"text": "one "two" ' + "three \\n" * 60_000
LONG_TALK = "a long conversation, read for the first time"
DEEDS = {
    "broken arguments": (answer_with_call(BROKEN[:480_000] + '"}'), "hello", 0),
    "broken arguments in pieces": (answer_in_pieces(BROKEN[:40_000] + '"}'), "hello", 0),
    "broken arguments with a long blank": (answer_with_call('{"a": 1,' + " " * 300_000 + "x"), "hello", 0),
    "arguments of brackets": (answer_with_call(f'{{"a": [{"[]," * 160_000}[]]}}'), "hello", 0),
    "arguments of as many values as are taken": (
        answer_with_call(f'{{"a": {[0] * (MAX_ARGUMENT_VALUES - 2)}}}'),
        "hello",
        0,
    ),
    "an answer of quoted tags": (answer_with_text("```\n" + "</think>" * 60_000), "hello", 0),
    "an answer of halves of pairs": (answer_with_text("Hello " + "\ud83d" * 80_000), "hello", 0),
    "a message of links": (RawProvider(), "[]()\n" * (MAX_MESSAGE_CHARS // 5), 0),
    "a message of marks": (RawProvider(), "*a " * (MAX_MESSAGE_CHARS // 3), 0),
    "a message of halves of pairs": (RawProvider(), "a\udc00" * (MAX_MESSAGE_CHARS // 2), 0),
    LONG_TALK: (RawProvider(), "hello", STORED_MESSAGES),
}


@pytest.mark.slow
@pytest.mark.parametrize("deed", DEEDS)
def test_no_step_of_a_run_holds_the_loop(deed: str) -> None:
    provider, text, messages_before = DEEDS[deed]
    max_seconds = MAX_COLD_STEP_SECONDS if deed == LONG_TALK else MAX_STEP_SECONDS

    async def story() -> Step:
        async with provider.serve(), model_at(provider) as model, running(model, max_messages=MAX_MESSAGES) as chat:
            await chat.runner.parts.blocking.run(list)  # starts a thread
            talk_before(chat, messages_before)
            with timing_steps() as steps:
                assert (await chat.say(text)).state is RunState.DONE
            return steps.longest

    longest = find_longest_step(lambda: asyncio.run(story()), max_seconds)
    assert longest.seconds < max_seconds, longest
