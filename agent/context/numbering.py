"""Message numbers, `[msg_0]`, `[msg_1]`, …: a message's position on the path, by which a model names it.

A request puts them before each message. They are never stored. Models imitate the prefix, so it is removed from their
answers, in every style, since the style may have changed within a conversation.
"""

import re
from typing import Literal

# Shows [msg_3], [m3], or no number.
NumberStyle = Literal["msg", "short", "off"]
DEFAULT_NUMBERS: NumberStyle = "msg"
_TAGS = re.compile(r"\s*(?:\[m(?:sg_)?[0-9]+\]\s*)+")
# The beginning of a possible prefix, while it arrives in small pieces.
_UNDECIDED = re.compile(r"\s*(?:\[m(?:sg_)?[0-9]{1,9}\]\s*)*(?:\[(?:m(?:[0-9]{0,9}|s(?:g(?:_[0-9]{0,9})?)?)?)?)?")
_MAX_HELD_CHARS = 200


def format_number(position: int, style: NumberStyle = DEFAULT_NUMBERS) -> str:
    """Return a message's number as texts name it: msg_3, or m3."""
    return f"m{position}" if style == "short" else f"msg_{position}"


def prefix_number(position: int, text: str, style: NumberStyle = DEFAULT_NUMBERS) -> str:
    """Return the text with its number, as the model reads it."""
    if style == "off":
        return text
    tag = f"[{format_number(position, style)}]"
    return f"{tag} {text}" if text else tag


def strip_number(text: str) -> str:
    """Return the text without an imitated prefix."""
    tags = _TAGS.match(text)
    return text[tags.end() :] if tags else text


class NumberStripper:
    """Strips the number from a text in pieces.

    The results of `feed` and the last `flush` add up to `strip_number(text)`.
    """

    def __init__(self) -> None:
        # None once the beginning is decided.
        self._pending: str | None = ""

    def feed(self, piece: str) -> str:
        if self._pending is None:
            return piece
        self._pending += piece
        if len(self._pending) <= _MAX_HELD_CHARS and _UNDECIDED.fullmatch(self._pending):
            return ""
        return self.flush()

    def flush(self) -> str:
        pending, self._pending = self._pending or "", None
        return strip_number(pending)
