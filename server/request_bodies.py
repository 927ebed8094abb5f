"""Bodies of requests, read by a layer before the app."""

import re

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

_SEPARATORS = (b"[", b"{", b",")
# A name and a text have this many quotes.
_MAX_VALUE_QUOTES = 4
_TEXT = re.compile(rb'"[^"]*"')
_LARGE_NUMBER = re.compile(rb"(?:^|[\[,:\s])-?\d{17}|Infinity|NaN")


def has_unknown_length(scope: Scope) -> bool:
    """Return whether a request has a body of unknown length."""
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or (scope["method"] == "POST" and "content-length" not in headers)


async def read_body(receive: Receive, max_bytes: float = float("inf")) -> bytes | None:
    """Read a whole body; None if it is over the limit or the client went away."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if message["type"] == "http.disconnect" or len(body) > max_bytes:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Create a receive that returns the body once more, then the next messages (the end of the connection)."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


def has_large_number(body: bytes) -> bool:
    """Return whether JSON has a whole number too large for some readers of JSON, and for every database."""
    return _LARGE_NUMBER.search(_TEXT.sub(b'""', body.replace(b"\\\\", b"").replace(b'\\"', b""))) is not None


def has_more_separators(body: bytes, limit: int) -> bool:
    """Return whether JSON has more brackets and commas outside of texts than the limit, and so about as many values."""
    # These escapes could hide the end of a text.
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Other encodings contain zeros, and hide their texts.
    if b"\0" in body or bare.count(b'"') > _MAX_VALUE_QUOTES * limit:
        return True
    outside = b"".join(bare.split(b'"')[::2])
    return sum(map(outside.count, _SEPARATORS)) > limit
