"""Messages of another program, read with limits: bytes become small values here, before a library sees them.

A result is joined to one text and cut, whatever it holds, because the library's own reading of a megabyte of small values
holds the event loop for seconds. A line or a body is kept up to MAX_MESSAGE_BYTES, and the rest of it is only counted.
"""

import re
from collections.abc import Iterator
from time import monotonic
from typing import Any, Literal

from pydantic_core import from_json, to_json

from checkpoints.values.limits import has_more_values, has_too_many_separators, to_label
from checkpoints.values.surrogates import replace_lone_surrogates
from checkpoints.values.text import note_cut

MAX_MESSAGE_BYTES = 500_000  # kept of a message; 40,000 characters need at most 480,000 bytes of JSON
MAX_MESSAGE_VALUES = 20_000  # of a message; they are counted before it is parsed
MAX_SKIPPED_BYTES = 200_000_000  # read and counted of one message; a longer one ends the connection
MAX_MESSAGE_SECONDS = 20.0  # from the first byte of a message to its last one, and then likewise
MAX_LINES = 10_000  # of a program in a minute, and then likewise
MAX_EVENT_LINES = 50_000  # of a server at an address: an event has several
MAX_KEPT_BYTES = 100_000_000  # of all messages of a minute
_MINUTE = 60.0  # in seconds
MAX_REMOTE_RESULT_CHARS = 40_000  # of a result
MAX_ENDING_BYTES = 1_000  # kept of the end of a longer message: some programs write its id last
UNREADABLE_CODE = -32_099  # our own, for an answer that cannot be used
STRUCTURED = "structuredContent"
BROKEN_CODE = -32_000  # the library's, for a lost connection
_ID_AT_START = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"[^"]{0,10}"\s*,\s*)?"id"\s*:\s*"?(\d{1,15})"?\s*,')
_ID_AT_END = re.compile(rb'"id"\s*:\s*"?(\d{1,15})"?\s*[,}]')
_ERROR_AT_END = re.compile(rb'"isError"\s*:\s*true')

Json = dict[str, Any]


class UnreadableMessageError(ValueError):
    """The bytes are no message of the protocol, or one whose call is unknown."""


class EndlessMessageError(ValueError):
    """A program sends more, or for longer, than any program can mean."""


class BoundedBytes:
    """The beginning and the end of a text that arrives in pieces, and its size."""

    def __init__(self) -> None:
        self.size = 0
        self._start = bytearray()
        self._end = b""

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        self._start += piece[: MAX_MESSAGE_BYTES - len(self._start)]
        self._end = (self._end + piece[-MAX_ENDING_BYTES:])[-MAX_ENDING_BYTES:]
        if self.size > MAX_SKIPPED_BYTES:
            raise EndlessMessageError("This message does not end.")

    def join(self, other: "BoundedBytes", skipped: int = 0) -> None:
        """Add another text without its first `skipped` bytes."""
        size = self.size + other.size - skipped
        self.add(other.start[skipped:])
        self.size, self._end = size, other.end

    @property
    def kept(self) -> int:
        return len(self._start)

    @property
    def start(self) -> bytes:
        return bytes(self._start)

    @property
    def end(self) -> bytes:
        return self._end

    @property
    def is_cut(self) -> bool:
        return self.size > len(self._start)


class Budget:
    """The lines, and the bytes kept of them, that one program may send in a minute: each costs the event loop time."""

    def __init__(self, max_lines: int) -> None:
        self._max_lines = max_lines
        self._lines = self._bytes = 0
        self._since = monotonic()

    def take(self, line: BoundedBytes) -> None:
        """Count a line. Raises `EndlessMessageError`."""
        if (now := monotonic()) - self._since >= _MINUTE:
            self._lines, self._bytes, self._since = 0, 0, now
        self._lines += 1
        self._bytes += line.kept
        if self._lines > self._max_lines or self._bytes > MAX_KEPT_BYTES:
            raise EndlessMessageError("This program sends too much.")


class LineSplitter:
    """Splits bytes into lines; of each line only the beginning and the end are kept."""

    def __init__(self, budget: Budget) -> None:
        self._line = BoundedBytes()
        self._budget = budget
        self._count = 0

    @property
    def open_line(self) -> int | None:
        """The number of the line that has begun and not ended; None between two lines."""
        return self._count if self._line.size else None

    def feed(self, data: bytes) -> Iterator[BoundedBytes]:
        """Yield the lines that the data completes, without their ends."""
        *closed, rest = data.split(b"\n")
        for piece in closed:
            self._line.add(piece)
            line, self._line = self._line, BoundedBytes()
            self._count += 1
            self._budget.take(line)
            yield line
        self._line.add(rest)


