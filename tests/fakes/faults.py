"""What a wire-level fake can be told to answer, and the ways in which it can be told to spoil it."""

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["status", "reset", "cut", "end", "hang", "drip", "malformed", "garbage", "empty_choices", "error_event"]

ERROR_EVENT = (
    b'data: {"error":{"message":"The server had an error while processing your request. Sorry about that!",'
    b'"type":"server_error","param":null,"code":null}}\n\n'
)
INSERTED = {"malformed": b"data: {not json\n\n", "garbage": b"data: \xff\xfe\xc3\n\n", "error_event": ERROR_EVENT}
"""The bytes that a fault puts into the body at its place."""


class Reply:
    """Anything that can be queued on a fake server."""


class ScriptError(ValueError):
    """The test asked for something that the scripted answer cannot do, such as a cut after its end."""


@dataclass(frozen=True)
class Frame:
    """One write to the socket. `token` marks what counts for delays, the gate and `after_tokens`."""

    data: bytes
    token: bool = False


@dataclass(frozen=True)
class Fault(Reply):
    """An answer that goes wrong.

    Kinds:
      status         refuses with `status`, its own error JSON (or `body`) and, if given, `retry_after` (a header)
      reset          the connection is reset (RST)
      cut            the connection is closed without the end of the body: clients raise
      end            the body ends properly but too early: clients raise nothing, which is what makes it dangerous
      hang           nothing more is sent until the client leaves or the fake stops
      drip           the whole answer in pieces of five bytes, `seconds` apart (splits words, `data:` and UTF-8)
      malformed      a `data:` line that is not JSON; then the answer goes on
      garbage        bytes that are not UTF-8; then the answer goes on
      empty_choices  a proper answer without a choice
      error_event    an error in the stream, which ends it

    The place is at most one of: `after_tokens`, `after_bytes` (of the body, in UTF-8), `before` a text in the body
    (`before="data: [DONE]"`), or `within` one (in the middle of its bytes: `within="é"`). Without a place the fault
    strikes before the first byte, headers included; `after_bytes=0` is after the headers.

    `reply` is what is spoiled; without one, the answer that the fake would have given by itself.
    """

    kind: Kind
    reply: Reply | None = None
    after_tokens: int | None = None
    after_bytes: int | None = None
    before: str | None = None
    within: str | None = None
    status: int = 500
    retry_after: str | None = None
    message: str | None = None
    code: str | None = None
    body: Any = None  # of a refusal, in the shape of another server
    seconds: float = 0.01

    def place(self, frames: list[Frame]) -> int | None:
        """Byte offset in the body at which the fault strikes; None means before the first byte of the answer."""
        body = b"".join(frame.data for frame in frames)
        if self.after_tokens is not None:
            return _end_of_token(frames, self.after_tokens)
        if self.after_bytes is not None:
            if self.after_bytes > len(body):
                raise ScriptError(f"the body has only {len(body)} bytes")
            return self.after_bytes
        text = self.before if self.before is not None else self.within
        if text is None:
            return None
        start = body.find(text.encode())
        if start < 0:
            raise ScriptError(f"the body does not contain {text!r}")
        return start if self.before is not None else start + len(text.encode()) // 2


def _end_of_token(frames: list[Frame], count: int) -> int:
    """Bytes up to the end of the token with that number; for 0, up to the first token."""
    offset = seen = 0
    for frame in frames:
        if frame.token and count == 0:
            return offset
        offset += len(frame.data)
        seen += frame.token
        if frame.token and seen == count:
            return offset
    raise ScriptError(f"the body has only {seen} tokens")


def split(frames: list[Frame], offset: int) -> tuple[list[Frame], list[Frame]]:
    """The frames before and after a byte offset. A frame that is cut counts as a token only when its rest is sent."""
    before: list[Frame] = []
    for index, frame in enumerate(frames):
        if offset < len(frame.data):
            head = [Frame(frame.data[:offset])] if offset else []
            return before + head, [Frame(frame.data[offset:], frame.token), *frames[index + 1 :]]
        before.append(frame)
        offset -= len(frame.data)
    return before, []


def crumbs(frames: list[Frame], size: int = 5) -> list[Frame]:
    """The same bytes in small pieces."""
    body = b"".join(frame.data for frame in frames)
    return [Frame(body[start : start + size]) for start in range(0, len(body), size)]
