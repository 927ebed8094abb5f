"""Message numbers, `[msg_0]`, `[msg_1]`, …: a message's position on the path, by which a model names it.

They are put before each message when a request is built, and they are never stored. Models imitate the prefix, so it is
removed from their answers, in every style: the style may have changed within a conversation.
"""

import re
from typing import Literal

NumberStyle = Literal["msg", "short", "off"]  # [msg_3], [m3], or no number
DEFAULT_NUMBERS: NumberStyle = "msg"
_TAGS = re.compile(r"\s*(?:\[m(?:sg_)?[0-9]+\]\s*)+")
# The beginning of a possible prefix, while it arrives in small pieces.
_UNDECIDED = re.compile(r"\s*(?:\[m(?:sg_)?[0-9]{1,9}\]\s*)*(?:\[(?:m(?:[0-9]{0,9}|s(?:g(?:_[0-9]{0,9})?)?)?)?)?")
_MAX_HELD_CHARS = 200  # characters that are held back


def format_number(position: int, style: NumberStyle = DEFAULT_NUMBERS) -> str:
    """Return a message's number as a text names it: msg_3, or m3."""
    return f"m{position}" if style == "short" else f"msg_{position}"


def prefix_number(position: int, text: str, style: NumberStyle = DEFAULT_NUMBERS) -> str:
    """Return the text as the model reads it."""
    if style == "off":
        return text
    tag = f"[{format_number(position, style)}]"
    return f"{tag} {text}" if text else tag


def strip_number(text: str) -> str:
    """Return the text without an imitated prefix."""
    tags = _TAGS.match(text)
    return text[tags.end() :] if tags else text


class NumberStripper:
    """Strip the number from a text that arrives in pieces.

    The results of `feed` and the last `flush` add up to `strip_number(text)`.
    """

    def __init__(self) -> None:
        self._pending: str | None = ""  # None once the beginning is decided

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
