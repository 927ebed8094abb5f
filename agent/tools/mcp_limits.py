"""Limits for what a server of tools sends, between its bytes and the library that reads them."""

from collections.abc import Iterator
from time import monotonic

from checkpoints.values.limits import has_too_many_separators
from checkpoints.values.surrogates import replace_lone_surrogates

MAX_MESSAGE_BYTES = 4_000_000
# Values are counted before parsing, since the library takes a second for a megabyte of brackets.
MAX_MESSAGE_VALUES = 10_000
MAX_MINUTE_BYTES = 100_000_000
# Each message counts as this many bytes more, because each message costs time.
MESSAGE_COST_BYTES = 10_000
_MINUTE_SECONDS = 60.0


class Allowance:
    """The bytes that a server may send in a minute."""

    def __init__(self) -> None:
        self._spent, self._since = 0, monotonic()

    def take(self, size: int) -> bool:
        """Count some bytes. Return whether the server may send them."""
        if (now := monotonic()) - self._since >= _MINUTE_SECONDS:
            self._spent, self._since = 0, now
        self._spent += size
        return self._spent <= MAX_MINUTE_BYTES


class MessageReader:
    """Splits bytes into messages, each with its end. `None` stands for data beyond a limit."""

    def __init__(self, end: bytes, allowance: Allowance) -> None:
        self._end, self._allowance = end, allowance
        self._open = b""
        self._skips = False

    def feed(self, data: bytes) -> Iterator[bytes | None]:
        """Yield the messages that the data completes. Carriage returns mean nothing and are left out."""
        *whole, rest = (self._open + data.replace(b"\r", b"")).split(self._end)
        if not self._allowance.take(len(data) + MESSAGE_COST_BYTES * len(whole)):
            self._open, self._skips = b"", True
            yield None
            return
        if whole and self._skips:
            # This is the end of a message that was too long.
            del whole[0]
            self._skips = False
        for each in whole:
            yield _check_message(each + self._end)
        if self._skips or len(rest) > MAX_MESSAGE_BYTES:
            if not self._skips:
                yield None
            self._skips, rest = True, b""
        self._open = rest

    def finish(self) -> bytes | None:
        """Return the unfinished message, empty if there is none."""
        return _check_message(self._open)


def _check_message(message: bytes) -> bytes | None:
    """Return a message with halves of emoji replaced, since programs in JavaScript may cut a text within an emoji."""
    if len(message) > MAX_MESSAGE_BYTES or has_too_many_separators(message, MAX_MESSAGE_VALUES):
        return None
    return replace_lone_surrogates(message)
