"""Time in the conversation: the checkpoints beside its messages, and the beginning of the last restore's removed part."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, TypedDict

from agent.marks import MoveMark, SummaryMark
from checkpoints import MAIN, Message
from checkpoints.values.model import CheckpointMark, RemovedPart
from checkpoints.values.text import find_plain_line, shorten, shorten_line
from checkpoints.values.thread_ids import write_thread_id
from components.views.message_view import MessageView
from components.views.names import name_other
from components.views.shown_text import MAX_BEGINNING_CHARS
from server.addresses import build_address

# Of these messages, the first with a text are shown.
READ_REMOVED_MESSAGES = 12
MAX_REMOVED_MESSAGES = 3
# This much of a text is searched for its first line.
_MAX_READ_CHARS = 2_000


class MarkView(TypedDict):
    id: str
    name: str
    created_by: str


class MessageMarksView(TypedDict):
    """The first checkpoints at a message, and the number of the others."""

    checkpoints: list[MarkView]
    more: int


class RemovedMessageView(TypedDict):
    id: str
    role: Literal["user", "assistant"]
    # Another person who asked is named.
    person: str
    # The text is plain.
    text: str


class RemovedPartView(TypedDict):
    messages: list[RemovedMessageView]
    # This many messages were removed.
    count: int
    undoable: bool
    address: str


def describe_marks(
    marks: Sequence[CheckpointMark], messages: Sequence[Message], shown: Sequence[MessageView]
) -> dict[str, MessageMarksView]:
    """Describe the checkpoints by their shown message: the last message of their state."""
    depths = {message.id: message.depth for message in messages}
    places = [depths[view["id"]] for view in shown]
    found: dict[str, MessageMarksView] = {}
    known: set[tuple[int, int]] = set()
    for mark in marks:
        if (number := bisect_right(places, mark.depth) - 1) < 0:
            continue
        view = found.setdefault(shown[number]["id"], {"checkpoints": [], "more": 0})
        if (mark.segment, mark.depth) not in known:
            known.add((mark.segment, mark.depth))
            view["more"] += mark.count
        view["checkpoints"].append({"id": mark.id, "name": mark.name, "created_by": mark.created_by})
        view["more"] -= 1
    return found


def describe_removed_part(part: RemovedPart | None, thread_id: str) -> RemovedPartView | None:
    """Describe the first removed messages in a few plain words. Nothing of them is formatted."""
    if part is None:
        return None
    views = [view for message in part.messages if (view := _describe_removed_message(message))]
    return {
        "messages": views[:MAX_REMOVED_MESSAGES],
        "count": part.count,
        "undoable": part.is_newest,
        "address": build_address(f"/api/threads/{write_thread_id(thread_id)}/removed"),
    }


def is_user_question(message: Message) -> bool:
    """Return whether a person wrote the message. Notes of moves and summaries, and a graph's messages, do not count."""
    is_note = MoveMark.of(message) is not None or SummaryMark.of(message) is not None
    return message.type == "human" and message.agent == MAIN and not (is_note or message.is_by_graph)


def _describe_removed_message(message: Message) -> RemovedMessageView | None:
    if message.damaged or message.agent != MAIN:
        return None
    text = str(message.langchain.text)[:_MAX_READ_CHARS] if message.type in ("human", "ai") else ""
    if is_user_question(message) and (line := shorten_line(text, MAX_BEGINNING_CHARS)):
        return {"id": message.id, "role": "user", "person": name_other(message.person), "text": line}
    if message.type == "ai" and (line := find_plain_line(text)):
        is_whole = len(text.split()) == len(line.split())
        text = shorten(line if is_whole else f"{line} …", MAX_BEGINNING_CHARS)
        return {"id": message.id, "role": "assistant", "person": "", "text": text}
    return None
