"""The stream of run events to the browser: a socket per page, with a snapshot first, then new frames at least 40 ms apart.

Each address also takes requests, for pages whose network blocks WebSockets (see `polled_socket`).
"""

import asyncio
import contextlib
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent.run.hub import SubscriberLagged
from checkpoints import StoreUnavailableError, TakesTooLongError, ThreadNotFoundError
from components.broadcasts import Frame, PageLaggedError, WaitingFrames
from components.people import name_for_owner, read_owner
from components.services import Services
from components.streams.list_changes import are_ends_told, follow_list_changes
from components.streams.polled_socket import PolledSocket, PolledSockets
from components.streams.thread_frames import DescribeTurn, describe_nothing, stream_frames

# The largest numbers of pages that read, of one conversation, of all conversations, and of one person where people are
# separated. A page reads once it has returned a receipt.
MAX_THREAD_PAGES = 20
MAX_PAGES = 200
MAX_PERSON_PAGES = 40
MAX_UNREAD_THREAD_PAGES = 10
MAX_UNREAD_PERSON_PAGES = 20
MAX_UNREAD_PAGES = 50

PageTask = asyncio.Task[Any]
# A page that no longer hears a beat opens its socket again: a network may drop a socket without notice.
BEAT_SECONDS = 15.0
# A page that has not read a frame by then is closed.
MAX_SEND_SECONDS = 10.0
# Pages that show no conversation yet have this key.
START_PAGES = ""
MAX_THREAD_ID_CHARS = 100
CLOSE_THREAD_GONE = 4404
CLOSE_TRY_AGAIN = 1013

CreateFrames = Callable[..., AsyncGenerator[Frame]]
Socket = WebSocket | PolledSocket

_log = logging.getLogger(__name__)


class OpenPages:
    """The tasks that send to pages. A page beyond a limit replaces the oldest page of its kind."""

    def __init__(self, *, separates_people: bool = False) -> None:
        unread, reading = (MAX_UNREAD_PERSON_PAGES, MAX_PERSON_PAGES) if separates_people else (None, None)
        self._unread_pages = _Places(MAX_UNREAD_THREAD_PAGES, MAX_UNREAD_PAGES, unread)
        self._reading_pages = _Places(MAX_THREAD_PAGES, MAX_PAGES, reading)
        self._replaced: set[PageTask] = set()

    @contextmanager
    def enter(self, thread_id: str, sending: PageTask) -> Iterator[None]:
        """Hold a place for a page. End the page it replaces, if there is one."""
        self._take_place(self._unread_pages, thread_id, sending)
        try:
            yield
        finally:
            self._unread_pages.leave(sending)
            self._reading_pages.leave(sending)
            self._replaced.discard(sending)

    def note_receipt(self, sending: PageTask) -> None:
        """Move a page to the places of reading pages. It may replace another page there."""
        if thread_id := self._unread_pages.leave(sending):
            self._take_place(self._reading_pages, thread_id, sending)

    def was_replaced(self, sending: PageTask) -> bool:
        return sending in self._replaced

    def _take_place(self, places: "_Places", thread_id: str, sending: PageTask) -> None:
        if replaced := places.enter(thread_id, sending):
            self._replaced.add(replaced)
            replaced.cancel()


class _Places:
    """A limited number of places, oldest first. A conversation, and a person, may have only a part of them."""

    def __init__(self, max_of_thread: int, max_of_all: int, max_of_person: int | None) -> None:
        self._max_of_thread, self._max_of_all = max_of_thread, max_of_all
        self._max_of_person = max_of_all if max_of_person is None else max_of_person
        self._threads: dict[PageTask, str] = {}

    def enter(self, thread_id: str, sending: PageTask) -> PageTask | None:
        """Give a task a place. Return the replaced task, or None."""
        same = [task for task, thread in self._threads.items() if thread == thread_id]
        person = read_owner(thread_id)
        of_person = [task for task, thread in self._threads.items() if read_owner(thread) == person]
        replaced = None
        if len(same) >= self._max_of_thread:
            replaced = same[0]
        elif len(of_person) >= self._max_of_person:
            replaced = of_person[0]
        elif len(self._threads) >= self._max_of_all:
            replaced = next(iter(self._threads))
        if replaced:
            del self._threads[replaced]
        self._threads[sending] = thread_id
        return replaced

    def leave(self, sending: PageTask) -> str | None:
        """Free the place of a task. Return its conversation, or None if it had no place."""
        return self._threads.pop(sending, None)


