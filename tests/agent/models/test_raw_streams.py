"""Streams with everything that the standard of server-sent events allows, and what servers make of it."""

import asyncio
from typing import Any

import pytest

from agent.models import json_streams, other_bodies
from checkpoints import Run, RunState
from tests.agent.running import model_at, running
from tests.fakes.raw import DONE, HEAD, Pieces, RawProvider, chunk, event, finish, say

FOREVER = float("inf")
PAUSE = 0.05  # seconds; without it the pieces may arrive together, and the answer is the same
PING = b": ping\n\n"
SUM = '{"expression": "1+1"}'
HELLO = say("Hello"), finish()


def play(*answers: Pieces, spec: str = "openai:some") -> tuple[Run, list[tuple[str, str, str]], RawProvider]:
    """The first run, and the conversation at its end. The next message must be answered."""

    async def whole() -> tuple[Run, list[tuple[str, str, str]], RawProvider]:
        provider = RawProvider(*answers)
        async with provider.serve(), model_at(provider, spec) as model, running(model) as chat:
            run, said = await chat.say("hello"), chat.said()
            if spec == "openai:some":  # the provider's own answer
                assert (await chat.say("and now?")).state is RunState.DONE
            return run, said, provider

    return asyncio.run(whole())


@pytest.mark.parametrize(
    "end",
    [
        [DONE, FOREVER],
        [DONE + PING, FOREVER],
        [DONE + PING, PAUSE, PING],
        [DONE[:9], PAUSE, DONE[9:], FOREVER],
        [DONE[:9], PAUSE, DONE[9:], PAUSE, PING],
        [DONE[:-1], PAUSE, DONE[-1:], FOREVER],
        [DONE.replace(b"\n", b"\r\n"), FOREVER],
    ],
    ids=str,
)
def test_an_answer_at_its_end_is_whole_whatever_its_connection_does(
    end: list[bytes | float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_streams, "MAX_ENDING_SECONDS", 0.02)
    run, said, _ = play([HEAD, *HELLO, PAUSE, *end])
    assert (run.error, said[-1]) == (None, ("ai", "done", "Hello"))


@pytest.mark.parametrize("rest", [b"", b"data: {not json\n\n", b'data: {"\xff": 1}\n\n'], ids=str)
def test_whatever_ends_a_stream_after_its_finish_reason_costs_no_answer(rest: bytes) -> None:
    call = event(chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "calculator", "arguments": SUM}}]}))
    torn = HEAD.replace(b"connection: close", b"content-length: 9999")
    _, said, _ = play([torn, call, finish("tool_calls"), PAUSE, rest], [torn, *HELLO, PAUSE, rest])
    assert [text for _, _, text in said[1:]] == ["", "2", "Hello"]
    assert said[-1][1] == "done"


@pytest.mark.parametrize("rest", [event({"error": {"message": "Too late."}}), say("x" * 600_000)], ids=["failure", "more"])
def test_a_failure_after_the_finish_reason_is_one(rest: bytes) -> None:
    run, said, _ = play([HEAD, *HELLO, rest])
    assert (run.state, said[-1][1]) == (RunState.FAILED, "partial")


@pytest.mark.parametrize(
    "sign",
    [
        b"retry: 3000\n\n", b"id: 7\n\n", b"data:\n\n", b"event: ping\ndata: \n\n", b"event: ping\n\n", PING,
        b"data: null\n\n", b'data: "ping"\n\n', b"data: []\n\n", b"data: 1\n\n", b"data: {}\n\n",
    ],
    ids=str,
)  # fmt: skip
def test_a_sign_of_life_costs_no_answer(sign: bytes) -> None:
    _, said, _ = play([HEAD, sign, say("Hel"), sign, PAUSE, sign, say("lo"), finish(), sign, DONE])
    assert said[-1] == ("ai", "done", "Hello")


