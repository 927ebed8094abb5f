"""A provider that sends any bytes, in pieces, as a server with a defect would. It runs in the loop of the test."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
DONE = b"data: [DONE]\n\n"
Pieces = Sequence[bytes | float]  # a number: seconds until the next piece; infinite: no end


class RawProvider:
    """Answers each request with the next pieces, and then with "Well."."""

    def __init__(self, *answers: Pieces) -> None:
        self.base_url = ""
        self.requests: list[Any] = []
        self._answers = list(answers)

    @asynccontextmanager
    async def serve(self) -> AsyncIterator["RawProvider"]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        try:
            yield self
        finally:
            server.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            self.requests.append(json.loads(await reader.readexactly(int(length.partition(b":")[2]))))
            pieces = self._answers.pop(0) if self._answers else [HEAD, say("Well."), finish(), DONE]
            for piece in pieces:
                if isinstance(piece, bytes):
                    writer.write(piece)
                    await writer.drain()
                elif piece == float("inf"):
                    await reader.read()  # until the client leaves
                else:
                    await asyncio.sleep(piece)
        except ConnectionError:
            pass
        finally:
            writer.close()


def event(document: Any) -> bytes:
    return f"data: {json.dumps(document)}\n\n".encode()


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": "x", "model": "m", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def say(text: str) -> bytes:
    return event(chunk({"content": text}))


def finish(reason: str = "stop") -> bytes:
    return event(chunk(finish=reason))
