"""Messages as plain JSON, and the hashes over them.

A body is LangChain's own `message_to_dict` form without the fields that are at their defaults: `{"type": "human", "data":
{"content": "hello"}}`. It is rebuilt with `messages_from_dict` only: never pickle, msgpack or `load()`, which construct any
object that the data names. A message's hash covers its canonical JSON and its parent's hash: equal hashes mean equal
histories.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain
from typing import Any, cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
    message_to_dict,
    messages_from_dict,
)
from pydantic_core import from_json, to_json

MAX_SURROGATES = 20_000  # of one text
HASH_PREFIX = "sha256:"
_MAX_LOCKED_BYTES = 2_047  # that `hashlib` hashes in one call without releasing the lock of Python
_MAX_LOCKED_CHARS = _MAX_LOCKED_BYTES // 4
_MAX_ENCODED_CHARS = 65_536
_MESSAGE_CLASSES: dict[str, type[BaseMessage]] = {
    "human": HumanMessage,
    "ai": AIMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "function": FunctionMessage,
    "chat": ChatMessage,
}
_CONSTRUCTOR_ONLY = frozenset({"self", "content_blocks"})  # names that the constructor takes and validation does not
_CANONICAL_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class UnreadableMessageError(ValueError):
    """A message has fields of which no message can be built again: code can set any value after the constructor."""


def to_body(message: BaseMessage) -> dict[str, Any]:
    """Convert a message to plain JSON. Raises `TypeError` or `ValueError` for values that JSON cannot carry exactly.

    A message chunk is converted to a complete message first. Raises `UnreadableMessageError`.
    """
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(message)
    body = require_exact(strip_defaults(message))
    try:
        to_message(body)
    except ValueError as error:
        raise UnreadableMessageError from error
    return body


def normalize_body(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body as `to_body` writes it. Raises `TypeError` or `ValueError` for one that is not a message's."""
    return require_exact(strip_defaults(to_message(body)))


def strip_defaults(message: BaseMessage) -> dict[str, Any]:
    """Convert a message as `to_body` does, unchecked: for a caller that compares the result with JSON."""
    full = message_to_dict(message)
    kind = _check_type(full["type"])  # a type that cannot be read again is not written
    defaults = _default_fields(type(message))
    data = {
        key: value for key, value in full["data"].items() if key not in defaults or not _equals_default(value, defaults[key])
    }
    return {"type": kind, "data": data}


def to_message(body: dict[str, Any]) -> BaseMessage:
    """Build a new LangChain message. Raises `ValueError` for a type that is not a message's.

    Token usage that LangChain cannot read is left out: no content is lost with it.
    """
    return _construct_message(body["type"], _copy_json(body["data"]))  # a copy: LangChain keeps references into its argument


def parse_message(text: str) -> BaseMessage:
    """Build a new LangChain message from a stored body, as `to_message` does."""
    body = parse_canonical(text)
    return _construct_message(body["type"], body["data"])


def _construct_message(kind: str, data: dict[str, Any]) -> BaseMessage:
    """Build a message that keeps references into `data`, and may change it."""
    message_type = _MESSAGE_CLASSES[_check_type(kind)]
    try:
        if "content" not in data or not _CONSTRUCTOR_ONLY.isdisjoint(data):
            return messages_from_dict([{"type": kind, "data": data}])[0]
        # The constructor ends in this call as well. Its four layers take longer than the validation.
        new: BaseMessage = message_type.__new__(message_type)
        return cast(BaseMessage, message_type.__pydantic_validator__.validate_python(data, self_instance=new))
    except ValueError:
        if "usage_metadata" not in data:
            raise
        return _construct_message(kind, {key: value for key, value in data.items() if key != "usage_metadata"})
    except (AttributeError, LookupError, TypeError) as error:  # LangChain takes some shapes for granted
        raise ValueError("is not a message") from error


