"""The stream of run events to the browser: one WebSocket per page, one snapshot, then the news every 40 ms or more."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator
from itertools import groupby
from typing import Any

from fastapi import FastAPI
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent.events import (
    Event,
    HeadMoved,
    MessageAdded,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    TextDelta,
    TextWithdrawn,
    WorkEnded,
)
from agent.run.hub import LiveRun, SubscriberLagged, Subscription
from agent.subagents.delegation import load_last_turn
from checkpoints import MAIN, RunState, StoreUnavailableError, TakesTooLongError, ThreadNotFoundError
from components.routes.open_pages import OpenPages
from components.services import Services
from components.views import fork_attempts, message_view
from components.views.live_text import StreamingMarkdown

MIN_FRAME_SECONDS = 0.04
FRAME_SECONDS_PER_RUN = 0.005
MAX_FRAME_SECONDS = 0.25
FRAME_SECONDS_OF_LOOK_SECONDS = 10  # an expensive text is formatted less often
MAX_PAUSE_SECONDS = 2.0
MAX_EXPECTED_SECONDS = 10.0  # until an expected conversation begins
MAX_SEND_SECONDS = 10.0  # until a page has read what is sent; one that does not read is closed
CLOSE_THREAD_GONE = 4404
CLOSE_TRY_AGAIN = 1013

Frame = dict[str, Any]
_log = logging.getLogger(__name__)


def add_route(server: FastAPI, services: Services) -> None:
    pages = OpenPages()

    @server.websocket("/api/threads/{thread_id}/events")
    async def serve_events(socket: WebSocket, thread_id: str) -> None:
        """Send the events of a conversation, as the guard allows. Closing the page changes nothing in the run.

        With `?expected`, the page has sent its first message a moment ago: the conversation may not be there yet.
        """
        await socket.accept()
        is_expected = "expected" in socket.query_params
        try:
            if not is_expected:
                await services.read_snapshot(services.store.get_thread, thread_id)
        except ThreadNotFoundError:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the browser may have disconnected as well
                await socket.close(CLOSE_THREAD_GONE)
            return
        except (StoreUnavailableError, TakesTooLongError):
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await socket.close(CLOSE_TRY_AGAIN)
            return
        sending = asyncio.create_task(_send_frames(socket, services, thread_id, is_expected))
        closing = asyncio.create_task(_wait_for_close(socket))
        with pages.enter(thread_id, sending):
            await asyncio.wait({sending, closing}, return_when=asyncio.FIRST_COMPLETED)
            for task in (sending, closing):
                task.cancel()
            await asyncio.gather(sending, closing, return_exceptions=True)
            if pages.was_replaced(sending):
                with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
                    async with asyncio.timeout(MAX_SEND_SECONDS):
                        await socket.close(CLOSE_TRY_AGAIN)
        if not sending.cancelled() and (error := sending.exception()) is not None:
            _log.error("a page of thread %s got no more events", thread_id, exc_info=error)


async def _send_frames(socket: WebSocket, services: Services, thread_id: str, is_expected: bool) -> None:
    async with contextlib.aclosing(stream_frames(services, thread_id, is_expected=is_expected)) as frames:
        try:
            async for frame in frames:
                try:
                    async with asyncio.timeout(MAX_SEND_SECONDS):
                        await socket.send_text(json.dumps(frame))
                except (WebSocketDisconnect, RuntimeError, TimeoutError):  # the browser disconnected, or does not read
                    return
        except (ThreadNotFoundError, TimeoutError):
            await socket.close(CLOSE_THREAD_GONE)
        except (SubscriberLagged, StoreUnavailableError, TakesTooLongError):
            await socket.close(CLOSE_TRY_AGAIN)


async def _wait_for_close(socket: WebSocket) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        while True:
            await socket.receive_text()


async def stream_frames(services: Services, thread_id: str, *, is_expected: bool = False) -> AsyncGenerator[Frame]:
    """Yield the frames of one page, without end. Raises `ThreadNotFoundError`; for an expected conversation, `TimeoutError`
    if it does not begin.
    """
    async with services.hub.subscribe(thread_id) as following:
        text = StreamingMarkdown(services.renderer.look)
        if is_expected and following.live_run is not None:  # the page knows no message yet
            yield await _repeat_start(services, thread_id, following.live_run)
        hello = await _build_hello(services, thread_id, following, text, is_expected=is_expected)
        yield hello
        wait_seconds = None if hello["version"] else MAX_EXPECTED_SECONDS
        while True:
            async with asyncio.timeout(wait_seconds):
                events = await following.receive()
            wait_seconds = None
            for batch in _join_deltas(events):
                if isinstance(batch, TextDelta):
                    text.feed(batch.text)
                    stable, tail = await text.take()
                    yield {"kind": "delta", "stable": stable, "tail": tail}
                elif isinstance(batch, ReasoningDelta):
                    yield {"kind": "reasoning", "text": batch.text}
                else:
                    if isinstance(batch, RunStarted | MessageAdded | TextWithdrawn):
                        text = StreamingMarkdown(services.renderer.look)
                    if (frame := await _build_frame(services, thread_id, batch)) is not None:
                        yield frame
            if any(
                isinstance(event, TextDelta | ReasoningDelta) for event in events
            ):  # only text comes in a flood; its first need not wait
                await asyncio.sleep(_pause_seconds(services.hub.active_run_count, text.cost_seconds))


def _pause_seconds(runs: int, look_seconds: float) -> float:
    """Seconds between two frames of text. Each costs the same, however much is new, and many runs share the processor."""
    pause = min(max(MIN_FRAME_SECONDS, runs * FRAME_SECONDS_PER_RUN), MAX_FRAME_SECONDS)
    return max(pause, min(look_seconds * FRAME_SECONDS_OF_LOOK_SECONDS, MAX_PAUSE_SECONDS))


async def _repeat_start(services: Services, thread_id: str, run: LiveRun) -> Frame:
    """Build the frame that began a run, with the user's message."""
    question, *_ = await services.read_snapshot(load_last_turn, services.store, thread_id)
    version = (await services.read_snapshot(services.store.get_thread, thread_id)).version
    return await _build_start(services, RunStarted(run.run_id, version, question))


