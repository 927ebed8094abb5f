"""Frames of single events of a conversation. They depend on no earlier frame."""

from dataclasses import replace

from agent.events import (
    DraftsFailed,
    Event,
    GraphProgress,
    HeadMoved,
    MembersChanged,
    MessageAdded,
    RerunEnded,
    RunFinished,
    RunQueued,
    RunStarted,
    UpdatesDelayed,
    WorkEnded,
)
from agent.subagents.delegation import load_last_turn
from agent.subagents.forking import is_final_answer
from checkpoints import MAIN, Message, RunState
from components.broadcasts import Frame
from components.services import Services
from components.views import fork_attempts, message_view
from components.views.markdown import is_cheap
from words import say_error


async def build_event_frame(services: Services, thread_id: str, event: Event) -> Frame | None:
    """Build the frame of an event without a piece of text; None if the page does not need the event."""
    match event:
        case RunStarted():
            return await build_start_frame(services, event)
        case MessageAdded():
            return await _build_message_frame(services, thread_id, event)
        case DraftsFailed(text):
            return {"kind": "outage", "text": say_error(text)}
        case UpdatesDelayed():
            return {"kind": "late"}
        case RunQueued(_, before):
            return {"kind": "queued", "before": before}
    return build_plain_frame(event)


def build_plain_frame(event: Event) -> Frame | None:
    """Build the frame of an event without a message; None if the page does not need the event."""
    match event:
        case WorkEnded(run_id, state, error):
            return {"kind": "rest", "run": run_id, "state": state, "error": say_error(error)}
        case RunFinished(run_id, state, version, error, details):
            about = {"error": say_error(error), "details": details}
            return {"kind": "end", "run": run_id, "version": version, "state": state, **about}
        case HeadMoved(version) | MembersChanged(version, _):
            return {"kind": "head" if isinstance(event, HeadMoved) else "members", "version": version}
        case GraphProgress(nodes, lines):
            return {"kind": "progress", "nodes": list(nodes), "lines": list(lines)}
        case RerunEnded():
            return {"kind": "rerun"}
    return None


async def _describe_added(services: Services, thread_id: str, message: Message) -> message_view.MessageView | None:
    if message.agent == MAIN and is_final_answer(message):
        # Its description needs no other messages.
        return await _describe_alone(services, message)
    return await services.read_snapshot(_find_message_view, services, thread_id, message.id)


async def _describe_alone(services: Services, message: Message) -> message_view.MessageView:
    """Describe a message without others. A cheap text is formatted on the event loop, as in each frame of an answer."""
    data, extras = message.body["data"], _build_extras(services)
    content, is_plain = data.get("content"), not data.get("additional_kwargs")
    if is_plain and isinstance(content, str) and is_cheap(content):
        return message_view.describe_messages([message], extras)[0]
    return (await services.run_blocking(message_view.describe_messages, [message], extras))[0]


async def _build_message_frame(services: Services, thread_id: str, event: MessageAdded) -> Frame | None:
    added = await _describe_added(services, thread_id, event.message)
    if added is None:
        return None
    # After a step back of the agent, the message is not at the end.
    place = {"after": event.message.parent_id} if added["id"] == event.message.id else {}
    return {"kind": "message", "version": event.version, "message": added, **place}


async def build_start_frame(services: Services, event: RunStarted) -> Frame:
    """Build the frame for the beginning of a run, with the user's message."""
    message = event.message
    shown = await _describe_alone(services, message) if message else None
    # An edited message is not at the end.
    after = message.parent_id if message else None
    candidates = [{"number": each.number, "model": each.model, "state": each.state} for each in event.candidates]
    parts = {"candidates": candidates} if candidates else {}
    return {"kind": "start", "version": event.version, "run": event.run_id, "message": shown, "after": after, **parts}


def _build_extras(services: Services) -> message_view.MessageExtras:
    """Return the extras of messages independent of the rest of their conversation."""
    to_html = services.renderer.page()
    return message_view.MessageExtras(run_state=RunState.RUNNING, prices=services.prices, to_html=to_html)


def _find_message_view(services: Services, thread_id: str, message_id: str) -> message_view.MessageView | None:
    """Return the view that shows a message.

    It is the message's own view; for a tool's result, the view of the calling message; for another agent's work, the view of
    the main agent's newest message, whose cards show the work.
    """
    path = load_last_turn(services.store, thread_id)
    is_subagent_message = any(message.id == message_id and message.agent != MAIN for message in path)
    attempts = fork_attempts.read_attempts(services.store, thread_id, path)
    shown = message_view.describe_messages(path, replace(_build_extras(services), attempts=attempts))
    if is_subagent_message:
        return shown[-1] if shown else None
    for view in shown[::-1]:
        if message_id in (view["id"], *(tool["message_id"] for tool in view["tools"])):
            return view
    return None
