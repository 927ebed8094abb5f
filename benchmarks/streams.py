"""Many conversations that stream at once, through the real server and real WebSockets.

It measures the delay of their tokens, the server's processor time, and lost tokens of pages that reload in the middle. The
model is a separate process that writes the time into each token. The pages are another process, at low priority, so that
their own work does not delay the server.
"""

import asyncio
import contextlib
import json
import multiprocessing
import os
import re
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from benchmarks.measuring import Bar, Report, Samples, Section
from benchmarks.server import WaymarkServer
from benchmarks.split_server import SplitServer, split_server
from tests.faults.page import PageClient

RATE = 20  # tokens a second in each conversation
PARAGRAPH = 40  # tokens
COUNTS = (25, 50)  # conversations
BAR_DELAY = 500.0  # ms, of as many as the first
SETTLING = 1.0  # s after the last question, before the processor's time is measured
WANTED = re.compile(r"tokens: (\d+)")
CALLED = re.compile(r"call: (\w+) (\{.*?\})")
TOKEN = re.compile(r"\d{9,}")  # microseconds on the clock that all processes of a machine share
SPAWN = multiprocessing.get_context("spawn")


@dataclass
class Page:
    """One watching page: its tokens, the delay of each, and the number of reloads."""

    address: str
    shown: set[int] = field(default_factory=set)
    delays: list[float] = field(default_factory=list)  # ms
    arrivals: list[float] = field(default_factory=list)  # s, of the frames that showed something new
    loads: int = 0

    def show(self, html: str, *, is_new: bool) -> None:
        now = time.perf_counter()
        if is_new and html:
            self.arrivals.append(now)
        for token in {int(each) for each in TOKEN.findall(html)} - self.shown:
            self.shown.add(token)
            if is_new:
                self.delays.append(now * 1000 - token / 1000)


@dataclass(frozen=True)
class Watched:
    """The measurements of all pages for one turn; `processor` is the server's seconds for 1,000 tokens."""

    pages: list[Page]
    tokens: int
    processor: float

    @property
    def delays(self) -> Samples:
        return Samples(tuple(delay for page in self.pages for delay in page.delays))

    @property
    def lost(self) -> int:
        return sum(self.tokens - len(page.shown) for page in self.pages)


class Process:
    """Run a function in a separate process with a pipe to it, until the block ends."""

    def __init__(self, work: Callable[..., None], *arguments: Any) -> None:
        self.pipe, theirs = SPAWN.Pipe()
        self._process: BaseProcess = SPAWN.Process(target=work, args=(theirs, *arguments), daemon=True)
        self._process.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.join(10)
        self.pipe.close()


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the bars and the table of the streams to the report."""
    tokens = RATE * (6 if quick else 20)
    section = Section(
        f"Conversations that stream at once, {RATE} tokens a second each",
        ["conversations", "p50 (ms)", "p99 (ms)", "worst (ms)", "server's CPU (s for 1,000 tokens)", "tokens lost"],
    )
    with Process(serve_model) as model:
        provider = {"MODEL": "openai:streams", "OPENAI_BASE_URL": model.pipe.recv(), "OPENAI_API_KEY": "sk-benchmark"}
        with WaymarkServer(folder / "streams", **provider) as server:
            browser = PageClient(server.link)
            for count in COUNTS:
                watched = _watch(server, browser, count, tokens, reload=False)
                if count == COUNTS[0]:
                    what = f"{count} conversations at {RATE} tokens/s: a token's delay, p99"
                    report.bars.append(Bar(what, watched.delays.percentile(99), BAR_DELAY, "ms"))
                section.rows.append(_row(str(count), watched))
                report.note_load()
            first = COUNTS[0]
            again = _watch(server, browser, first, tokens, reload=True)
            browser.close()
        section.rows.append(_row(f"{first}, all loaded again in mid-stream", again))
        with split_server(folder / "split", **provider) as split:
            _measure_split(report, section, split, tokens)
    report.bars.append(Bar(f"tokens lost by {first} pages that are loaded again in mid-stream", again.lost, 0, "tokens"))
    section.remarks = [
        "From the moment in which the model writes a token to its arrival in the page's socket. *Page and worker*: a "
        "process that serves the page and one that writes the answers; their CPU includes PostgreSQL's."
    ]
    report.sections.append(section)


def _measure_split(report: Report, section: Section, server: SplitServer, tokens: int) -> None:
    """Add the conversations of a page and a worker on PostgreSQL."""
    browser, where = PageClient(server.link), "page and worker on PostgreSQL"
    for count in COUNTS:
        watched = _watch(server, browser, count, tokens, reload=False)
        section.rows.append(_row(f"{count}, {where}", watched))
        report.note_load()
    browser.close()


def _row(title: str, watched: Watched) -> tuple[str, ...]:
    delays = watched.delays
    late = (f"{delays.median:.0f}", f"{delays.percentile(99):.0f}", f"{max(delays.values):.0f}")
    return (title, *late, f"{watched.processor:.2f}", str(watched.lost))


def _watch(server: WaymarkServer | SplitServer, browser: PageClient, count: int, tokens: int, *, reload: bool) -> Watched:
    """Run one turn in so many new conversations, each with a watching page."""
    tabs = [open_conversation(browser) for _ in range(count)]
    address = server.address.replace("http", "ws")
    pages = [f"{address}/api/threads/{tab.thread}/events" for tab in tabs]
    with Process(serve_pages, browser.socket_options, pages, tokens, reload) as watching:
        assert watching.pipe.recv() == "ready"
        for tab in tabs:
            assert tab.send(f"tokens: {tokens}")["ok"]
        processor = _processor(server, count, tokens)
        seen: list[Page] = watching.pipe.recv()
    for tab in tabs:
        assert len(TOKEN.findall(tab.rest()["messages"][-1]["text"])) == tokens, "the stored answer is not whole"
        tab.close()
    return Watched(seen, tokens, processor)


def open_conversation(browser: PageClient) -> PageClient:
    tab = browser.tab()
    tab.thread = None
    tab.say("tokens: 1")
    return tab


def _processor(server: WaymarkServer | SplitServer, count: int, tokens: int) -> float:
    """Return the server's seconds for 1,000 tokens while all conversations stream and nothing else happens."""
    time.sleep(SETTLING)
    seconds, before = tokens / RATE / 2, server.processor_seconds()
    time.sleep(seconds)
    return (server.processor_seconds() - before) / (count * RATE * seconds) * 1000