def add_route(server: FastAPI, services: Services, describe_turn: DescribeTurn = describe_nothing) -> None:
    create_frames = partial(stream_frames, services, describe_turn=describe_turn)
    pages = OpenPages(separates_people=services.store.database.separates_owners)
    polled = PolledSockets()

    @server.post("/api/threads/{thread_id:thread}/events")
    async def answer_poll(request: Request, thread_id: str, poll: str, seen: int | None = None) -> Response:
        """Open a socket over requests, or send its frames for the page."""
        serve = partial(_serve_page, create_frames=create_frames, pages=pages, thread_id=thread_id)
        serve = partial(serve, is_expected="expected" in request.query_params)
        return JSONResponse(await polled.answer(poll, seen, await _read_text(request), serve))

    @server.post("/api/events")
    async def answer_start_poll(request: Request, poll: str, seen: int | None = None) -> Response:
        """Do the same for a start page."""
        serve = partial(_serve_start_page, services=services, create_frames=create_frames, pages=pages)
        return JSONResponse(await polled.answer(poll, seen, await _read_text(request), serve))

    @server.websocket("/api/threads/{thread_id:thread}/events")
    async def serve_events(socket: WebSocket, thread_id: str) -> None:
        """Send the events of a conversation. Closing the page does not change the run.

        With `?expected`, the page has just sent its first message, so the conversation may not exist yet.
        """
        await socket.accept()
        await _serve_page(socket, create_frames, pages, thread_id, is_expected="expected" in socket.query_params)

    @server.websocket("/api/events")
    async def serve_expected_events(socket: WebSocket) -> None:
        """Send the events of the page's conversation once its first message begins it.

        Until then, tell the page of conversations whose access its person gains or loses.
        """
        await socket.accept()
        await _serve_start_page(socket, services, create_frames, pages)


async def _read_text(request: Request) -> str:
    return (await request.body()).decode(errors="replace")


async def _serve_start_page(socket: Socket, services: Services, create_frames: CreateFrames, pages: OpenPages) -> None:
    telling = asyncio.create_task(_tell_list_changes(socket, services))
    try:
        thread_id = await _wait_for_name(socket, pages)
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
    if thread_id:
        await _serve_page(socket, create_frames, pages, thread_id, is_expected=True)


async def _tell_list_changes(socket: Socket, services: Services) -> None:
    """Send the changes of a start page's list. Where people are not separated, the page asks for them itself."""
    if are_ends_told(services.store):
        return
    waiting = WaitingFrames()
    with follow_list_changes(services, waiting, START_PAGES), contextlib.suppress(PageLaggedError):
        while await _send_frame(socket, await waiting.take()):
            pass


async def _wait_for_name(socket: Socket, pages: OpenPages) -> str | None:
    """Return the page's conversation; None if the page closed, or was replaced."""
    naming = asyncio.create_task(_receive_name(socket))
    with pages.enter(name_for_owner(START_PAGES), naming):
        try:
            await asyncio.wait({naming})
        finally:
            naming.cancel()
        if pages.was_replaced(naming):
            await _close(socket, CLOSE_TRY_AGAIN)
    return None if naming.cancelled() else naming.result()


async def _receive_name(socket: Socket) -> str | None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        name = await socket.receive_text()
        return name if len(name) <= MAX_THREAD_ID_CHARS else None
    return None


async def _serve_page(
    socket: Socket, create_frames: CreateFrames, pages: OpenPages, thread_id: str, *, is_expected: bool = False
) -> None:
    receipt = secrets.token_hex(8)
    frames = create_frames(thread_id, is_expected=is_expected)
    sending = asyncio.create_task(_send_frames(socket, frames, receipt))
    closing = asyncio.create_task(_wait_for_close(socket, receipt, lambda: pages.note_receipt(sending)))
    beating = asyncio.create_task(_send_beats(socket))
    with pages.enter(name_for_owner(thread_id), sending):
        await asyncio.wait({sending, closing}, return_when=asyncio.FIRST_COMPLETED)
        for task in (sending, closing, beating):
            task.cancel()
        await asyncio.gather(sending, closing, beating, return_exceptions=True)
        if pages.was_replaced(sending):
            await _close(socket, CLOSE_TRY_AGAIN)
    if not sending.cancelled() and (error := sending.exception()) is not None:
        _log.error("a page of thread %s got no more events", thread_id, exc_info=error)


async def _send_frames(socket: Socket, stream: AsyncGenerator[Frame], receipt: str) -> None:
    """Send the frames. The first frame carries a receipt, and the page returns it as a sign of reading."""
    async with contextlib.aclosing(stream) as frames:
        try:
            async for frame in frames:
                receipts = {"receipt": receipt} if frame["kind"] == "hello" else {}
                if not await _send_frame(socket, {**frame, **receipts}):
                    return
        except (ThreadNotFoundError, TimeoutError):
            await _close(socket, CLOSE_THREAD_GONE)
        except (PageLaggedError, SubscriberLagged, StoreUnavailableError, TakesTooLongError):
            await _close(socket, CLOSE_TRY_AGAIN)


async def _send_beats(socket: Socket) -> None:
    is_open = True
    while is_open:
        await asyncio.sleep(BEAT_SECONDS)
        is_open = await _send_frame(socket, {"kind": "beat"})


async def _send_frame(socket: Socket, frame: Frame) -> bool:
    """Send a frame. Return whether the page is still open and reads."""
    try:
        async with asyncio.timeout(MAX_SEND_SECONDS):
            await socket.send_text(json.dumps(frame))
    except (WebSocketDisconnect, RuntimeError, TimeoutError):
        return False
    return True


async def _close(socket: Socket, code: int) -> None:
    # The browser may have disconnected as well.
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
        async with asyncio.timeout(MAX_SEND_SECONDS):
            await socket.close(code)


async def _wait_for_close(socket: Socket, receipt: str, note_receipt: Callable[[], None]) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            if await socket.receive_text() == receipt:
                note_receipt()