@pytest.mark.parametrize("mark", [[b"\xef\xbb\xbf"], [b"\xef", PAUSE, b"\xbb\xbf"], [b"\r\n \n"]], ids=str)
def test_what_may_precede_the_first_event_costs_none_of_its_text(mark: list[bytes | float]) -> None:
    _, said, _ = play([HEAD, *mark, *HELLO, DONE])
    assert said[-1] == ("ai", "done", "Hello")


@pytest.mark.parametrize(
    "delta",
    [{"role": "user"}, {"role": ["x"]}, {"function_call": "act"}, {"function_call": 3}, {"content": [None, 1, "", ["x"]]}],
    ids=str,
)
def test_an_odd_field_costs_no_answer(delta: dict[str, Any]) -> None:
    _, said, _ = play([HEAD, event(chunk(delta)), *HELLO, DONE])
    assert said[-1] == ("ai", "done", "Hello")


@pytest.mark.parametrize("body", [[], [DONE], [PING], [b"data: null\n\n"]], ids=str)
def test_a_stream_without_an_answer_says_so(body: list[bytes]) -> None:
    run, _, _ = play([HEAD, *body])
    assert run.error == "The model said nothing; try again."


def test_a_failure_in_the_form_of_an_object_has_its_words() -> None:
    failed = event({"object": "error", "message": "The engine is dead.", "type": "EngineDeadError", "code": 400})
    run, said, _ = play([HEAD, say("Hel"), failed, DONE])
    assert (said[-1], run.error_details) == (
        ("ai", "partial", "Hel"),
        "HTTP 400: The engine is dead. (type: EngineDeadError)",
    )


@pytest.mark.parametrize(
    ("data", "details"),
    [
        ('{"message": "No credit.", "code": "quota"}', "No credit. (code: quota)"),
        ("overloaded now", "overloaded now"),
    ],
)
def test_an_event_that_is_named_an_error_has_its_words(data: str, details: str) -> None:
    run, said, _ = play([HEAD, say("Hel"), f"event: error\ndata: {data}\n\n".encode(), DONE])
    assert (said[-1], run.error_details) == (("ai", "partial", "Hel"), details)


def test_a_whole_answer_in_one_event_is_the_answer() -> None:
    answer = {"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}
    _, said, _ = play([HEAD, event({"id": "x", "object": "chat.completion", "choices": [answer]}), DONE])
    assert said[-1] == ("ai", "done", "Hello")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (HEAD.replace(b"text/event-stream", b"application/json"), b'{"choices": [{"message": {"content": "Hel'),
        (HEAD.replace(b"connection", b"content-encoding: gzip\r\nconnection"), b"no gzip"),
    ],
    ids=["half JSON", "no gzip"],
)
def test_an_answer_that_cannot_be_read_is_said_to_be_so_once(head: bytes, body: bytes) -> None:
    run, _, provider = play([head, body])
    assert (run.error or "").startswith("The model provider sent an answer that cannot be read; try again.")
    assert len(provider.requests) == 2


@pytest.mark.parametrize("piece", [b"x" * 65_536, b": ping\n" * 9_000, event({"choices": [], "x": "x" * 65_536})], ids=len)
def test_a_stream_without_end_is_given_up(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_bodies, "MAX_WHOLE_BYTES", 1_000_000)
    monkeypatch.setattr(other_bodies, "MAX_STREAM_BYTES", 5_000_000)
    run, _, _ = play([HEAD, say("Hel"), *[piece] * 100_000])
    assert (run.error or "").startswith("The model provider sent an answer that cannot be read")


def test_of_a_refusal_without_end_the_beginning_is_read() -> None:
    refused = HEAD.replace(b"200 OK", b"400 Bad Request").replace(b"text/event-stream", b"text/plain")
    run, _, _ = play([refused, b"No. ", *[b"x" * 65_536] * 100_000])
    assert (run.error or "").startswith("The model provider did not accept the request.")
    assert run.error_details == "HTTP 400: No."


