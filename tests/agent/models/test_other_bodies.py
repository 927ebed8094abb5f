"""Answers to a request for a stream that are none, and failures that a provider reports within its answer."""

import asyncio
import json
import logging
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from starlette.requests import Request

from checkpoints import Run, RunState
from tests.agent.running import KEY, Running, model_at, running
from tests.fakes.faults import Frame, Reply
from tests.fakes.openai import Call, FakeOpenAI, Fault, Say
from tests.fakes.server import JSON

CHAT, RESPONSES = "openai:some", "openai-responses:some"
BOTH = pytest.mark.parametrize("spec", [CHAT, RESPONSES])
PAGE = "<!doctype html><html><head><title>Welcome</title><style>a{}</style></head><body>It works!</body></html>"
WRONG_ADDRESS = "The address in OPENAI_BASE_URL does not answer like an OpenAI server"


class WholeServer(FakeOpenAI):
    """Ignores `stream`."""

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        return super().answer(request, {**body, "stream": False}, reply, number)


class OtherServer(FakeOpenAI):
    """Sends this body with status 200, whatever the request."""

    def __init__(self, content: str, kind: str) -> None:
        self.content, self.kind = content, kind
        super().__init__()

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        return [Frame(self.content.encode())], self.kind


def ask(server: FakeOpenAI, spec: str) -> tuple[Run, Running]:
    async def whole() -> tuple[Run, Running]:
        async with model_at(server, spec) as model, running(model) as chat:
            return await chat.say("what is 6*7?"), chat

    return asyncio.run(whole())


@BOTH
def test_a_whole_answer_to_a_request_for_a_stream_is_the_answer(spec: str) -> None:
    async def whole(server: FakeOpenAI) -> None:
        async with model_at(server, spec) as model, running(model) as chat:
            assert (await chat.say("what is 6*7?")).state is RunState.DONE
            assert [text for _, _, text in chat.said()] == ["what is 6*7?", "Let me see.", "42", "It is 42."]
            answer = chat.path()[-1].langchain
            assert isinstance(answer, AIMessage)
            assert (answer.usage_metadata or {}).get("output_tokens", 0) > 0
            assert (answer.response_metadata["model_name"], len(server.requests)) == ("some", 2)

    with WholeServer() as server:
        server.reply(Call("calculator", {"expression": "6 * 7"}, text="Let me see."), Say("It is 42."))
        asyncio.run(whole(server))


def test_half_of_an_emoji_costs_no_whole_answer() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Hi \ud83d"}, "finish_reason": "stop"}
    with OtherServer(json.dumps({"choices": [choice]}), "application/json") as server:
        run, chat = ask(server, CHAT)
    assert (run.state, chat.heard()) == (RunState.DONE, "Hi \ufffd")


@BOTH
@pytest.mark.parametrize(
    ("content", "kind"),
    [(PAGE, "text/html"), (f"\n{PAGE}", "text/event-stream"), ("", "text/html"), ('{"status": "ok"}', "application/json"),
     ("OK", "text/plain"), ("[]", "application/json")],
    ids=lambda each: each[:20],
)  # fmt: skip
def test_another_server_at_the_address_is_named_with_its_setting(content: str, kind: str, spec: str) -> None:
    with OtherServer(content, kind) as server:
        run, _ = ask(server, spec)
        assert (run.state, len(server.requests)) == (RunState.FAILED, 1)
        assert (run.error or "").startswith(WRONG_ADDRESS)
        assert run.error_details == {PAGE: "Welcome It works!", "OK": "OK"}.get(content.strip())


def test_a_page_with_another_status_names_the_setting_too() -> None:
    with FakeOpenAI() as server:
        server.reply(Fault("status", status=405, body=PAGE))
        run, _ = ask(server, CHAT)
    assert "or in .env, such as OPENAI_BASE_URL" in (run.error or "")


@pytest.mark.parametrize("kind", ["application/json", "text/plain"])
def test_a_stream_is_read_whatever_its_content_type_is_called(kind: str) -> None:
    choice = {"index": 0, "delta": {"content": "Hello"}, "finish_reason": "stop"}
    with OtherServer(f"\n\ndata: {json.dumps({'choices': [choice]})}\n\ndata: [DONE]\n\n", kind) as server:
        run, chat = ask(server, CHAT)
    assert (run.state, chat.heard()) == (RunState.DONE, "Hello")


REPORTED = {"message": f"The engine is out of memory. key={KEY}", "type": "engine_error", "code": "oom"}
FAILED = [
    (CHAT, json.dumps({"error": REPORTED}), "application/json"),
    (CHAT, f"data: {json.dumps({'error': REPORTED})}\n\n", "text/event-stream"),
    (RESPONSES, json.dumps([{"error": REPORTED}]), "application/json"),
    (RESPONSES, f"data: {json.dumps({**REPORTED, 'type': 'error'})}\n\n", "text/event-stream"),
    (RESPONSES, f"event: error\ndata: {json.dumps({'type': 'error', 'error': REPORTED})}\n\n", "text/event-stream"),
    (
        RESPONSES,
        f"data: {json.dumps({'type': 'response.failed', 'response': {'id': 'r', 'error': REPORTED}})}\n\n",
        "text/event-stream",
    ),
]


@pytest.mark.parametrize(("spec", "content", "kind"), FAILED, ids=lambda each: each[:40])
def test_a_failure_within_an_answer_has_its_words_behind_details_and_its_names_in_the_log(
    spec: str, content: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with OtherServer(content, kind) as server:
        run, _ = ask(server, spec)
    assert run.state is RunState.FAILED
    assert (run.error_details or "").startswith("The engine is out of memory. key=*** (code: oom")
    assert "code: oom" in caplog.text
    assert KEY not in f"{run}{caplog.text}"


@pytest.mark.parametrize("spec", [CHAT, RESPONSES])
def test_a_failure_in_an_answer_that_could_not_be_streamed_has_its_words(spec: str) -> None:
    refused: Any = {"error": {"message": "Your organization must be verified to stream this model.", "code": "400"}}

    class Whole(OtherServer):
        def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
            failed = {"id": "r", "object": "response", "output": [], "error": REPORTED, "choices": None}
            content = refused if body.get("stream") else failed
            return [Frame(json.dumps(content).encode())], "application/json"

    with Whole("", "") as server:
        run, _ = ask(server, spec)
        assert [bool(each.get("stream")) for each in server.requests] == [True, False]
    assert (run.error_details or "").startswith("The engine is out of memory. key=***")
