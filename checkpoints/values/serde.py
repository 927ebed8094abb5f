"""Messages as plain JSON, and the hashes over them.

A body is LangChain's `message_to_dict` form without default values: `{"type": "human", "data": {"content": "hello"}}`. Only
`messages_from_dict` and validation rebuild it: never pickle, msgpack or `load()`, which construct any object named in the
data. A message's hash covers its canonical JSON and its parent's hash, so equal hashes mean equal histories.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
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

# A text with more lone surrogates loses them: see `sanitize_text`.
MAX_SURROGATES = 20_000
HASH_PREFIX = "sha256:"
# `hashlib` hashes this many bytes in a call without releasing Python's lock.
_MAX_LOCKED_BYTES = 2_047
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
# The constructor takes these names, but validation does not.
_CONSTRUCTOR_ONLY = frozenset({"self", "content_blocks"})
_CANONICAL_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class UnreadableMessageError(ValueError):
    """A message has fields from which it cannot be rebuilt: code can set any value after the constructor."""


def to_body(message: BaseMessage) -> dict[str, Any]:
    """Convert a message to plain JSON; a chunk becomes a complete message first. Raises `UnreadableMessageError`, and
    `TypeError` or `ValueError` for values JSON cannot carry exactly."""
    if isinstance(message, BaseMessageChunk):
        message = message_chunk_to_message(message)
    body = require_exact(strip_defaults(message))
    try:
        to_message(body)
    except ValueError as error:
        raise UnreadableMessageError from error
    return body


def normalize_body(body: dict[str, Any]) -> dict[str, Any]:
    """Return a body as `to_body` writes it. Raises `TypeError` or `ValueError` if it is no message's."""
    return require_exact(strip_defaults(to_message(body)))


def strip_defaults(message: BaseMessage) -> dict[str, Any]:
    """Convert a message like `to_body`, unchecked, for comparison with JSON."""
    full = message_to_dict(message)
    # A type that cannot be read again is not written.
    kind = _check_type(full["type"])
    defaults = _default_fields(type(message))
    data = {
        key: value for key, value in full["data"].items() if key not in defaults or not _equals_default(value, defaults[key])
    }
    return {"type": kind, "data": data}


def to_message(body: dict[str, Any]) -> BaseMessage:
    """Build a new LangChain message. Raises `ValueError` for an unknown type.

    Token usage LangChain cannot read is dropped, since no content is lost with it.
    """
    # LangChain keeps references into its argument.
    return _construct_message(body["type"], _copy_json(body["data"]))


def parse_message(text: str) -> BaseMessage:
    body = parse_canonical(text)
    return _construct_message(body["type"], body["data"])


def _construct_message(kind: str, data: dict[str, Any]) -> BaseMessage:
    """Build a message. It keeps references into `data`, and may change it."""
    message_type = _MESSAGE_CLASSES[_check_type(kind)]
    try:
        if "content" not in data or not _CONSTRUCTOR_ONLY.isdisjoint(data):
            return messages_from_dict([{"type": kind, "data": data}])[0]
        # The constructor's four layers take longer than this validation call, in which it ends.
        new: BaseMessage = message_type.__new__(message_type)
        return cast(BaseMessage, message_type.__pydantic_validator__.validate_python(data, self_instance=new))
    except ValueError:
        if "usage_metadata" not in data:
            raise
        return _construct_message(kind, {key: value for key, value in data.items() if key != "usage_metadata"})
    except (AttributeError, LookupError, TypeError) as error:
        # LangChain takes some shapes for granted.
        raise ValueError("is not a message") from error


def _copy_json(value: dict[str, Any]) -> dict[str, Any]:
    def copy_value(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: copy_value(each) for key, each in value.items()}
        return [copy_value(each) for each in value] if isinstance(value, list) else value

    try:
        return {key: copy_value(each) for key, each in value.items()}
    except RecursionError:
        # The encoder nests twice as deep.
        return cast(dict[str, Any], json.loads(json.dumps(value)))


def parse_canonical(text: str) -> Any:
    """Parse JSON from `to_canonical`, in half the time of Python's parser."""
    try:
        return from_json(text)
    except ValueError:
        # It is nested deeper than 200 levels.
        return json.loads(text)


def to_canonical(value: Any) -> str:
    """Serialize a value as canonical JSON: sorted keys, no spaces, no NaN."""
    return _CANONICAL_ENCODER.encode(value)


def format_indented(value: Any) -> str:
    """Serialize plain JSON for people, indented. Python's encoder needs a step per level for each value."""
    try:
        return to_json(value, indent=2, inf_nan_mode="constants").decode()
    except ValueError:
        # It is nested deeper than 200 levels, or has a lone surrogate.
        return json.dumps(value, ensure_ascii=False)


