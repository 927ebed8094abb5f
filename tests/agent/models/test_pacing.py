"""Streams that are read together, and texts that came together."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import ExitStack
from typing import Any, TypeVar
from unittest.mock import Mock

import httpcore2
import pytest
from openai import Timeout
from openai._streaming import SSEDecoder
from pydantic import SecretStr

from agent.models import json_streams, paced_client
from agent.models.catalog import ConfiguredModels
from agent.models.json_streams import _JoiningDecoder
from agent.models.keys import ProviderKeys
from agent.models.pacing import StreamPacer

T = TypeVar("T")
HEAD = {"id": "a", "object": "chat.completion.chunk", "model": "m"}


def chunk(text: str | None = None, *, finish: str | None = None, end: str = "\n\n", **delta: Any) -> bytes:
    content = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": content | delta, "finish_reason": finish}
    return f"data: {json.dumps(HEAD | {'choices': [choice]})}{end}".encode()


class Clockless(asyncio.SelectorEventLoop):
    """A loop whose time goes on only while all wait, and then at once: nothing depends on how busy the machine is."""

    def __init__(self) -> None:
        self._moment = 0.0
        super().__init__()
        self._look = self._selector.select  # type: ignore[attr-defined]
        self._selector.select = self._skip  # type: ignore[attr-defined]

    def time(self) -> float:
        return self._moment

    def _skip(self, seconds: float | None) -> Any:
        self._moment += seconds or 0.0
        return self._look(0)


def without_clock(story: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=Clockless) as runner:
        return runner.run(story)


def decoded(parts: Iterable[bytes | float]) -> list[Any]:
    """The events of parts that come one at a time, numbers being seconds between them; "[DONE]" for the last."""

    async def coming() -> AsyncIterator[bytes]:
        for part in parts:
            if isinstance(part, bytes):
                yield part
            else:
                await asyncio.sleep(part)

    async def read() -> list[Any]:
        events = _JoiningDecoder(SSEDecoder()).aiter_bytes(coming())
        return [event.data if event.data.startswith("[DONE]") else event.json() async for event in events]

    return without_clock(read())


def texts(events: list[Any]) -> list[str]:
    deltas = [event["choices"][0]["delta"] for event in events if event != "[DONE]"]
    return [delta["content"] for delta in deltas if delta]


def test_texts_that_come_together_are_one_and_others_are_not() -> None:
    end = [chunk(finish="stop"), b"data: [DONE]\n\n"]
    events = decoded([chunk("one "), chunk("two "), 0.05, chunk("three "), chunk("four"), *end])
    assert texts(events) == ["one two ", "three four"]
    assert events[-2]["choices"][0]["finish_reason"] == "stop"
    assert events[-1] == "[DONE]"


def test_what_is_not_only_text_stands_between_texts() -> None:
    call = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    events = decoded([chunk("a"), chunk("b", role="assistant"), chunk("c", **call), chunk("d"), chunk("e")])
    assert [event["choices"][0]["delta"].get("content") for event in events] == ["ab", "c", "de"]
    assert events[1]["choices"][0]["delta"]["tool_calls"] == call["tool_calls"]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_that_comes_together_is_one_and_apart_from_the_text(field: str) -> None:
    pieces = [chunk(None, **{field: "I "}), chunk("", **{field: "see."}), chunk("Yes", **{field: None}), chunk(".")]
    details = [chunk("", **{field: each, "reasoning_details": [{"index": 0, "text": each}]}) for each in ("a", "b")]
    deltas = [event["choices"][0]["delta"] for event in decoded([*pieces, *details])]
    assert [(delta.get("content"), delta.get(field)) for delta in deltas] == [
        (None, "I see."), ("Yes.", None), ("", "a"), ("", "b")
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", "event: something\n"])
def test_pieces_of_responses_that_come_together_are_one_in_their_place(name: str) -> None:
    kinds = ["reasoning_text", "reasoning_text", "reasoning_summary_text", "output_text", "output_text", "refusal"]
    pieces = [{"type": f"response.{kind}.delta", "item_id": "1", "delta": kind[0]} for kind in kinds]
    events = decoded([name.encode() + b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces])
    assert [event["delta"] for event in events] == ["rr", "r", "oo", "r"]


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\n:a comment\n\n"])
def test_every_cut_gives_the_same_text(end: str) -> None:
    said = (
        chunk("Grüße, ", end=end) + chunk("Welt \ud83d", end=end) + chunk("\ude00", end=end) + b"data: [DONE]" + end.encode()
    )
    for cut in range(len(said)):
        events = decoded([said[:cut], said[cut:]])
        assert "".join(texts(events)).encode("utf-16", "surrogatepass").decode("utf-16") == "Grüße, Welt 😀"


def test_an_answer_that_speaks_of_the_end_is_not_at_its_end() -> None:
    said = chunk("It ends with [DONE], so to speak.")
    cut = said.index(b"[DONE]") + len(b"[DONE]")
    events = decoded([said[:cut], 1.2, said[cut:], chunk(" And on."), b"data: [DONE]\n\n"])  # longer than an end may take
    assert "".join(texts(events)) == "It ends with [DONE], so to speak. And on."


def test_a_text_without_the_mark_of_the_end_is_not_searched_for_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = Mock(wraps=json_streams.DONE_EVENT)
    monkeypatch.setattr(json_streams, "DONE_EVENT", searched)
    decoded([chunk("one"), 0.05, chunk("two"), 0.05, chunk("three"), b"data: [DONE]\n\n"])
    assert searched.search.call_count == 1


def test_what_came_before_something_unreadable_is_kept() -> None:
    events = _JoiningDecoder(SSEDecoder()).aiter_bytes(_once(chunk("so ") + chunk("far") + b"data: {\xff}\n\n"))

    async def read() -> None:
        assert (await anext(events)).json()["choices"][0]["delta"]["content"] == "so far"
        with pytest.raises(UnicodeDecodeError):
            await anext(events)

    asyncio.run(read())


async def _once(part: bytes) -> AsyncIterator[bytes]:
    yield part


class Connection(httpcore2.AsyncNetworkStream):
    """Gives pieces that come every so many seconds. A late one is given at once, and alone, as a record of TLS is."""

    def __init__(self, seconds: float, records: int) -> None:
        self.seconds, self.left, self.begun, self.given = seconds, records, asyncio.get_running_loop().time(), 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        wait = self.begun + (self.given + 1) * self.seconds - asyncio.get_running_loop().time()
        if timeout is not None and wait > timeout:
            await asyncio.sleep(timeout)
            raise httpcore2.ReadTimeout
        if wait > 0:
            await asyncio.sleep(wait)
        self.given += 1
        return b"x"

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        pass


async def read_pieces(pacer: StreamPacer, streams: int, count: int) -> list[tuple[float, int]]:
    """Read so many pieces of an answer, beside other streams: the moment of each read, and its pieces."""
    connection = Connection(0.01, count)
    paced = paced_client._PacedConnection(connection, pacer, gives_records=True)
    with ExitStack() as others:
        for _ in range(streams):
            others.enter_context(pacer.count_stream())
        found = list[tuple[float, int]]()
        while sum(pieces for _, pieces in found) < count:
            pieces = len(await paced.read(100))
            found.append((asyncio.get_running_loop().time() - connection.begun, pieces))
    return found


def test_a_stream_of_many_pauses_and_never_falls_behind() -> None:
    found = without_clock(read_pieces(StreamPacer(), streams=10, count=100))
    assert 10 <= len(found) <= 16  # at first about every 60 ms, then every 160 ms
    assert found[-1][0] < 1.2


def test_the_beginning_of_a_stream_alone_is_read_as_it_comes_and_the_rest_in_pieces() -> None:
    found = without_clock(read_pieces(StreamPacer(), streams=1, count=100))
    assert [pieces for _, pieces in found[:8]] == [1] * 8
    assert found[7][0] == pytest.approx(0.08)
    assert 15 <= len(found[8:]) <= 20  # twenty times a second
    assert found[-1][0] < 1.1


def test_a_connection_that_gives_all_at_hand_is_read_once_at_each_moment() -> None:
    class Stream(Connection):
        reads = 0

        async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
            self.reads += 1
            first = await super().read(max_bytes, timeout)
            come = min(self.left, int((asyncio.get_running_loop().time() - self.begun) / self.seconds + 1e-6))
            self.given, more = max(come, self.given), max(come - self.given, 0)
            return first + b"x" * more

    async def read() -> tuple[int, int]:
        stream, moments = Stream(0.01, 200), 0
        paced = paced_client._PacedConnection(stream, pacer := StreamPacer())
        with pacer.count_stream():
            while stream.given < stream.left:
                await paced.read(100)
                moments += 1
        return stream.reads, moments

    reads, moments = without_clock(read())
    assert 40 <= moments <= 60
    assert reads <= 2 * moments  # the one that waits, and the one at its moment


def test_streams_wake_up_together_and_one_that_ends_keeps_none_waiting() -> None:
    async def story() -> tuple[list[float], list[float]]:
        loop, pacer = asyncio.get_running_loop(), StreamPacer()
        moments, timers, call_at = list[float](), list[float](), loop.call_at
        watched: Any = loop
        watched.call_at = lambda when, *rest, **more: timers.append(when) or call_at(when, *rest, **more)

        async def wait() -> None:
            await pacer.wait_for_moment(0.1)
            moments.append(loop.time())

        waiting = [asyncio.create_task(wait()) for _ in range(10)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return timers, moments

    timers, moments = without_clock(story())
    assert timers == pytest.approx([0.1])
    assert moments == pytest.approx([0.1] * 9)


def test_each_answer_of_a_connection_begins_without_a_pause() -> None:
    async def read() -> bytes:
        pacer = StreamPacer()
        paced = paced_client._PacedConnection(Connection(0.01, 100), pacer)
        with pacer.count_stream():
            for _ in range(20):
                await paced.read(100)
            await paced.write(b"the next request")
            return await paced.read(100)

    assert without_clock(read()) == b"x"


def test_bytes_at_hand_are_read_without_a_pause() -> None:
    async def read() -> float:
        pacer, loop = StreamPacer(), asyncio.get_running_loop()
        paced, begun = paced_client._PacedConnection(Connection(0, 40), pacer), loop.time()
        with pacer.count_stream(), pacer.count_stream():
            for _ in range(40):
                await paced.read(1)  # smaller than a record, so that the rest of it is at hand
        return loop.time() - begun

    assert without_clock(read()) == 0


def test_what_came_before_a_failure_is_returned() -> None:
    class Failing(Connection):
        async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
            if self.given == self.left:
                raise httpcore2.ReadError
            return await super().read(max_bytes, timeout)

    async def read() -> int:
        pacer, pieces = StreamPacer(), 0
        paced = paced_client._PacedConnection(Failing(0.01, 20), pacer)
        with pacer.count_stream():
            while pieces < 20:
                pieces += len(await paced.read(100))
            with pytest.raises(httpcore2.ReadError):
                await paced.read(100)
        return pieces

    assert without_clock(read()) == 20


def test_the_client_reads_through_it() -> None:
    """What is set is no public part of the library: another version of it must be looked at."""
    transport: Any = paced_client.make_paced_client(Timeout(1.0), StreamPacer())._transport
    assert isinstance(transport._pool._network_backend, paced_client._PacedBackend)
    assert "_network_backend" in vars(httpcore2.AsyncConnectionPool())


def test_two_apps_in_one_process_share_no_pace() -> None:
    def find_pacer(models: ConfiguredModels) -> Any:
        client: Any = models.load_model("openai:some")
        return client.async_client._pacer

    keys = ProviderKeys(openai_api_key=SecretStr("key"))
    one, other = ConfiguredModels(keys, offered=["openai:some"]), ConfiguredModels(keys, offered=["openai:some"])
    with find_pacer(one).count_stream(), find_pacer(one).count_stream():
        assert find_pacer(one).pause_seconds > 0
        assert find_pacer(other).pause_seconds <= 0


def test_all_models_of_an_app_share_one_pace() -> None:
    models: Any = ConfiguredModels(ProviderKeys(openai_api_key=SecretStr("key")), offered=["openai:a", "openai:b"])
    one, other = models.load_model("openai:a"), models.load_model("openai:b")
    backends = [model.http_async_client._transport._pool._network_backend for model in (one, other)]
    assert {each._pacer for each in backends} == {one.async_client._pacer, other.async_client._pacer}
    assert backends[0]._pacer is backends[1]._pacer
