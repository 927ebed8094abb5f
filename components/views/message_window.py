"""The window of a conversation that the page holds: its newest messages, or those around a message that is shown."""

from collections.abc import Mapping
from typing import Any, Required

from typing_extensions import TypedDict

from checkpoints import MAIN, Message, Store
from components.shapes import Count

WINDOW_MESSAGES = 50  # at first, and more that each "earlier" and "later" brings
MAX_JOINED_MESSAGES = 200  # from the end: a window among these is extended to the end
WINDOW_ACTIONS = ("earlier", "later", "latest", "show")  # the transcript's actions that only move the window
MARGIN_MESSAGES = 30  # of one run, searched for the call of a tool's result


class MessageWindow(TypedDict, total=False):
    thread: Required[str | None]
    count: Required[Count]
    until: Count  # the depth before which it ends; without one it ends where the conversation does, and grows with it


def resolve_window(window: Mapping[str, Any] | None, thread_id: str | None) -> MessageWindow:
    """Return the window of a thread; the newest messages where the window is of another thread."""
    if window is None or window["thread"] != thread_id:
        return {"thread": thread_id, "count": WINDOW_MESSAGES}
    return MessageWindow(**window)  # type: ignore[no-any-return,typeddict-item]  # it comes back from the page as it was sent


def read_window(store: Store, thread_id: str, window: MessageWindow) -> tuple[list[Message], bool, bool]:
    """Return the messages of a window, and whether there are earlier and later ones. A tool's result, and the work of
    sub-agents, is never separated from the calling message.
    """
    until, margin = window.get("until"), MARGIN_MESSAGES
    while True:
        before = None if until is None else until + margin
        path = store.list_messages(thread_id, last=window["count"] + 2 * margin, before=before)
        end = len(path)
        if until is not None:
            end = next(
                (index for index, message in enumerate(path) if message.depth >= until and _can_begin_window(message)), end
            )
        first = max(0, end - window["count"])
        while first and not _can_begin_window(path[first]):
            first -= 1
        is_begun = not path or path[0].depth == 0 or _can_begin_window(path[first])
        is_ended = before is None or end < len(path) or not path or path[-1].depth < before - 1
        if is_begun and is_ended:
            return path[first:end], bool(end and path[first].depth), end < len(path)
        margin *= 4  # so much was done for one answer


def _can_begin_window(message: Message) -> bool:
    return message.agent == MAIN and message.type != "tool"


def move_window(store: Store, thread_id: str, window: MessageWindow, action: Mapping[str, Any]) -> MessageWindow:
    """Return another window of the same thread, as an action requests. Raises `MessageNotFoundError`."""
    match action["type"]:
        case "earlier":
            return {**window, "count": window["count"] + WINDOW_MESSAGES}
        case "later" if "until" in window:
            return _window_until(store, thread_id, window["count"] + WINDOW_MESSAGES, window["until"] + WINDOW_MESSAGES)
        case "show":
            return window_around(store, thread_id, action["message"])
    return {"thread": thread_id, "count": WINDOW_MESSAGES}


def window_around(store: Store, thread_id: str, message_id: str) -> MessageWindow:
    """Return a window that shows a message of the path with some before and after it."""
    place, length = store.get_message(thread_id, message_id).depth, store.count_messages(thread_id)
    if length - place <= MAX_JOINED_MESSAGES:
        return {"thread": thread_id, "count": max(WINDOW_MESSAGES, length - place + WINDOW_MESSAGES // 2)}
    return {"thread": thread_id, "count": WINDOW_MESSAGES, "until": place + WINDOW_MESSAGES // 2}


def extend_window(store: Store, thread_id: str, message_id: str, window: MessageWindow) -> MessageWindow:
    """Extend a window so that it still shows a message at its new position, with some before it."""
    if "until" in window:
        return window_around(store, thread_id, message_id)
    after = store.count_messages(thread_id) - store.get_message(thread_id, message_id).depth
    return {**window, "count": max(window["count"], after + WINDOW_MESSAGES // 2)}


def _window_until(store: Store, thread_id: str, count: int, until: int) -> MessageWindow:
    whole: MessageWindow = {"thread": thread_id, "count": count}
    return whole if until >= store.count_messages(thread_id) else {**whole, "until": until}