async def _build_hello(
    services: Services, thread_id: str, subscription: Subscription, text: StreamingMarkdown, *, is_expected: bool
) -> Frame:
    """Build the first frame. An expected conversation that has not begun has the version 0."""
    try:
        version = (await services.read_snapshot(services.store.get_thread, thread_id)).version
    except ThreadNotFoundError:
        if not is_expected:
            raise
        version = 0
    run: Frame | None = None
    if subscription.live_run is not None:
        text.feed(subscription.live_run.text)
        stable, tail = await text.take()
        reasoning = subscription.live_run.reasoning
        run = {"id": subscription.live_run.run_id, "stable": stable, "tail": tail, "reasoning": reasoning}
        if (ended := subscription.live_run.work_ended) is not None:
            run["rest"] = _build_plain_frame(ended)
    return {"kind": "hello", "version": version, "run": run}


def _join_deltas(events: list[Event]) -> list[Event]:
    """Return the events in order, with consecutive texts of one kind joined."""
    batches: list[Event] = []
    for kind, group in groupby(events, type):
        if kind in (TextDelta, ReasoningDelta):
            joined = "".join(event.text for event in group if isinstance(event, TextDelta | ReasoningDelta))
            batches.append(TextDelta(joined) if kind is TextDelta else ReasoningDelta(joined))
        else:
            batches += group
    return batches


async def _build_frame(services: Services, thread_id: str, event: Event) -> Frame | None:
    match event:
        case RunStarted():
            return await _build_start(services, event)
        case MessageAdded():
            return await _build_message(services, thread_id, event)
        case TextWithdrawn():
            return await _build_restart(services, thread_id, event)
    return _build_plain_frame(event)


def _build_plain_frame(event: Event) -> Frame | None:
    """Build the frame of an event without a message; None for an event that the page does not need."""
    match event:
        case WorkEnded(run_id, state, error):
            return {"kind": "rest", "run": run_id, "state": state, "error": error}
        case RunFinished(_, state, version, error, details):
            return {"kind": "end", "version": version, "state": state, "error": error, "details": details}
        case HeadMoved(version):
            return {"kind": "head", "version": version}
    return None


async def _build_message(services: Services, thread_id: str, event: MessageAdded) -> Frame | None:
    added = await services.read_snapshot(_find_message_view, services, thread_id, event.message.id)
    if added is None:
        return None
    # Where the agent went back, the message is not at the end.
    place = {"after": event.message.parent_id} if added["id"] == event.message.id else {}
    return {"kind": "message", "version": event.version, "message": added, **place}


async def _build_restart(services: Services, thread_id: str, event: TextWithdrawn) -> Frame | None:
    """Build the frame after which the page starts over: with all of the reasoning, and without text."""
    run = services.hub.find_live_run(thread_id)
    if run is None:
        return None
    version = (await services.read_snapshot(services.store.get_thread, thread_id)).version
    live = {"id": run.run_id, "stable": "", "tail": "", "reasoning": event.reasoning}
    return {"kind": "hello", "version": version, "run": live}


async def _build_start(services: Services, event: RunStarted) -> Frame:
    message = event.message
    extras = message_view.MessageExtras(run_state=RunState.RUNNING, to_html=services.renderer.page())
    shown = await services.run_blocking(message_view.describe_messages, [message], extras) if message else [None]
    after = message.parent_id if message else None  # an edited message is not at the end
    return {"kind": "start", "version": event.version, "run": event.run_id, "message": shown[0], "after": after}


def _find_message_view(services: Services, thread_id: str, message_id: str) -> message_view.MessageView | None:
    """Return the view that shows a message: its own; for a tool's result, that of the calling message; for another agent's
    work, that of the main agent's newest message, whose cards show it.
    """
    path = load_last_turn(services.store, thread_id)
    is_subagent_message = any(message.id == message_id and message.agent != MAIN for message in path)
    extras = message_view.MessageExtras(
        run_state=RunState.RUNNING,
        prices=services.prices,
        attempts=fork_attempts.read_attempts(services.store, thread_id, path),
        to_html=services.renderer.page(),
    )
    shown = message_view.describe_messages(path, extras)
    if is_subagent_message:
        return shown[-1] if shown else None
    for view in shown[::-1]:
        if message_id in (view["id"], *(tool["message_id"] for tool in view["tools"])):
            return view
    return None
