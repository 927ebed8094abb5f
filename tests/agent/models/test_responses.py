"""A run is the same whichever way the model is spoken to: Chat Completions or Responses, streamed or whole."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage

from checkpoints import RunState
from tests.agent.running import Running, model_at, running
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say

BOTH = pytest.mark.parametrize("spec", ["openai:some", "openai-responses:some"])
RESPONSES = "openai-responses:some"
SUM = Call("calculator", {"expression": "6 * 7"}, text="Let me see.")
NO_STREAM = Fault("status", status=400, message="Your organization must be verified to stream this model.")
NO_OPTIONS = Fault("status", status=422, message="Extra inputs are not permitted: stream_options")
Story = Callable[[Running, FakeOpenAI], Awaitable[None]]


def play(spec: str, story: Story, *replies: Any) -> None:
    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake, spec) as model, running(model) as chat:
            await story(chat, fake)
            assert chat.unanswered() == set()

    with FakeOpenAI() as fake:
        fake.reply(*replies)
        asyncio.run(whole(fake))
        assert fake.violations == []


def last(chat: Running) -> AIMessage:
    message = chat.path()[-1].langchain
    assert isinstance(message, AIMessage)
    return message


@BOTH
def test_a_tool_is_called_and_its_result_answered(spec: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("what is 6*7?")
        assert chat.said() == [
            ("human", "done", "what is 6*7?"),
            ("ai", "done", "Let me see."),
            ("tool", "done", "42"),
            ("ai", "done", "It is 42."),
        ]
        reasons = [message.langchain.response_metadata.get("finish_reason") for message in chat.path()]
        assert reasons[-1] == "stop"
        await chat.say("thanks")
        assert len(fake.requests) == 3

    play(spec, story, SUM, Say("It is 42."), Say("Welcome."))


def test_a_request_for_responses_keeps_nothing_with_the_provider_and_names_none_of_its_items() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("what is 6*7?")
        kinds = [item["type"] for item in fake.requests[-1]["input"]]
        assert kinds == ["message", "message", "reasoning", "message", "function_call", "function_call_output"]
        assert not [item for item in fake.requests[-1]["input"] if "id" in item]
        assert fake.requests[-1]["store"] is False

    play(RESPONSES, story, SUM)


@pytest.mark.parametrize("kind", ["cut", "end"])
@pytest.mark.parametrize(
    "place",
    [{"after_tokens": 2}, {"within": "see."}, {"before": "response.function_call_arguments.done"}, {"after_tokens": 5},
     {"before": "event: response.completed"}, {"within": '"status":"completed","error"'}],
    ids=str,
)  # fmt: skip
def test_a_cut_response_is_partial_and_runs_no_tool(kind: Any, place: dict[str, Any]) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.say("what is 6*7?")
        assert (run.state, [kind for kind, *_ in chat.said()]) == (RunState.FAILED, ["human", "ai"])
        assert chat.path()[-1].status == "partial"
        await chat.say("and now?")
        assert chat.said()[-1] == ("ai", "done", "Here again.")

    play(RESPONSES, story, Fault(kind, SUM, **place), Say("Here again."))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Say("Once upon a", finish="length"), "length limit"),
        (Say("Once upon a", finish="content_filter"), "content filter"),
        (Say("Once upon a", finish="failed"), "problem on its side"),
        (Fault("error_event", Say("Once upon a"), after_tokens=1), "problem on its side"),
        (Fault("status", status=401), "refused the API key"),
        (Fault("hang", Say("Once upon a"), after_tokens=1), "in time"),
    ],
    ids=str,
)
def test_a_response_that_fails_is_one_sentence(reply: Any, words: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        run = await chat.say("tell me a story")
        assert words in (run.error or "")
        assert "sk-" not in (run.error or "")

    async def whole(fake: FakeOpenAI) -> None:
        async with (
            model_at(fake, RESPONSES) as model,
            running(model, idle_seconds=0.3 if words == "in time" else 60.0) as chat,
        ):
            await story(chat, fake)

    with FakeOpenAI() as fake:
        fake.reply(reply)
        asyncio.run(whole(fake))


@BOTH
def test_where_a_server_refuses_to_stream_the_answer_comes_whole(spec: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("what is 6*7?")
        assert [text for _, _, text in chat.said()] == ["what is 6*7?", "Let me see.", "42", "It is 42."]
        assert [bool(request.get("stream")) for request in fake.requests] == [True, False, False]  # it was learned
        assert (last(chat).usage_metadata or {}).get("output_tokens", 0) > 0
        assert last(chat).response_metadata["model_name"] == "some"

    play(spec, story, NO_STREAM, SUM, Say("It is 42."))


def test_a_refusal_that_only_speaks_of_streams_changes_nothing() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.FAILED
        await chat.say("hello again")
        assert [bool(request.get("stream")) for request in fake.requests] == [True, False, True]

    other = Fault("status", status=400, message="Invalid prompt: 'the stream is cold'.")
    play("openai:some", story, other, other, Say("Hello."))


@pytest.mark.parametrize("words", ["Upstream request failed", "The stream was closed by the backend"])
def test_a_failure_behind_the_server_is_no_refusal_to_stream(words: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        assert (await chat.say("hello")).state is RunState.FAILED
        await chat.say("hello again")
        assert [bool(request.get("stream")) for request in fake.requests] == [True, True]

    play("openai:some", story, Fault("status", status=400, message=words), Say("Hello."))


def test_where_a_server_refuses_to_tell_usage_the_answer_still_streams() -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        await chat.say("hello")
        await chat.say("hello again")
        assert [(bool(request.get("stream")), "stream_options" in request) for request in fake.requests] == [
            (True, True), (True, False), (True, False)]  # fmt: skip
        assert last(chat).usage_metadata is None

    play("openai:some", story, NO_OPTIONS, Say("Hello."), Say("Hello again."))


@BOTH
def test_what_was_used_is_kept_with_the_answer(spec: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.cached_tokens, fake.reasoning_tokens = 3, 7
        await chat.say("hello")
        used: Any = last(chat).usage_metadata
        assert (used["input_token_details"], used["output_token_details"]) == ({"cache_read": 3}, {"reasoning": 7})
        assert used["output_tokens"] == 7 + 4
        assert used["total_tokens"] == used["input_tokens"] + used["output_tokens"] > used["output_tokens"]

    play(spec, story, Say("Good morning to you"))


@BOTH
def test_where_nothing_is_said_of_usage_none_is_kept(spec: str) -> None:
    async def story(chat: Running, fake: FakeOpenAI) -> None:
        fake.tells_usage = False
        await chat.say("hello")
        assert last(chat).usage_metadata is None

    play(spec, story, Say("Hello."))


@pytest.mark.usefixtures("refusals_expected")
@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"store": True}, "store"),
        ({"messages": []}, "Unsupported parameter"),
        ({"input": []}, "Missing required"),
        ({"input": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]}, "did not have response"),
        ({"input": [{"type": "function_call_output", "call_id": "a", "output": "42"}]}, "must be a response"),
        ({"input": [{"type": "reasoning", "summary": [], "encrypted_content": "x"}]}, "messages|verified"),
        ({"input": [{"type": "message", "id": "msg_1", "role": "user", "content": "hi"}]}, "not found"),
        ({"input": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]}, "Invalid value"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools\\[0\\].name"),
    ],
    ids=str,
)
def test_the_fake_refuses_what_responses_do_not_take(broken: dict[str, Any], words: str) -> None:
    asked = {"model": "some", "store": False, "input": [{"role": "user", "content": "hi"}]} | broken
    with FakeOpenAI() as fake:
        refused = httpx.post(f"{fake.base_url}/responses", headers={"authorization": "Bearer x"}, json=asked)
    assert refused.is_client_error
    assert re.search(words, refused.json()["error"]["message"])
