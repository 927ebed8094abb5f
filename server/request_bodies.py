"""Bodies of requests that a layer reads before the app does."""

import re

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope

_SEPARATORS = (b"[", b"{", b",")
_MAX_VALUE_QUOTES = 4  # of a name and a text
_TEXT = re.compile(rb'"[^"]*"')
_LARGE_NUMBER = re.compile(rb"(?:^|[\[,:\s])-?\d{17}|Infinity|NaN")


def has_unknown_length(scope: Scope) -> bool:
    """Return whether a request has a body, and does not say how long it is."""
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
    """Return whether JSON has a whole number that not every reader of JSON, and no database, takes."""
    return _LARGE_NUMBER.search(_TEXT.sub(b'""', body.replace(b"\\\\", b"").replace(b'\\"', b""))) is not None


def has_more_separators(body: bytes, limit: int) -> bool:
    """Return whether JSON has more brackets and commas outside of texts than the limit: about as many values are parsed."""
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # the escapes that could hide the end of a text
    if b"\0" in body or bare.count(b'"') > _MAX_VALUE_QUOTES * limit:  # other encodings have zeros, and hide their texts
        return True
    outside = b"".join(bare.split(b'"')[::2])
    return sum(map(outside.count, _SEPARATORS)) > limit
