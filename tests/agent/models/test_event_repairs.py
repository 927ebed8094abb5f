"""Answers as servers send them: with fields left out, of other types, or in other places."""

import asyncio
import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from starlette.requests import Request

from agent.graph import answer as answers
from checkpoints import RunState
from tests.agent.running import model_at, running, tool
from tests.fakes.faults import Frame, Reply
from tests.fakes.openai import FakeOpenAI, Fault, Say
from tests.fakes.server import JSON

Delta = dict[str, Any] | None


class RawServer(FakeOpenAI):
    """Sends these chunks as they are, and then answers as the fake does."""

    def __init__(self, *chunks: JSON) -> None:
        self.chunks = chunks
        super().__init__()

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        if number > 1:
            return super().answer(request, body, reply, number)
        lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in self.chunks]
        return [Frame(line) for line in (*lines, b"data: [DONE]\n\n")], "text/event-stream"


def chunk(delta: Delta = None, finish: Any = None, **more: Any) -> JSON:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def calling(**call: Any) -> JSON:
    return chunk({"tool_calls": [call]})


def play(*chunks: JSON) -> AIMessage:
    """The first answer of a run with the tool `act`; the run must end well."""

    async def whole(server: RawServer) -> AIMessage:
        async with model_at(server) as model, running(model, [tool("act", lambda: "acted")]) as chat:
            run = await chat.say("go")
            assert (run.state, run.error) == (RunState.DONE, None)
            assert chat.unanswered() == set()
            answer = next(message.langchain for message in chat.path() if message.type == "ai")
            assert isinstance(answer, AIMessage)
            return answer

    with RawServer(*chunks) as server:
        server.reply(Say("done"))
        return asyncio.run(whole(server))


def test_a_name_that_is_repeated_in_every_piece_is_one_name() -> None:
    pieces = [{"name": "act", "arguments": part} for part in ("{", "}")]
    answer = play(*(calling(index=0, id="1", function=piece) for piece in pieces), chunk(finish="tool_calls"))
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [("act", {})]


def test_the_refusal_is_the_text_of_the_answer() -> None:
    pieces = [chunk({"content": None, "refusal": ""}), chunk({"refusal": "I cannot "}), chunk({"refusal": "do that."})]
    assert play(*pieces, chunk(finish="stop")).text == "I cannot do that."


@pytest.mark.parametrize("index", [{}, {"index": None}, {"index": "0"}], ids=str)
def test_calls_without_an_index_are_told_apart_by_their_ids_and_names(index: dict[str, Any]) -> None:
    pieces: list[dict[str, Any]] = [
        {"id": "a", "function": {"name": "act", "arguments": "{}"}},
        {"id": "b", "function": {"name": "act", "arguments": '{"x"'}},
        {"id": "b", "function": {"name": "act", "arguments": ": "}},
        {"function": {"arguments": "1}"}},
        {"function": {"name": "act", "arguments": {"y": 2}}},
    ]
    answer = play(*(calling(**piece, **index) for piece in pieces), chunk(finish="tool_calls"))
    assert [(call["name"], call["args"]) for call in answer.tool_calls] == [
        ("act", {}),
        ("act", {"x": 1}),
        ("act", {"y": 2}),
    ]


def test_calls_that_all_have_the_same_index_are_told_apart_by_their_ids() -> None:
    pieces = [calling(index=0, id=each, function={"name": "act", "arguments": "{}"}) for each in ("a", "b")]
    assert [call["id"] for call in play(*pieces, chunk(finish="tool_calls")).tool_calls] == ["a", "b"]


@pytest.mark.parametrize(
    "odd",
    [
        chunk({"content": 5}),
        chunk({"content": "", "tool_calls": {"index": 0}}),
        {"choices": None},
        {"choices": [None, {"index": 0}]},
        {"choices": [{"index": 0, "delta": 7}]},
        chunk(id="\ud800", model="\ud800", system_fingerprint="\ud800", service_tier=7),
        chunk(usage={"tokens": 3}),
        chunk(usage=[1]),
    ],
    ids=lambda odd: json.dumps(odd)[:60],
)
def test_an_odd_piece_costs_no_answer(odd: JSON) -> None:
    answer = play(odd, chunk({"content": "half \ud83d"}), chunk(finish="st\udc00p"))
    assert (answer.text, answer.usage_metadata) == ("half �", None)


@pytest.mark.parametrize(
    "call",
    [{"index": 0, "id": "a", "function": None}, {"index": 0, "id": 7, "function": {"name": {}, "arguments": 3}}],
    ids=str,
)
def test_a_call_without_a_readable_name_gets_a_result(call: JSON) -> None:
    assert [each["name"] for each in play(calling(**call), chunk(finish="stop")).tool_calls] == ["unknown"]


def test_usage_in_every_chunk_is_the_last_one() -> None:
    usages = [{"prompt_tokens": 100, "completion_tokens": count, "total_tokens": 100 + count} for count in (1, 2, 3)]
    pieces = [chunk({"content": "x"}, usage=usage) for usage in usages]
    usage = play(*pieces, chunk(finish="stop", usage=usages[-1])).usage_metadata
    assert usage is not None
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (100, 3, 103)


@pytest.mark.parametrize("last", [{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, {}, None], ids=str)
def test_a_last_usage_without_tokens_does_not_count(last: Any) -> None:
    told = {"prompt_tokens": 100, "completion_tokens": 3, "total_tokens": 103}
    pieces = [chunk({"content": "x"}, usage=told), chunk(finish="stop", usage=last), {"choices": [], "usage": last}]
    usage = play(*pieces).usage_metadata
    assert usage is not None
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (100, 3, 103)


def test_a_server_that_never_ends_its_stream_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_GRACE_SECONDS", 0.05)

    async def whole(fake: FakeOpenAI) -> None:
        async with model_at(fake) as model, running(model) as chat:
            assert (await chat.say("hello")).state is RunState.DONE
            assert chat.said()[-1] == ("ai", "done", "Hello there.")
            fake.wait_for(lambda: fake.disconnects == 1)  # the connection is given back

    with FakeOpenAI() as fake:
        fake.reply(Fault("hang", Say("Hello there."), before="data: [DONE]"))
        asyncio.run(whole(fake))
