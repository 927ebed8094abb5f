"""Bodies of requests that a layer reads before the app does."""

from starlette.types import Message, Receive

_SEPARATORS = (b"[", b"{", b",")


async def read_body(receive: Receive, max_bytes: float = float("inf"), max_separators: float = float("inf")) -> bytes | None:
    """Read a whole body; None if it is over a limit or the client went away.

    The separators are the brackets and commas of JSON, also within texts: a parser makes at most so many values.
    """
    body, separators = bytearray(), 0
    while True:
        message = await receive()
        piece = message.get("body", b"")
        body += piece
        if max_separators < float("inf"):
            separators += sum(map(piece.count, _SEPARATORS))
        if message["type"] == "http.disconnect" or len(body) > max_bytes or separators > max_separators:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Create a receive that returns the body once more, then the next messages (the end of the connection)."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again
