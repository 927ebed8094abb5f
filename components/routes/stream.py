"""The stream of run events to the browser: one WebSocket per page, one snapshot, then the news every 40 ms or more."""

import asyncio
import contextlib
import json
import logging
import secrets
from collections.abc import AsyncGenerator, Callable
from functools import partial

from fastapi import FastAPI
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent.run.hub import SubscriberLagged
from checkpoints import StoreUnavailableError, TakesTooLongError, ThreadNotFoundError
from components.broadcasts import Frame, PageLaggedError, WaitingFrames
from components.people import name_for_owner
from components.routes.open_pages import OpenPages
from components.services import Services
from components.streams.list_changes import are_ends_told, follow_list_changes
from components.streams.thread_frames import DescribeTurn, describe_nothing, stream_frames

MAX_SEND_SECONDS = 10.0  # until a page has read what is sent; one that does not read is closed
START_PAGES = ""  # the place of pages that show no conversation yet
MAX_THREAD_ID_CHARS = 100
CLOSE_THREAD_GONE = 4404
CLOSE_TRY_AGAIN = 1013

CreateFrames = Callable[..., AsyncGenerator[Frame]]

_log = logging.getLogger(__name__)


def add_route(server: FastAPI, services: Services, describe_turn: DescribeTurn = describe_nothing) -> None:
    create_frames = partial(stream_frames, services, describe_turn=describe_turn)
    pages = OpenPages(separates_people=services.store.database.separates_owners)

    @server.websocket("/api/threads/{thread_id:path}/events")
    async def serve_events(socket: WebSocket, thread_id: str) -> None:
        """Send the events of a conversation, as the guard allows. Closing the page changes nothing in the run.

        With `?expected`, the page has sent its first message a moment ago: the conversation may not be there yet.
        """
        await socket.accept()
        await _serve_page(socket, create_frames, pages, thread_id, is_expected="expected" in socket.query_params)

    @server.websocket("/api/events")
    async def serve_expected_events(socket: WebSocket) -> None:
        """Send the events of the conversation that the page names when its first message begins it.

        Before, the page learns of conversations that its person is let into, or out of.
        """
        await socket.accept()
        await _serve_start_page(socket, services, create_frames, pages)


async def _serve_start_page(socket: WebSocket, services: Services, create_frames: CreateFrames, pages: OpenPages) -> None:
    telling = asyncio.create_task(_tell_list_changes(socket, services))
    try:
        thread_id = await _wait_for_name(socket, pages)
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)
    if thread_id:
        await _serve_page(socket, create_frames, pages, thread_id, is_expected=True)


async def _tell_list_changes(socket: WebSocket, services: Services) -> None:
    """Send what changes the list of a start page. Where people are not separated, it asks."""
    if are_ends_told(services.store):
        return
    waiting = WaitingFrames()
    with follow_list_changes(services, waiting, START_PAGES), contextlib.suppress(PageLaggedError):
        while await _send_frame(socket, await waiting.take()):
            pass


async def _wait_for_name(socket: WebSocket, pages: OpenPages) -> str | None:
    """Return the conversation that the page names; None if it closed, or has lost its place."""
    naming = asyncio.create_task(_receive_name(socket))
    with pages.enter(name_for_owner(START_PAGES), naming):
        try:
            await asyncio.wait({naming})
        finally:
            naming.cancel()
        if pages.was_replaced(naming):
            await _close(socket, CLOSE_TRY_AGAIN)
    return None if naming.cancelled() else naming.result()


async def _receive_name(socket: WebSocket) -> str | None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        name = await socket.receive_text()
        return name if len(name) <= MAX_THREAD_ID_CHARS else None
    return None


async def _serve_page(
    socket: WebSocket, create_frames: CreateFrames, pages: OpenPages, thread_id: str, *, is_expected: bool = False
) -> None:
    receipt = secrets.token_hex(8)
    frames = create_frames(thread_id, is_expected=is_expected)
    sending = asyncio.create_task(_send_frames(socket, frames, receipt))
    closing = asyncio.create_task(_wait_for_close(socket, receipt, lambda: pages.note_receipt(sending)))
    with pages.enter(name_for_owner(thread_id), sending):
        await asyncio.wait({sending, closing}, return_when=asyncio.FIRST_COMPLETED)
        for task in (sending, closing):
            task.cancel()
        await asyncio.gather(sending, closing, return_exceptions=True)
        if pages.was_replaced(sending):
            await _close(socket, CLOSE_TRY_AGAIN)
    if not sending.cancelled() and (error := sending.exception()) is not None:
        _log.error("a page of thread %s got no more events", thread_id, exc_info=error)


async def _send_frames(socket: WebSocket, stream: AsyncGenerator[Frame], receipt: str) -> None:
    """Send the frames. The first one carries a receipt, which a page that reads sends back."""
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


async def _send_frame(socket: WebSocket, frame: Frame) -> bool:
    """Send a frame, and return whether the page is still there and reads."""
    try:
        async with asyncio.timeout(MAX_SEND_SECONDS):
            await socket.send_text(json.dumps(frame))
    except (WebSocketDisconnect, RuntimeError, TimeoutError):
        return False
    return True


async def _close(socket: WebSocket, code: int) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):  # the browser may have disconnected as well
        async with asyncio.timeout(MAX_SEND_SECONDS):
            await socket.close(code)


async def _wait_for_close(socket: WebSocket, receipt: str, note_receipt: Callable[[], None]) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            if await socket.receive_text() == receipt:
                note_receipt()