def _copy_json(value: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of plain JSON that shares no object or list with it."""

    def copy_value(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: copy_value(each) for key, each in value.items()}
        return [copy_value(each) for each in value] if isinstance(value, list) else value

    try:
        return {key: copy_value(each) for key, each in value.items()}
    except RecursionError:  # the encoder nests twice as deep
        return cast(dict[str, Any], json.loads(json.dumps(value)))


def parse_canonical(text: str) -> Any:
    """Parse JSON that `to_canonical` wrote, in half the time of Python's parser."""
    try:
        return from_json(text)
    except ValueError:  # nested deeper than 200 levels
        return json.loads(text)


def to_canonical(value: Any) -> str:
    """Serialize a value as canonical JSON: sorted keys, no spaces, no NaN."""
    return _CANONICAL_ENCODER.encode(value)


def format_indented(value: Any) -> str:
    """Serialize plain JSON for people, with indents.

    Python's own encoder takes as many steps for each value as there are levels above it.
    """
    try:
        return to_json(value, indent=2, inf_nan_mode="constants").decode()
    except ValueError:  # nested deeper than 200 levels, or half of a surrogate pair
        return json.dumps(value, ensure_ascii=False)


def iterate_canonical(document: dict[str, Any]) -> Iterator[str]:
    """Yield the canonical JSON of a document in pieces, one for each item of its lists.

    In one call, the encoder would keep all other threads waiting: 200 ms for 10 MB.
    """
    members = sorted(document.items())
    return iterate_object((key, map(to_canonical, v) if isinstance(v, list) else to_canonical(v)) for key, v in members)


def iterate_object(members: Iterable[tuple[str, str | Iterable[str]]]) -> Iterator[str]:
    """Yield the JSON of an object in pieces. Its members are JSON already: each a value, or the items of a list."""
    before = "{"
    for key, value in members:
        yield f"{before}{to_canonical(key)}:"
        if isinstance(value, str):
            yield value
        else:
            yield "["
            yield from (f",{item}" if place else item for place, item in enumerate(value))
            yield "]"
        before = ","
    yield "{}" if before == "{" else "}"


def hash_message(body: dict[str, Any], agent: str, status: str, parent_hash: str | None) -> str:
    return hash_canonical_body(to_canonical(body), agent, status, parent_hash)


def hash_canonical_body(body: str, agent: str, status: str, parent_hash: str | None) -> str:
    """Hash a body that is canonical JSON already: a stored message is checked without parsing it.

    The hash covers `to_canonical({"agent": …, "body": …, "parent": …, "status": …})`, concatenated by hand.
    """
    before, after = _surround_body(agent, status, parent_hash)
    return hash_pieces([f"{before}{body}{after}"])


def hash_body_pieces(body: Iterable[str], agent: str, status: str, parent_hash: str | None) -> str:
    """Hash a body that comes in pieces, as `hash_canonical_body` does."""
    before, after = _surround_body(agent, status, parent_hash)
    return hash_pieces(chain([before], body, [after]))


def _surround_body(agent: str, status: str, parent_hash: str | None) -> tuple[str, str]:
    parent = "null" if parent_hash is None else f'"{parent_hash}"'
    return f'{{"agent":{_quote(agent)},"body":', f',"parent":{parent},"status":{_quote(status)}}}'


_quote = lru_cache(256)(to_canonical)


def read_type(text: str) -> str:
    """Return the type that a stored body, also a damaged one, names at its end; else that of a note (a system message)."""
    return next((kind for kind in _MESSAGE_CLASSES if text.endswith(f'"type":"{kind}"}}')), "system")


def make_empty_body(text: str) -> dict[str, Any]:
    """Build an empty message of the type that a damaged body still names, or else a note."""
    return {"type": read_type(text), "data": {"content": ""}}


def hash_document(document: dict[str, Any]) -> str:
    return hash_pieces(iterate_canonical(document))


def hash_pieces(texts: Iterable[str]) -> str:
    """Hash texts as one.

    For more bytes in one call, `hashlib` releases Python's lock and takes it again before a waiting thread wakes. That
    thread waits anew each time: 200 ms beside an import.
    """
    found = hashlib.sha256()
    for text in texts:
        if len(text) < _MAX_LOCKED_CHARS:
            found.update(text.encode())
            continue
        for first in range(0, len(text), _MAX_ENCODED_CHARS):  # a text of megabytes is not copied once more
            raw = text[first : first + _MAX_ENCODED_CHARS].encode()
            for start in range(0, len(raw), _MAX_LOCKED_BYTES):
                found.update(raw[start : start + _MAX_LOCKED_BYTES])
    return HASH_PREFIX + found.hexdigest()


def find_message_class(kind: str) -> type[BaseMessage] | None:
    """Return the class of the messages of a type; None for a type that is not stored."""
    return _MESSAGE_CLASSES.get(kind)


def _check_type(kind: str) -> str:
    if kind not in _MESSAGE_CLASSES:
        raise ValueError(f"{kind!r} is not a type of message")
    return kind


@cache
def _default_fields(kind: type[BaseMessage]) -> dict[str, Any]:
    """Return the default values of a message class. `content` is not among them: it is always written."""
    fields = kind.model_fields.items()
    return {
        name: field.get_default(call_default_factory=True, validated_data={}) for name, field in fields if name != "content"
    }


def _equals_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def sanitize_text(text: str) -> str:
    """Join or replace lone surrogates, which no database can store; replace NUL, which PostgreSQL cannot store.

    A stream, or a text that a browser cut to a length, may contain lone surrogates. More than MAX_SURROGATES are left out:
    Python calls a function for each that it joins or replaces.
    """
    if text.isascii() and "\0" not in text:  # most texts: an import sanitizes thousands under the write lock
        return text
    whole = text.encode(errors="ignore").decode()
    if 0 < len(text) - len(whole) <= MAX_SURROGATES:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\ufffd")


def sanitize_json(value: Any) -> Any:
    """Return JSON with every text in it sanitized, keys included."""
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, dict):
        return {sanitize_text(key): sanitize_json(each) for key, each in value.items()}
    return [sanitize_json(each) for each in value] if isinstance(value, list) else value


def parse_leniently(text: str | bytes) -> Any:
    """Parse a column of JSON. Damaged JSON becomes an empty object, so that one damaged row hides no other row."""
    if text in ("{}", b"{}"):  # most rows; skips parsing: a seventh of the time for a long list
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def require_exact(body: dict[str, Any]) -> dict[str, Any]:
    """Refuse values that JSON would change: tuples, sets, keys that are not text, NaN, lone surrogates."""
    text = to_canonical(body)
    text.encode()  # UnicodeEncodeError (a ValueError) for a lone surrogate
    back: dict[str, Any] = json.loads(text)
    if back != body:
        raise TypeError("a message holds something that JSON cannot carry exactly")
    return back
