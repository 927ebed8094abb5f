"""The client's streams without its classes.

The client makes each token an object of six classes, which the library turns back into the JSON that it began as: half of
the server's work for an answer, and more than that for Responses.
"""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from openai import AsyncOpenAI, AsyncStream


class Completions:
    """What the library asks of the client's chat completions: streams come as the JSON that was sent."""

    def __init__(self, client: AsyncOpenAI) -> None:
        self._client = client
        self.with_raw_response = client.chat.completions.with_raw_response  # for answers that come whole

    async def create(self, **payload: Any) -> AsyncStream[object]:
        stream = AsyncStream[object]
        return await self._client.post("/chat/completions", body=payload, cast_to=object, stream=True, stream_cls=stream)


class Responses:
    """What the library asks of the client's responses: it needs objects, but hardly anything of those that are many."""

    def __init__(self, client: AsyncOpenAI) -> None:
        # Half a second, which those who use no Responses need not pay; and not while a first answer is waited for.
        from openai.types.responses import ResponseStreamEvent  # noqa: PLC0415

        self._client = client
        self._event = ResponseStreamEvent
        self.with_raw_response = client.responses.with_raw_response

    async def create(self, **payload: Any) -> "_Events":
        events: _Events = await self._client.post(
            "/responses", body=payload, cast_to=object, stream=True, stream_cls=_Events
        )
        events.kind = self._event
        return events


class _Events(AsyncStream[object]):
    kind: Any

    async def __aiter__(self) -> AsyncIterator[object]:
        async for event in super().__aiter__():
            if isinstance(event, dict) and str(event.get("type")).endswith(".delta"):
                yield SimpleNamespace(**event)
            else:
                yield self._client._process_response_data(data=event, cast_to=self.kind, response=self.response)