def iterate_canonical(document: dict[str, Any]) -> Iterator[str]:
    """Yield a document's canonical JSON in pieces, a piece for each list item. A single call of the encoder would
    block all other threads for 200 ms for 10 MB."""
    members = sorted(document.items())
    return iterate_object((key, map(to_canonical, v) if isinstance(v, list) else to_canonical(v)) for key, v in members)


def iterate_object(members: Iterable[tuple[str, str | Iterable[str]]]) -> Iterator[str]:
    """Yield an object's JSON in pieces. Each member is JSON already, or the items of a list."""
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
    """Hash canonical JSON of a body, so a stored message is checked without parsing.

    The hash covers `to_canonical({"agent": …, "body": …, "parent": …, "status": …})`, concatenated by hand.
    """
    parent = "null" if parent_hash is None else f'"{parent_hash}"'
    return hash_pieces([f'{{"agent":{_quote(agent)},"body":', body, f',"parent":{parent},"status":{_quote(status)}}}'])


_quote = lru_cache(256)(to_canonical)


def read_type(text: str) -> str:
    """Return the type at the end of a stored body, which may be damaged. The default is system, the type of notes."""
    return next((kind for kind in _MESSAGE_CLASSES if text.endswith(f'"type":"{kind}"}}')), "system")


def make_empty_body(text: str) -> dict[str, Any]:
    """Build an empty message of the type a damaged body still names, or else a note."""
    return {"type": read_type(text), "data": {"content": ""}}


def hash_document(document: dict[str, Any]) -> str:
    return hash_pieces(iterate_canonical(document))


def hash_pieces(texts: Iterable[str]) -> str:
    """Hash texts as one.

    For larger inputs, `hashlib` releases Python's lock and takes it again before a waiting thread wakes. The thread
    then waits again, up to 200 ms beside an import.
    """
    found = hashlib.sha256()
    for text in texts:
        if len(text) < _MAX_LOCKED_CHARS:
            found.update(text.encode())
            continue
        # This avoids another copy of a text of megabytes.
        for first in range(0, len(text), _MAX_ENCODED_CHARS):
            raw = text[first : first + _MAX_ENCODED_CHARS].encode()
            for start in range(0, len(raw), _MAX_LOCKED_BYTES):
                found.update(raw[start : start + _MAX_LOCKED_BYTES])
    return HASH_PREFIX + found.hexdigest()


def find_message_class(kind: str) -> type[BaseMessage] | None:
    """Return the message class of a type, or None for a type that is not stored."""
    return _MESSAGE_CLASSES.get(kind)


def _check_type(kind: str) -> str:
    if kind not in _MESSAGE_CLASSES:
        raise ValueError(f"{kind!r} is not a type of message")
    return kind


@cache
def _default_fields(kind: type[BaseMessage]) -> dict[str, Any]:
    """Return a message class's default values. `content` is left out, because it is always written."""
    fields = kind.model_fields.items()
    return {
        name: field.get_default(call_default_factory=True, validated_data={}) for name, field in fields if name != "content"
    }


def _equals_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def sanitize_text(text: str) -> str:
    """Join or replace lone surrogates, which no database can store, and replace NUL, which PostgreSQL cannot store.
    Lone surrogates come from streams and from texts cut by a browser. More than MAX_SURROGATES are dropped, because
    Python calls a function for each that it joins or replaces."""
    if text.isascii() and "\0" not in text:
        # Most texts are plain. An import sanitizes thousands under the write lock.
        return text
    whole = text.encode(errors="ignore").decode()
    if 0 < len(text) - len(whole) <= MAX_SURROGATES:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "\ufffd")


def sanitize_json(value: Any) -> Any:
    if isinstance(value, str):
        return sanitize_text(value)
    if isinstance(value, dict):
        return {sanitize_text(key): sanitize_json(each) for key, each in value.items()}
    return [sanitize_json(each) for each in value] if isinstance(value, list) else value


def parse_leniently(text: str | bytes) -> Any:
    """Parse a JSON column. Damaged JSON becomes an empty object, so a damaged row hides no other row."""
    if text in ("{}", b"{}"):
        # Most rows are empty. Skipping the parser saves a seventh of the time for a long list.
        return {}
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def require_exact(body: dict[str, Any]) -> dict[str, Any]:
    """Refuse values JSON would change: tuples, sets, keys other than text, NaN, lone surrogates."""
    text = to_canonical(body)
    # Raises UnicodeEncodeError, a ValueError, for a lone surrogate.
    text.encode()
    back: dict[str, Any] = json.loads(text)
    if back != body:
        raise TypeError("a message holds something that JSON cannot carry exactly")
    return back
