"""The client's streams without its classes, and with one event for texts that arrive together.

The client makes each token an object of six classes, and the library turns that into the same JSON again. That was half of
the server's work for an answer, and more for Responses.
"""

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from jiter import from_json
from openai import AsyncAzureOpenAI, AsyncOpenAI, AsyncStream

from agent.models import other_bodies
from agent.models.event_repairs import EventRepairer
from agent.models.other_bodies import (
    EVENT_STREAM,
    OtherBody,
    UnreadableBodyError,
    convert_to_event,
    parse_other_body,
    refuse_other_bodies,
)
from agent.models.pacing import StreamPacer, gather_ready
from agent.models.reasoning import TEXT_FIELDS
from agent.models.refusal_body import ReportedFailure
from agent.models.request_bodies import write_body

DATA_PREFIX = b"data: {"
EVENT_PREFIX = b"event: "
DONE_MARK = b"[DONE]"
DONE_EVENT = re.compile(rb"(?:\A|[\r\n])data: ?\[DONE\] *(?:[\r\n]|\Z)")  # a line: an answer may contain these words
_JOINED_EVENTS = {
    "response.output_text.delta",
    "response.reasoning_summary_text.delta",
    "response.reasoning_text.delta",
    "response.function_call_arguments.delta",
}
_JOINED_FIELDS = ("content", *TEXT_FIELDS)
EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")


class JsonCompletions:
    """The part of the client's chat completions that the library uses; streams contain the JSON of the server.

    `address_setting` names the setting of the server's address, for errors; None for the provider's own address.
    """

    def __init__(self, client: AsyncOpenAI, pacer: StreamPacer, address_setting: str | None = None) -> None:
        self._client = client
        self._pacer = pacer
        self._address_setting = address_setting
        self.with_raw_response = client.chat.completions.with_raw_response  # for answers that are not streamed

    async def create(self, **payload: Any) -> AsyncStream[object]:
        body = _merge_extra_body(payload)
        # Azure's client reads the deployment of its address from the body.
        is_read = isinstance(self._client, AsyncAzureOpenAI)
        given: dict[str, Any] = {"body": body} if is_read else {"content": write_body(body)}
        events: _JsonStream = await self._client.post(
            "/chat/completions", **given, cast_to=object, stream=True, stream_cls=_JsonStream
        )
        events.pacer, events.address_setting = self._pacer, self._address_setting
        return events


class JsonResponses:
    """The part of the client's responses that the library uses. It needs objects, but few fields of the frequent events."""

    def __init__(self, client: AsyncOpenAI, pacer: StreamPacer, address_setting: str | None = None) -> None:
        # The import takes half a second: only for models with Responses, and not during the first answer.
        from openai.types.responses import Response, ResponseStreamEvent  # noqa: PLC0415

        self._client = client
        self._pacer = pacer
        self._address_setting = address_setting
        self._event_type, self._answer_type = ResponseStreamEvent, Response
        self.with_raw_response = client.responses.with_raw_response

    async def create(self, **payload: Any) -> "_ResponseStream":
        body = write_body(_merge_extra_body(payload))
        events: _ResponseStream = await self._client.post(
            "/responses", content=body, cast_to=object, stream=True, stream_cls=_ResponseStream
        )
        events.pacer, events.address_setting = self._pacer, self._address_setting
        events.event_type, events.answer_type = self._event_type, self._answer_type
        return events


