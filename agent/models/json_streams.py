"""The client's streams as the server's JSON, repaired before the library reads it.

The client's own objects lose unknown fields, and fail if a compatible server leaves a field out.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import httpx2
from openai import APIConnectionError, APITimeoutError, AsyncAzureOpenAI, AsyncOpenAI, AsyncStream

from agent.models.event_repairs import EventRepairer
from agent.models.other_bodies import (
    EVENT_STREAM,
    MAX_EXCERPT_BYTES,
    OtherBody,
    limit_stream,
    parse_other_body,
    refuse_other_bodies,
)
from agent.models.refusal_body import ReportedFailure
from agent.models.request_bodies import write_body

DONE_MARK = "[DONE]"
# How long to wait for the end of a response after its last event. Only finished connections are used again.
MAX_ENDING_SECONDS = 1.0


class JsonCompletions:
    """The part of the client's Chat Completions that the library uses. Its streams contain the server's JSON.

    `address_setting` names the setting of the server's address, for errors; None for the provider's own address.
    """

    def __init__(self, client: AsyncOpenAI, address_setting: str | None = None) -> None:
        self._client = client
        self._address_setting = address_setting
        # The library uses it for answers without streaming.
        self.with_raw_response = client.chat.completions.with_raw_response

    async def create(self, **payload: Any) -> AsyncStream[object]:
        body = _merge_extra_body(payload)
        # Azure's client reads the deployment of its address from the body.
        is_read = isinstance(self._client, AsyncAzureOpenAI)
        given: dict[str, Any] = {"body": body} if is_read else {"content": write_body(body)}
        events: _JsonStream = await self._client.post(
            "/chat/completions", **given, cast_to=object, stream=True, stream_cls=_JsonStream
        )
        events.address_setting = self._address_setting
        return events


class JsonResponses:
    """The part of the client's Responses that the library uses. It needs objects, but few fields of the frequent events."""

    def __init__(self, client: AsyncOpenAI, address_setting: str | None = None) -> None:
        # The import takes half a second, so only models with Responses do it, and not during the first answer.
        from openai.types.responses import Response, ResponseStreamEvent  # noqa: PLC0415

        self._client = client
        self._address_setting = address_setting
        self._event_type, self._answer_type = ResponseStreamEvent, Response
        self.with_raw_response = client.responses.with_raw_response

    async def create(self, **payload: Any) -> "_ResponseStream":
        body = write_body(_merge_extra_body(payload))
        events: _ResponseStream = await self._client.post(
            "/responses", content=body, cast_to=object, stream=True, stream_cls=_ResponseStream
        )
        events.address_setting = self._address_setting
        events.event_type, events.answer_type = self._event_type, self._answer_type
        return events


def _merge_extra_body(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a request, with the extra fields beside the others."""
    body = dict(payload)
    return body | (body.pop("extra_body", None) or {})


class WholeResponse(Exception):
    """A Responses server has sent its whole answer instead of a stream. `response` is the client's object."""

    def __init__(self, response: Any) -> None:
        super().__init__("a whole response")
        self.response = response


class _JsonStream(AsyncStream[object]):
    address_setting: str | None
    # The beginning of the body, for Details where it holds no event.
    beginning = b""

    async def __aiter__(self) -> AsyncIterator[object]:
        repairer, other = EventRepairer(), None
        is_empty = EVENT_STREAM not in self.response.headers.get("content-type", "")
        try:
            async for event in self._read_events():
                is_empty = False
                # Other events, such as null, only keep the connection alive.
                if isinstance(event, dict):
                    if failure := _find_failure(event):
                        raise failure
                    repairer.repair(event)
                    yield event
        except OtherBody as error:
            other = error
        if other is not None or is_empty:
            event = self._convert_whole(parse_other_body(other or OtherBody(self.beginning), self.address_setting))
            repairer.repair(event)
            yield event

    async def _read_events(self) -> AsyncIterator[Any]:
        """Yield the JSON of the events up to the end mark."""
        events = self._decoder.aiter_bytes(limit_stream(refuse_other_bodies(self._read_body())))
        async for event in events:
            if event.data.startswith(DONE_MARK):
                with suppress(Exception):
                    async with asyncio.timeout(MAX_ENDING_SECONDS):
                        async for _ in events:
                            pass
                return
            if event.event == "error":
                raise _read_failure(event.data)
            # By the standard, an event without data is not an event.
            if event.data.strip():
                yield event.json()

    async def _read_body(self) -> AsyncIterator[bytes]:
        """Yield the body. Raises the client's errors for those of its HTTP library, as its own streams do."""
        request = self.response.request
        try:
            async for part in self.response.aiter_bytes():
                if len(self.beginning) < MAX_EXCERPT_BYTES:
                    self.beginning += part
                yield part
        except httpx2.TimeoutException as error:
            raise APITimeoutError(request=request) from error
        except httpx2.RequestError as error:
            raise APIConnectionError(request=request) from error

    def _convert_whole(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return a whole answer as the only event of the stream: its messages are read as deltas."""
        return document


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
                # The server sends no pieces.
                self._convert_whole(event["response"])
            if kind.endswith(".delta"):
                yield SimpleNamespace(**event)
            else:
                yield self._parse(event, self.event_type)

    def _convert_whole(self, document: dict[str, Any]) -> dict[str, Any]:
        raise WholeResponse(self._parse(document, self.answer_type))

    def _parse(self, document: Any, kind: Any) -> Any:
        return self._client._process_response_data(data=document, cast_to=kind, response=self.response)


def _find_failure(event: Any) -> ReportedFailure | None:
    """Return the failure that an event reports. The library keeps only the text of its words, or nothing."""
    match event:
        case {"error": reported} if reported:
            return ReportedFailure(reported)
        # Older versions of vLLM send this in Chat Completions.
        case {"object": "error"}:
            return ReportedFailure(event)
        case {"type": "response.failed", **rest}:
            response = rest.get("response")
            return ReportedFailure(response.get("error") if isinstance(response, dict) else None)
        case {"type": "error", **rest}:
            return ReportedFailure({name: rest.get(name) for name in ("code", "message", "param")})
    return None


def _read_failure(data: str) -> ReportedFailure:
    """Return the failure of an event that is named an error, whatever its data."""
    try:
        found = json.loads(data)
    except ValueError:
        found = None
    body = found if isinstance(found, dict) else {"message": data}
    return _find_failure(body) or ReportedFailure(body)