@pytest.mark.parametrize("spec", ["openai:some", "openai-responses:some"])
def test_a_whole_answer_without_end_is_given_up(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_bodies, "MAX_STREAM_BYTES", 5_000_000)
    refused = HEAD.replace(b"200 OK", b"400 Bad Request"), b'{"error": {"message": "Set stream to false."}}'
    endless = HEAD.replace(b"text/event-stream", b"application/json"), b'{"x": "', *[b"x" * 65_536] * 100_000
    run, _, provider = play(refused, endless, spec=spec)
    assert [bool(each.get("stream")) for each in provider.requests[:2]] == [True, False]
    assert (run.error or "").startswith("The model provider sent an answer that cannot be read")


RESPONSES = "openai-responses:some"
CALL = {"type": "function_call", "id": "f", "call_id": "c", "name": "calculator", "arguments": SUM}
TEXT = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
COMPLETED = {"type": "response.completed", "response": {"id": "r", "object": "response", "status": "completed"}}
DELTA = {"type": "response.output_text.delta", "delta": "Hello"}


def complete(*items: Any) -> bytes:
    return event({**COMPLETED, "response": {**COMPLETED["response"], "output": items}})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "response.created"},
        {"type": "response.created", "response": 5},
        {"type": "response.output_text.delta", "delta": {"text": "x"}},
        {"type": "response.output_item.added", "item": None},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "reasoning", "id": "r", "summary": None}},
        {"type": "response.reasoning_summary_text.delta", "delta": "Hm."},
        {"type": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("end", [complete(TEXT), event(COMPLETED), event({"type": "response.completed"})], ids=len)
def test_an_odd_event_of_responses_costs_no_answer(odd: Any, end: bytes) -> None:
    _, said, _ = play([HEAD, event(odd), event(DELTA), end], spec=RESPONSES)
    assert said[-1] == ("ai", "done", "Hello")


@pytest.mark.parametrize("has_ids", [True, False])
def test_the_items_of_responses_without_indexes_are_told_apart(has_ids: bool) -> None:
    reasoning = {"type": "reasoning", "id": "rs", "summary": []}
    items = [
        {"item": {**item, "id": item["id"] if has_ids else None}} for item in (reasoning, {**TEXT, "content": []}, CALL)
    ]
    ids: list[dict[str, Any]] = [{"item_id": each} if has_ids else {} for each in ("rs", "m", "f")]
    added = [{"type": "response.output_item.added", **item} for item in items]
    added[2]["item"] = {**added[2]["item"], "arguments": ""}
    pieces = [
        *(added[0], {"type": "response.reasoning_summary_part.added", "part": {"text": ""}, **ids[0]}),
        *({"type": "response.reasoning_summary_text.delta", "delta": each, **ids[0]} for each in ("H", "m.")),
        *({"type": "response.output_item.done", **items[0]}, added[1], {**DELTA, **ids[1]}),
        *({"type": "response.output_text.done", "text": "Hello", **ids[1]}, added[2]),
        *({"type": "response.function_call_arguments.delta", "delta": each, **ids[2]} for each in (SUM[:4], SUM[4:])),
    ]
    ending = complete(reasoning, TEXT, CALL)
    run, said, _ = play([HEAD, *map(event, pieces), ending], [HEAD, complete(TEXT)], spec=RESPONSES)
    assert (run.state, [text for _, _, text in said]) == (RunState.DONE, ["hello", "Hello", "2", "Hello"])


def test_an_answer_that_comes_only_with_its_end_is_the_answer() -> None:
    done = {"type": "response.output_item.done", "output_index": 0, "item": CALL}
    _, said, _ = play([HEAD, event(done), complete(CALL)], [HEAD, complete(TEXT)], spec=RESPONSES)
    assert [text for _, _, text in said] == ["hello", "", "2", "Hello"]
