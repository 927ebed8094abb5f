"""The page's window on a conversation: its newest messages, or those around a shown message."""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, Required

from typing_extensions import TypedDict

from checkpoints import MAIN, Message, Store
from checkpoints.values.limits import MAX_READ_VALUES, count_values
from components.shapes import Count

# The window begins with this many messages. Each "earlier" and "later" adds as many.
WINDOW_MESSAGES = 50
# A window so close to the end is extended to it.
MAX_JOINED_MESSAGES = 200
# These actions of the transcript only move the window.
WINDOW_ACTIONS = ("earlier", "later", "latest", "show")
# This many messages of one run are searched for the call of a tool's result.
MARGIN_MESSAGES = 30


class MessageWindow(TypedDict, total=False):
    thread: Required[str | None]
    count: Required[Count]
    # The window ends before this depth. Without it, the window ends and grows with the conversation.
    until: Count


def resolve_window(window: Mapping[str, Any] | None, thread_id: str | None) -> MessageWindow:
    """Return the window of a thread, or the newest messages if the window belongs to another thread."""
    if window is None or window["thread"] != thread_id:
        return {"thread": thread_id, "count": WINDOW_MESSAGES}
    return MessageWindow(**window)  # type: ignore[no-any-return,typeddict-item]  # it comes back from the page as it was sent


def read_window(store: Store, thread_id: str, window: MessageWindow) -> tuple[list[Message], bool, bool]:
    """Return the messages of a window, and whether there are earlier and later messages.

    A tool's result, and the work of sub-agents, is never separated from the calling message. Each portion of the window has
    MAX_READ_VALUES. If the messages have more values, the window begins later.
    """
    until, margin = window.get("until"), MARGIN_MESSAGES
    max_values = _find_max_values(window)
    while True:
        before, count = None if until is None else until + margin, window["count"] + 2 * margin
        path = store.list_messages(thread_id, last=count, before=before, max_values=max_values)
        is_cut = bool(path) and path[0].depth > 0 and len(path) < count
        if is_cut and until and margin:
            # The messages after the window have used up its values.
            margin = 0
            continue
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
        if is_cut or not margin:
            first = next((index for index in range(first, end) if _can_begin_window(path[index])), first)
            return path[first:end], path[first].depth > 0, path[-1].depth + 1 < store.count_messages(thread_id)
        if is_begun and is_ended:
            return path[first:end], bool(end and path[first].depth), end < len(path)
        # One answer has so many messages that the margin missed its calling message.
        margin *= 4


def _can_begin_window(message: Message) -> bool:
    return message.agent == MAIN and message.type != "tool"


def move_window(store: Store, thread_id: str, window: MessageWindow, action: Mapping[str, Any]) -> MessageWindow:
    """Return another window of the same thread, as an action requests. Raises `MessageNotFoundError`."""
    match action["type"]:
        case "earlier":
            return {**window, "count": window["count"] + WINDOW_MESSAGES}
        case "later" if "until" in window:
            following = _count_following(store, thread_id, window["until"], WINDOW_MESSAGES)
            return _window_until(store, thread_id, window["count"] + WINDOW_MESSAGES, window["until"] + following)
        case "show":
            return window_around(store, thread_id, action["message"])
    return {"thread": thread_id, "count": WINDOW_MESSAGES}


def window_around(store: Store, thread_id: str, message_id: str) -> MessageWindow:
    """Return a window with a message of the path, and some messages before and after it."""
    place, length = store.get_message(thread_id, message_id).depth, store.count_messages(thread_id)
    if length - place <= MAX_JOINED_MESSAGES:
        joined: MessageWindow = {"thread": thread_id, "count": max(WINDOW_MESSAGES, length - place + WINDOW_MESSAGES // 2)}
        if _has_room(store, joined, length - place):
            return joined
    following = _count_following(store, thread_id, place, WINDOW_MESSAGES // 2)
    return {"thread": thread_id, "count": WINDOW_MESSAGES, "until": place + following}


def extend_window(store: Store, thread_id: str, message_id: str, window: MessageWindow) -> MessageWindow:
    """Extend a window to keep showing a message at its new position, with some messages before it."""
    after = store.count_messages(thread_id) - store.get_message(thread_id, message_id).depth
    extended: MessageWindow = {**window, "count": max(window["count"], after + WINDOW_MESSAGES // 2)}
    if "until" in window or not _has_room(store, extended, after):
        return window_around(store, thread_id, message_id)
    return extended


def _find_max_values(window: MessageWindow) -> int:
    return max(1, window["count"] // WINDOW_MESSAGES) * MAX_READ_VALUES


def _has_room(store: Store, window: MessageWindow, count: int) -> bool:
    """Return whether a window at the end has enough values for `count` messages."""
    path = store.list_messages(window["thread"] or "", last=count, max_values=_find_max_values(window))
    return len(path) == count


def _count_following(store: Store, thread_id: str, place: int, max_messages: int) -> int:
    """Count the messages after a place that leave half of a window's values for the messages before it."""
    path = store.list_messages(thread_id, last=max_messages, before=place + max_messages)
    values = [count_values(message.body, MAX_READ_VALUES) for message in path if message.depth >= place]
    return max(1, bisect_right(list(accumulate(values)), MAX_READ_VALUES // 2))


def _window_until(store: Store, thread_id: str, count: int, until: int) -> MessageWindow:
    whole: MessageWindow = {"thread": thread_id, "count": count}
    return whole if until >= store.count_messages(thread_id) else {**whole, "until": until}
