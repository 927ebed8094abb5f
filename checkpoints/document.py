"""The export format waymark/1 as values: a text is read completely, or refused with one sentence that names the field."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from checkpoints import serde
from checkpoints.errors import InvalidDocumentError
from checkpoints.model import DESCRIPTION_LENGTH, NAME_LENGTH, Actor, MessageStatus

FORMAT = "waymark/1"
MAX_BYTES = 10_000_000
MAX_DEPTH = 100
MAX_MESSAGES = 100_000
_SAID = ("text", "output_text", "refusal", "thinking", "redacted_thinking", "reasoning", "reasoning_content", "tool_use")

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Name = Annotated[str, StringConstraints(max_length=NAME_LENGTH)]


def _storable(time: datetime) -> datetime:
    """In UTC, and refused if its year is not one there: it could be written, but never be read again."""
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is not a time that can be kept") from error


Time = Annotated[AwareDatetime, AfterValidator(_storable)]


class _Part(BaseModel):
    # JSON mode turns ISO texts into times and lists into tuples, and nothing else into anything.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ThreadPart(_Part):
    title: Name
    settings: dict[str, Any] = {}


class MessagePart(_Part):
    id: Id
    parent_id: Id | None
    agent: Name
    status: MessageStatus
    created_at: Time
    message: dict[str, Any]  # as in serde: {"type": …, "data": {…}}
    hash: str


class BranchPart(_Part):
    id: Id
    name: Name
    head: Id | None


class CheckpointPart(_Part):
    id: Id
    name: Name
    description: Annotated[str, StringConstraints(max_length=DESCRIPTION_LENGTH)] = ""
    created_by: Actor = "user"
    timestamp: Time
    message_id: Id
    message_count: int
    branch: Id
    tokens: Annotated[int, Field(ge=0, le=2**53)] | None = None
    pinned: bool = False
    detached: bool = False  # listed although it is off its branch's path
    extra: dict[str, Any] = {}


class Document(_Part):
    """A whole conversation: every message once, parents before children."""

    format: Literal["waymark/1"]
    exported_at: Time
    thread: ThreadPart
    messages: Annotated[list[MessagePart], Field(max_length=MAX_MESSAGES)]
    branches: Annotated[list[BranchPart], Field(min_length=1)]
    checkpoints: list[CheckpointPart]
    active: Id  # the branch that the conversation stands on
    sha256: str

    @property
    def active_head(self) -> str | None:
        return next(branch.head for branch in self.branches if branch.id == self.active)

    def path(self) -> list[MessagePart]:
        """The messages of the conversation as it stands."""
        by_id = {message.id: message for message in self.messages}
        found, identifier = [], self.active_head
        while identifier is not None:
            found.append(by_id[identifier])
            identifier = by_id[identifier].parent_id
        return found[::-1]


def to_text(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def body_hash(document: dict[str, Any]) -> str:
    """The hash over everything but the wrapping: the same conversation exported twice has the same one."""
    return serde.document_hash({key: document[key] for key in document if key not in {"exported_at", "sha256"}})


def read(text: str | bytes) -> Document:
    """The document in `text`, which may also be of the older form. Raises `InvalidDocumentError`."""
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if len(raw) > MAX_BYTES:
        raise InvalidDocumentError(f"The file is larger than {MAX_BYTES // 1_000_000} MB.")
    value = _parse(raw)
    if not isinstance(value, dict):
        raise InvalidDocumentError("The file is not a Waymark export: it does not hold one JSON object.")
    if "format" not in value and isinstance(value.get("checkpoints"), dict):
        from checkpoints import older  # noqa: PLC0415  (it builds a Document itself)

        value = older.convert(value)
    elif value.get("format") != FORMAT:
        raise InvalidDocumentError(f"is not {FORMAT!r}, the only one that can be read", "format")
    document = _validated(value)
    _check(document, value)
    return document


def _parse(raw: bytes) -> Any:  # JSON
    try:
        value = json.loads(raw.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError as error:
        raise InvalidDocumentError(f"The file is nested deeper than {MAX_DEPTH} levels.") from error
    except UnicodeDecodeError as error:
        raise InvalidDocumentError("The file is not UTF-8 text.") from error
    except json.JSONDecodeError as error:
        raise InvalidDocumentError(f"The file is not JSON (line {error.lineno}, column {error.colno}).") from error
    except ValueError as error:
        if isinstance(error, InvalidDocumentError):
            raise
        raise InvalidDocumentError("The file holds a number that is too long.") from error  # Python's limit on digits
    _check_depth(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise InvalidDocumentError("stands twice in one object", twice[:80])
    return found


def _no_constant(name: str) -> Any:
    raise InvalidDocumentError(f"The file holds {name}, which is not a JSON number.")


def _check_depth(value: Any) -> None:
    """Refuse deep nesting and half surrogate pairs, without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.keys())
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, str) and not _encodable(item):
                raise InvalidDocumentError("The file holds half of a surrogate pair, which is not text.")
            elif isinstance(item, float) and item in (float("inf"), float("-inf")):
                raise InvalidDocumentError("The file holds a number that is too large.")
        level = below
        if not level:
            return
    raise InvalidDocumentError(f"The file is nested deeper than {MAX_DEPTH} levels.")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _validated(value: dict[str, Any]) -> Document:
    try:
        return Document.model_validate_json(serde.canonical(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        reason = str(first["ctx"]["error"]) if first["type"] == "value_error" else _reason(first["type"], first["msg"])
        raise InvalidDocumentError(reason, _field(first["loc"])) from error


def _reason(kind: str, message: str) -> str:
    known = {"missing": "is missing", "extra_forbidden": "is not part of the format"}
    return known.get(kind, message[0].lower() + message[1:])


def _field(location: tuple[int | str, ...]) -> str:
    """`messages[3].parent_id`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _check(document: Document, value: dict[str, Any]) -> None:
    """What a schema cannot say: the chain, the references, the hashes."""
    hashes = _check_messages(document)
    depths: dict[str | None, int] = {None: 0}
    for message in document.messages:
        depths[message.id] = depths[message.parent_id] + 1
    branches = _check_branches(document, hashes)
    seen: set[str] = set()
    for index, checkpoint in enumerate(document.checkpoints):
        field = f"checkpoints[{index}]"
        if checkpoint.id in seen:
            raise InvalidDocumentError("is the id of another checkpoint in this file", f"{field}.id")
        seen.add(checkpoint.id)
        if checkpoint.message_id not in hashes:
            raise InvalidDocumentError("names a message that is not in the file", f"{field}.message_id")
        if checkpoint.branch not in branches:
            raise InvalidDocumentError("names a branch that is not in the file", f"{field}.branch")
        if checkpoint.message_count != depths[checkpoint.message_id]:
            raise InvalidDocumentError("does not fit the messages in the file", f"{field}.message_count")
    if document.active not in branches:
        raise InvalidDocumentError("names a branch that is not in the file", "active")
    if document.sha256 != body_hash(value):
        raise InvalidDocumentError("does not fit: the file was changed after it was exported", "sha256")


def _check_messages(document: Document) -> dict[str, str]:
    """The hash of every message by its id, each derived again."""
    hashes: dict[str, str] = {}
    for index, message in enumerate(document.messages):
        field = f"messages[{index}]"
        if message.id in hashes:
            raise InvalidDocumentError("is the id of another message in this file", f"{field}.id")
        if message.parent_id is not None and message.parent_id not in hashes:
            raise InvalidDocumentError("names a message that does not come before it", f"{field}.parent_id")
        _check_body(message.message, f"{field}.message")
        parent = hashes[message.parent_id] if message.parent_id else None
        hashes[message.id] = serde.content_hash(message.message, message.agent, message.status, parent)
        if message.hash != hashes[message.id]:
            raise InvalidDocumentError("does not fit the message: the file is damaged or was edited", f"{field}.hash")
    return hashes


def _check_body(body: dict[str, Any], field: str) -> None:
    if set(body) != {"type", "data"} or not isinstance(body["data"], dict):
        raise InvalidDocumentError('must have exactly "type" and "data"', field)
    if isinstance(body["data"].get("content"), list) and not all(_is_text(part) for part in body["data"]["content"]):
        raise InvalidDocumentError("holds something other than text, which cannot be imported", f"{field}.data.content")
    try:
        same = serde.to_body(serde.to_message(body)) == body
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidDocumentError("is not a message", field) from error
    if not same:
        raise InvalidDocumentError("is not a message as Waymark writes it", field)


def _is_text(part: Any) -> bool:
    """Text, or a part in which a model says what it thinks and calls: nothing that names a thing to be fetched."""
    return isinstance(part, str) or (isinstance(part, dict) and part.get("type") in _SAID)


def _check_branches(document: Document, hashes: dict[str, str]) -> set[str]:
    found: set[str] = set()
    for index, branch in enumerate(document.branches):
        if branch.id in found:
            raise InvalidDocumentError("is the id of another branch in this file", f"branches[{index}].id")
        if branch.head is not None and branch.head not in hashes:
            raise InvalidDocumentError("names a message that is not in the file", f"branches[{index}].head")
        found.add(branch.id)
    return found