def serve_pages(pipe: Connection, options: dict[str, Any], addresses: Sequence[str], tokens: int, reload: bool) -> None:
    os.nice(10)
    pages = [Page(address) for address in addresses]
    asyncio.run(_follow_all(pipe, pages, options, tokens // 2 if reload else None))
    pipe.send(pages)


async def _follow_all(pipe: Connection, pages: list[Page], options: dict[str, Any], reload_at: int | None) -> None:
    opened = asyncio.Barrier(len(pages) + 1)
    following = [asyncio.create_task(_follow(page, options, reload_at, opened)) for page in pages]
    await opened.wait()
    pipe.send("ready")
    await asyncio.gather(*following)


async def _follow(page: Page, options: dict[str, Any], reload_at: int | None, opened: asyncio.Barrier) -> None:
    """Watch an answer until its end. A page that reloads forgets its earlier tokens."""
    ended = False
    while not ended:
        if page.loads:
            page.shown.clear()
        async with connect(page.address, **options) as watched:
            page.loads += 1
            if page.loads == 1:
                await opened.wait()
            with contextlib.suppress(ConnectionClosedError):  # another page took its place: it opens again
                async for message in watched:
                    frame = json.loads(message)
                    if "receipt" in frame:  # sent back as a page does, which then keeps its place
                        await watched.send(frame["receipt"])
                    page.show(_html(frame), is_new=frame["kind"] != "hello")
                    ended = frame["kind"] == "end" or (page.loads > 1 and frame["kind"] == "hello" and not frame["run"])
                    if ended or (page.loads == 1 and reload_at is not None and len(page.shown) >= reload_at):
                        break


def _html(frame: dict[str, Any]) -> str:
    """Return the text that a frame makes the page show, without the user's own message."""
    match frame["kind"]:
        case "hello":
            run = frame["run"] or {}
            return str(run.get("stable", "")) + str(run.get("tail", ""))
        case "delta":
            return str(frame["stable"]) + str(frame["tail"])
        case "message":
            return str(frame["message"]["html"])
    return ""


def serve_model(pipe: Connection) -> None:
    """Serve Chat Completions that stream as many tokens as the last message requests, or call the tool that it names.

    The address goes through the pipe.
    """

    async def complete(request: Request) -> StreamingResponse:
        asked = json.dumps((await request.json())["messages"][-1])
        if called := CALLED.search(asked):
            return StreamingResponse(_call(called[1], called[2].replace('\\"', '"')), media_type="text/event-stream")
        found = WANTED.search(asked)
        return StreamingResponse(_tokens(int(found[1]) if found else 1), media_type="text/event-stream")

    listener = socket.create_server(("127.0.0.1", 0))
    pipe.send(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([listener])


async def _tokens(count: int) -> AsyncIterator[bytes]:
    start = time.perf_counter()
    for number in range(count):
        await asyncio.sleep(start + number / RATE - time.perf_counter())
        space = "\n\n" if number % PARAGRAPH == PARAGRAPH - 1 else " "
        yield _chunk({"content": f"{time.perf_counter() * 1_000_000:.0f}{space}"})
    yield _chunk({}, "stop")
    yield b"data: [DONE]\n\n"


async def _call(name: str, arguments: str) -> AsyncIterator[bytes]:
    function = {"name": name, "arguments": arguments}
    yield _chunk({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})
    yield _chunk({}, "tool_calls")
    yield b"data: [DONE]\n\n"


def _chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "streams"}
    return b"data: " + json.dumps(head | {"choices": [choice]}, separators=(",", ":")).encode() + b"\n\n"