def _merge_extra_body(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a request: the extra fields stand beside the others."""
    body = dict(payload)
    return body | (body.pop("extra_body", None) or {})


class WholeResponse(Exception):
    """The server of Responses has sent its whole answer, and no stream. `response` is the client's object."""

    def __init__(self, response: Any) -> None:
        super().__init__("a whole response")
        self.response = response


class _JsonStream(AsyncStream[object]):
    pacer: StreamPacer
    address_setting: str | None

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._decoder = _JoiningDecoder(self._decoder)  # type: ignore[assignment]  # only the asynchronous method is used

    async def __aiter__(self) -> AsyncIterator[object]:
        repairer, other = EventRepairer(), None
        is_empty = EVENT_STREAM not in self.response.headers.get("content-type", "")
        with self.pacer.count_stream():
            try:
                async for event in super().__aiter__():
                    is_empty = False
                    if isinstance(event, dict):  # else a sign of life, such as null
                        _raise_failure(event)
                        repairer.repair(event)
                        yield event
            except OtherBody as error:
                other = error
        if other is not None or is_empty:
            event = self._convert_whole(parse_other_body(other or OtherBody(b""), self.address_setting))
            repairer.repair(event)
            yield event

    def _convert_whole(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a whole answer as the only event of the stream."""
        return convert_to_event(document)


class _ResponseStream(_JsonStream):
    event_type: Any
    answer_type: Any

    async def __aiter__(self) -> AsyncIterator[object]:
        has_begun = False
        async for event in super().__aiter__():
            assert isinstance(event, dict)
            kind = str(event.get("type"))
            has_begun = has_begun or kind.endswith(".delta") or kind == "response.output_item.added"
            if kind == "response.completed" and not has_begun and event["response"]["output"]:
                self._convert_whole(event["response"])  # a server that sends no pieces
            if kind.endswith(".delta"):
                yield SimpleNamespace(**event)
            else:
                yield self._parse(event, self.event_type)

    def _convert_whole(self, document: dict[str, Any]) -> dict[str, Any]:
        raise WholeResponse(self._parse(document, self.answer_type))

    def _parse(self, document: Any, kind: Any) -> Any:
        return self._client._process_response_data(data=document, cast_to=kind, response=self.response)


def _raise_failure(event: dict[str, Any]) -> None:
    """Raises `ReportedFailure` for the events of a failure; the library keeps only the text of their words, or nothing."""
    match event:
        case {"object": "error"}:  # of older versions of vLLM, in Chat Completions
            raise ReportedFailure(event)
        case {"type": "response.failed", **rest}:
            response = rest.get("response")
            raise ReportedFailure(response.get("error") if isinstance(response, dict) else None)
        case {"type": "error", **rest}:
            raise ReportedFailure({name: rest.get(name) for name in ("code", "message", "param")})


class _JoiningDecoder:
    """A decoder of streams that makes one event of texts that arrive together."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder

    async def aiter_bytes(self, parts: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        # https://html.spec.whatwg.org/multipage/server-sent-events.html
        async for whole in _cut_between_events(gather_ready(refuse_other_bodies(parts), has_end)):
            for event in _join_texts(self._parse_events(whole)):
                if isinstance(event, _JsonEvent) or event.data.strip():  # one without data is none, by the standard
                    yield event

    def _parse_events(self, whole: bytes) -> Iterator[Any]:
        *blocks, rest = whole.split(b"\n\n")
        for block in blocks:
            try:  # nearly all are one line, or two with the event's name
                name, _, line = block.removeprefix(EVENT_PREFIX).rpartition(b"\n")
                is_named = bool(name) and block.startswith(EVENT_PREFIX)
                if not line.startswith(DATA_PREFIX) or b"\n" in name or b"\r" in block or is_named != bool(name):
                    raise ValueError
                yield _JsonEvent(from_json(line[len(DATA_PREFIX) - 1 :]), name.decode() or None)
            except ValueError:
                yield from self._decoder.iter_bytes(iter([block + b"\n\n"]))
        if rest:
            yield from self._decoder.iter_bytes(iter([rest]))


def has_end(text: bytes) -> bool:
    """Return whether a line ends the stream. The pattern alone takes forty times as long for a text without the mark."""
    return DONE_MARK in text and DONE_EVENT.search(text) is not None


async def _cut_between_events(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the same bytes, cut between events. Raises `UnreadableBodyError` for an event or a stream without end."""
    rest, total = bytearray(), 0
    async for part in parts:
        looked = max(0, len(rest) - 3)  # earlier bytes were searched before
        rest += part
        total += len(part)
        end = max(at + len(mark) if (at := rest.rfind(mark, looked)) >= 0 else 0 for mark in EVENT_ENDS)
        if end:
            yield bytes(rest[:end])
            del rest[:end]
        if len(rest) > other_bodies.MAX_WHOLE_BYTES or total > other_bodies.MAX_STREAM_BYTES:
            raise UnreadableBodyError
    yield bytes(rest)


@dataclass(slots=True)
class _JsonEvent:
    """The part of a server-sent event that the client uses; its data is an object."""

    body: dict[str, Any]
    event: str | None = None
    data: str = ""

    def json(self) -> Any:
        return self.body


def _join_texts(events: Iterator[Any]) -> Iterator[Any]:
    """Yield the events; successive events with nothing but text for the same place become one."""
    texts: list[_TextPiece] = []
    try:
        for event in events:
            text = _find_text_piece(event.body) if isinstance(event, _JsonEvent) else None
            if texts and (text is None or text.where != texts[0].where):
                yield _merge_pieces(texts)
                texts = []
            if text is None:
                yield event
            else:
                texts.append(text)
    except UnicodeDecodeError:
        if texts:
            yield _merge_pieces(texts)  # the earlier texts first
        raise
    if texts:
        yield _merge_pieces(texts)


@dataclass(slots=True)
class _TextPiece:
    """The text of an event: its holder, its key there, and the place that it belongs to."""

    body: dict[str, Any]
    holder: dict[str, Any]
    key: str
    where: tuple[Any, ...]


def _find_text_piece(body: dict[str, Any]) -> _TextPiece | None:
    """Return the text of an event; None if it holds anything else."""
    match body:
        case {"type": str(kind), "delta": str()} if kind in _JOINED_EVENTS:
            part = body.get("summary_index") if "summary_index" in body else body.get("content_index")
            return _TextPiece(body, body, "delta", (kind, body.get("item_id"), body.get("output_index"), part))
        case {"choices": [{"delta": {} as delta, **about}]}:
            # Without any text it is none: an endless series of empty events must be noticed.
            said = [name for name, value in delta.items() if value and name != "role"]
            is_more = len(said) != 1 or about.get("finish_reason") or about.get("logprobs") or body.get("usage")
            if is_more:
                return None
            place = (said[0], body.get("id"), about.get("index"))
            if said[0] in _JOINED_FIELDS and isinstance(delta[said[0]], str):
                return _TextPiece(body, delta, said[0], place)
            if said[0] == "tool_calls":
                return _find_arguments(body, delta["tool_calls"], place)
    return None


def _find_arguments(body: dict[str, Any], calls: Any, place: tuple[Any, ...]) -> _TextPiece | None:
    """Return a piece of the arguments of one call; None for its beginning, which names it."""
    match calls:
        case [{"index": int(index), "function": {"arguments": str()} as function, **about}]:
            is_more = function.get("name") or set(function) - {"name", "arguments"}
            if not is_more and not about.get("id") and set(about) <= {"id", "type"}:
                return _TextPiece(body, function, "arguments", (*place, index))
    return None


def _merge_pieces(texts: list[_TextPiece]) -> _JsonEvent:
    first = texts[0]
    first.holder[first.key] = "".join(each.holder[each.key] for each in texts)
    return _JsonEvent(first.body)
