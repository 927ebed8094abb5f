"""Long texts as the page shows them: their beginning, and the address of the whole."""

from dataclasses import dataclass
from typing import TypedDict
from urllib.parse import quote, urlencode

from checkpoints import Message

MAX_SHOWN_CHARS = 50_000  # of a message
MAX_SHOWN_DETAIL_CHARS = 20_000  # of a tool's arguments or result, or of the reasoning before one answer


class MoreView(TypedDict):
    """The part of a text that the page does not hold."""

    chars: int
    address: str  # of the whole text


@dataclass(frozen=True, slots=True)
class ShownText:
    """The beginning of a text, and its rest if there is one."""

    text: str
    more: MoreView | None


def cut_shown(text: str, message: Message, max_chars: int = MAX_SHOWN_CHARS, **part: str) -> ShownText:
    """Return the beginning of a text of a message. `part` names the text, as `read_part` does."""
    missing = len(text) - max_chars
    if missing <= 0:
        return ShownText(text, None)
    query = f"?{urlencode(part)}" if part else ""
    address = f"/api/threads/{quote(message.thread_id)}/messages/{quote(message.id)}/text{query}"
    return ShownText(text[:max_chars], {"chars": missing, "address": address})
