"""The floor: a bare page with a field, a WebSocket, and an answer that is written into it as it comes."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

PAGE = Path(__file__).with_name("bare_page.html")
KEY = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
client = httpx.AsyncClient(base_url=os.environ["OPENAI_BASE_URL"], headers=KEY, timeout=60)


async def show(request: Request) -> Response:
    return FileResponse(PAGE)


async def chat(socket: WebSocket) -> None:
    """Answer each message; the conversation lasts as long as its socket."""
    await socket.accept()
    messages: list[dict[str, str]] = []
    async for question in socket.iter_text():
        messages.append({"role": "user", "content": question})
        answer = ""
        async for text in ask(messages):
            answer += text
            await socket.send_text(text)
        messages.append({"role": "assistant", "content": answer})


async def ask(messages: list[dict[str, str]]) -> AsyncIterator[str]:
    """Yield the texts of an answer, those that arrived together in one piece."""
    body = {"model": os.environ["MODEL"], "messages": messages, "stream": True}
    async with client.stream("POST", "/chat/completions", json=body) as response:
        rest = b""
        async for received in response.aiter_bytes():
            *lines, rest = (rest + received).split(b"\n")
            yield "".join(read_text(line) for line in lines)


def read_text(line: bytes) -> str:
    """Return the text in a line of the stream, or nothing."""
    if not line.startswith(b"data: {"):
        return ""
    return "".join(choice["delta"].get("content") or "" for choice in json.loads(line[6:])["choices"])


app = Starlette(routes=[Route("/", show), WebSocketRoute("/chat", chat)])

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ["PORT"]), log_level="warning", ws_per_message_deflate=False)
