"""The numbers by which a model can name a message: `[msg_0]`, `[msg_1]`, …, its place on the path.

They are put before each message when a request is built and never stored. Models imitate what they read, so the same
prefix is taken off what they write.
"""

import re

_TAGS = re.compile(r"\s*(?:\[msg_[0-9]+\]\s*)+")
# What may still become such a prefix, while it comes in small pieces.
_UNDECIDED = re.compile(r"\s*(?:\[msg_[0-9]{1,9}\]\s*)*(?:\[(?:m(?:s(?:g(?:_[0-9]{0,9})?)?)?)?)?")
_MAX_HELD_CHARS = 200  # characters that are held back at most


def prefix_number(position: int, text: str) -> str:
    """The text as the model reads it."""
    return f"[msg_{position}] {text}" if text else f"[msg_{position}]"


def strip_number(text: str) -> str:
    """The text without an imitated prefix."""
    tags = _TAGS.match(text)
    return text[tags.end() :] if tags else text


class NumberStripper:
    """The same for a text that comes in pieces: what `take` and at last `rest` return adds up to `unnumbered(text)`."""

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
        held, self._pending = self._pending or "", None
        return strip_number(held)
