"""Answers to stream requests that are not streams: whole answers, failures, and pages of other servers.

Some gateways ignore `stream`. A proxy, or a wrong address, sends a page with status 200. Content types do not help,
since servers name a wrong type for streams, too.
"""

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from jiter import from_json

from agent.models.errors import ModelConfigurationError
from agent.models.refusal_body import ReportedFailure
from checkpoints.values.sentence import sentence
from checkpoints.values.surrogates import replace_lone_surrogates
from checkpoints.values.text import shorten_line

# The limit of a whole answer, and of one event.
MAX_WHOLE_BYTES = 32_000_000
# The limit of all events. An answer in pieces of one character takes 180 MB.
MAX_STREAM_BYTES = 256_000_000
MAX_EXCERPT_CHARS = 200
MAX_EXCERPT_BYTES = 100 * MAX_EXCERPT_CHARS
EVENT_STREAM = "text/event-stream"
EVENT_ENDS = (b"\n\n", b"\r\n\r\n", b"\r\r")
# Includes the byte order mark of some UTF-8 files.
_BLANKS = b" \t\r\n\xef\xbb\xbf"
# JSON and pages begin like this. No line of an event stream does.
_BEGINNINGS = (b"{", b"[", b"<")
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)


class OtherBody(Exception):
    """The body is not an event stream. `content` is its beginning, or all of it."""

    def __init__(self, content: bytes) -> None:
        super().__init__("no stream of events")
        self.content = content


class OtherServerError(ModelConfigurationError):
    """The address belongs to no model server. `body` is the answer, for Details."""

    def __init__(self, address_setting: str | None, body: object) -> None:
        place = (
            sentence("The address in {setting}", setting=address_setting)
            if address_setting
            else sentence("The model provider's address")
        )
        super().__init__(
            sentence("{place} does not answer like an OpenAI server; check it, and any proxy on the way.", place=place)
        )
        self.body = body


class UnreadableBodyError(ValueError):
    """The JSON of a whole answer is broken, or a body is too large."""


async def refuse_other_bodies(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the bytes of an event stream from the first line on. Raises `OtherBody` for JSON and for a page."""
    is_beginning = True
    async for part in parts:
        begun = part.lstrip(_BLANKS) if is_beginning else part
        if is_beginning and begun.startswith(_BEGINNINGS):
            raise OtherBody(begun + await _read_rest(parts))
        is_beginning = is_beginning and not begun
        if begun:
            yield begun


async def limit_stream(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the same bytes. Raises `UnreadableBodyError` for an endless event or stream."""
    event, total, before = 0, 0, b""
    async for part in parts:
        total += len(part)
        # An end of an event may be divided between two parts.
        joined = before + part
        end = max(joined.rfind(mark) + len(mark) if mark in joined else 0 for mark in EVENT_ENDS)
        event = len(joined) - end if end else event + len(part)
        if event > MAX_WHOLE_BYTES or total > MAX_STREAM_BYTES:
            raise UnreadableBodyError
        before = joined[-3:]
        yield part


async def _read_rest(parts: AsyncIterator[bytes]) -> bytes:
    rest = bytearray()
    async for part in parts:
        rest += part
        if len(rest) > MAX_WHOLE_BYTES:
            break
    return bytes(rest)


def parse_other_body(other: OtherBody, address_setting: str | None) -> dict[str, Any]:
    """Return the JSON of a whole answer.

    Raises `ReportedFailure` for JSON with an error, `UnreadableBodyError` for broken JSON, and `OtherServerError` for
    other content.
    """
    if not other.content.startswith((b"{", b"[")):
        raise OtherServerError(address_setting, _read_excerpt(other.content))
    try:
        document = from_json(replace_lone_surrogates(other.content))
    except ValueError as error:
        raise UnreadableBodyError from error
    # Gemini's failures are in a list.
    found = document[0] if isinstance(document, list) and document else document
    if isinstance(found, Mapping) and found.get("error"):
        raise ReportedFailure(found["error"])
    if not isinstance(document, dict) or not _is_answer(document):
        raise OtherServerError(address_setting, document)
    return document


def _is_answer(document: Mapping[str, Any]) -> bool:
    """Return whether JSON is a whole answer of Chat Completions or of Responses."""
    choices = document.get("choices")
    if isinstance(choices, list) and choices:
        return all(isinstance(choice, dict) and isinstance(choice.get("message"), dict) for choice in choices)
    return document.get("object") == "response" and isinstance(document.get("output"), list)


def _read_excerpt(content: bytes) -> str:
    text = content[:MAX_EXCERPT_BYTES].decode(errors="replace")
    return shorten_line(" ".join(_TAGS.sub(" ", text).split()), MAX_EXCERPT_CHARS)