def read_message(found: BoundedBytes) -> Json:
    """Return the message, with a result of a call as one text within the limit. Raises UnreadableMessageError."""
    if has_too_many_separators(found.start, MAX_MESSAGE_VALUES):
        return make_error(_find_id(found), UNREADABLE_CODE)
    message = _parse(found)
    if not isinstance(message, dict):
        raise UnreadableMessageError("This is no message.")
    if found.is_cut:
        message.setdefault("id", _find_id(found))
    result = message.get("result")
    if isinstance(result, dict) and (isinstance(result.get("content"), list) or STRUCTURED in result):
        return _read_result(message.get("id"), result, found)
    if found.is_cut or has_more_values(message, MAX_MESSAGE_VALUES):
        return make_error(message.get("id"), UNREADABLE_CODE)
    return message


def is_notification(message: Json) -> bool:
    """Return whether a message asks and answers nothing: progress, logs, changed lists. Nobody here reads them."""
    return "method" in message and "id" not in message


def make_error(request_id: Any, code: int) -> Json:
    """Return an answer of our own in place of one that cannot be used. Raises UnreadableMessageError without an id."""
    if type(request_id) not in (int, str):
        raise UnreadableMessageError("This answers no call.")
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": "unreadable"}}


def encode_message(message: Json) -> bytes:
    return to_json(message)


def _parse(found: BoundedBytes) -> Any:
    """Parse JSON. A program that cuts a text within an emoji sends half of a surrogate pair, which becomes a mark."""
    partial: Literal[False, "trailing-strings"] = "trailing-strings" if found.is_cut else False
    try:
        try:
            return from_json(found.start, allow_inf_nan=False, allow_partial=partial)
        except ValueError:
            if b"\0" in found.start or (mended := replace_lone_surrogates(found.start)) == found.start:
                raise
            return from_json(mended, allow_inf_nan=False, allow_partial=partial)
    except ValueError:
        raise UnreadableMessageError("This is no JSON.") from None


def _find_id(found: BoundedBytes) -> int | None:
    """Return the id at the beginning or at the end of a message that is not parsed, or not to its end."""
    if first := _ID_AT_START.match(found.start):
        return int(first[1])
    ids = _ID_AT_END.findall(found.end)
    return int(ids[-1]) if ids else None


def _read_result(call_id: Any, result: Json, found: BoundedBytes) -> Json:
    """Return the answer to a call with its result as one text. Values stand for blocks that have no text."""
    is_failed = result.get("isError") is True or (found.is_cut and bool(_ERROR_AT_END.search(found.end)))
    blocks, values = result.get("content"), result.get(STRUCTURED)
    blocks = blocks if isinstance(blocks, list) else []
    texts = list(map(_read_content_block, blocks))
    if values is not None and not any(map(_find_text, blocks)):
        if has_more_values(values, MAX_MESSAGE_VALUES):
            return make_error(call_id, UNREADABLE_CODE)
        texts.append(to_json(values).decode())
    content = [{"type": "text", "text": _join_texts(texts, found)}]
    return {"jsonrpc": "2.0", "id": call_id, "result": {"content": content, "isError": is_failed}}


def _join_texts(blocks: list[str], found: BoundedBytes) -> str:
    """Return the text of a result. The note of a cut counts bytes, because the rest was not read as text."""
    texts, length = list[str](), 0
    for text in blocks:
        if length <= MAX_REMOTE_RESULT_CHARS:
            texts.append(text)
        length += len(text) + 1
    joined, missing = "\n".join(texts)[:MAX_REMOTE_RESULT_CHARS], length - 1 - MAX_REMOTE_RESULT_CHARS
    joined = joined if joined.strip() else "(nothing)"
    if found.is_cut:
        return f"{joined}\n… (cut: the whole result has {found.size:,} bytes)"
    return note_cut(joined, missing)


def _find_text(block: Any) -> str:
    """Return the text of a block, or of the resource in it; an empty one without any."""
    kind = block.get("type") if isinstance(block, dict) else None
    holder = block.get("resource") if kind == "resource" else block
    text = holder.get("text") if isinstance(holder, dict) and kind in ("text", "resource") else None
    return text if isinstance(text, str) and text.strip() else ""


def _read_content_block(block: Any) -> str:
    """Return the text of a result's block, or a note that names its type."""
    kind = block.get("type") if isinstance(block, dict) else None
    if (text := _find_text(block)) or (kind == "text" and isinstance(block.get("text", ""), str)):
        return text
    if kind == "resource" and isinstance(block.get("resource"), dict):
        return f"(a resource at {to_label(block['resource'].get('uri'))}, which cannot be shown here)"
    if kind == "resource_link":
        return f"(a link to {to_label(block.get('uri'))})"
    return f"(content of the kind {to_label(kind) or 'unknown'}, which cannot be shown here)"
