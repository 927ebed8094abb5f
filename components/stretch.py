"""The stretch of a conversation that the page holds: its newest messages, or those around a place that is looked at."""

from collections.abc import Mapping
from typing import Any, TypedDict

from checkpoints import MAIN, Message, Store

WINDOW = 50  # messages at first, and more that each "earlier" and "later" brings
NEAR = 200  # messages from the end that are held as well, so that a place among them is joined to the newest
MOVES = ("earlier", "later", "latest", "show")  # the transcript's actions that only change what the page holds
_ROUND = 30  # messages of one run, among which that is looked for which a tool's result belongs to


class Stretch(TypedDict, total=False):
    thread: str | None
    count: int
    until: int  # the depth before which it ends; without one it ends where the conversation does, and grows with it


def stretch(held: Mapping[str, Any] | None, thread_id: str | None) -> Stretch:
    """What is held of a thread; of another one than was held before, the newest messages."""
    if held is None or held["thread"] != thread_id:
        return {"thread": thread_id, "count": WINDOW}
    return Stretch(**held)  # type: ignore[no-any-return,typeddict-item]  # it comes back from the page as it was sent


def read(store: Store, thread_id: str, held: Stretch) -> tuple[list[Message], bool, bool]:
    """The messages of a stretch, and whether there are earlier and later ones. A tool's result, and the work of agents that
    were asked, is never parted from the message that asked for it.
    """
    until, margin = held.get("until"), _ROUND
    while True:
        before = None if until is None else until + margin
        path = store.messages(thread_id, last=held["count"] + 2 * margin, before=before)
        end = len(path)
        if until is not None:
            end = next((index for index, message in enumerate(path) if message.depth >= until and _begins(message)), end)
        first = max(0, end - held["count"])
        while first and not _begins(path[first]):
            first -= 1
        is_begun = not path or path[0].depth == 0 or _begins(path[first])
        is_ended = before is None or end < len(path) or not path or path[-1].depth < before - 1
        if is_begun and is_ended:
            return path[first:end], bool(end and path[first].depth), end < len(path)
        margin *= 4  # so much was done for one answer


def _begins(message: Message) -> bool:
    return message.agent == MAIN and message.type != "tool"


def moved(store: Store, thread_id: str, held: Stretch, action: Mapping[str, Any]) -> Stretch:
    """Another stretch of the same thread, as an action asks. Raises `MessageNotFoundError`."""
    match action["type"]:
        case "earlier":
            return {**held, "count": held["count"] + WINDOW}
        case "later" if "until" in held:
            return _ending(store, thread_id, held["count"] + WINDOW, held["until"] + WINDOW)
        case "show":
            return around(store, thread_id, action["message"])
    return {"thread": thread_id, "count": WINDOW}


def around(store: Store, thread_id: str, message_id: str) -> Stretch:
    """What to hold so that a message of the path is seen with some before and after it."""
    place, length = store.message(thread_id, message_id).depth, store.length(thread_id)
    if length - place <= NEAR:
        return {"thread": thread_id, "count": max(WINDOW, length - place + WINDOW // 2)}
    return {"thread": thread_id, "count": WINDOW, "until": place + WINDOW // 2}


def reaching(store: Store, thread_id: str, message_id: str, held: Stretch) -> Stretch:
    """What to hold so that a message that the page showed is still seen, with some before it, where it stands now."""
    if "until" in held:
        return around(store, thread_id, message_id)
    after = store.length(thread_id) - store.message(thread_id, message_id).depth
    return {**held, "count": max(held["count"], after + WINDOW // 2)}


def _ending(store: Store, thread_id: str, count: int, until: int) -> Stretch:
    whole: Stretch = {"thread": thread_id, "count": count}
    return whole if until >= store.length(thread_id) else {**whole, "until": until}
