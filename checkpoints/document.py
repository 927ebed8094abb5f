"""The export format waymark/1 as values: a text is read completely, or refused with one sentence that names the field."""

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from checkpoints import files, serde, strict_json
from checkpoints.errors import InvalidDocumentError, InvalidFileError
from checkpoints.files import File
from checkpoints.limits import MAX_TOKENS
from checkpoints.model import DESCRIPTION_LENGTH, NAME_LENGTH, UNTITLED, Actor, MessageStatus, named

FORMAT = "waymark/1"
MAX_BYTES = 10_000_000
MAX_MESSAGES = 100_000
MAX_MARKS = 10_000  # branches and checkpoints together
_SAID = ("text", "output_text", "refusal", "thinking", "redacted_thinking", "reasoning", "reasoning_content", "tool_use")

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character")  # not every database can keep it
    return text


Agent = Annotated[str, StringConstraints(max_length=NAME_LENGTH), AfterValidator(_without_nul)]  # hashed, so as it is
Name = Annotated[Agent, AfterValidator(named)]
Description = Annotated[str, StringConstraints(max_length=DESCRIPTION_LENGTH), AfterValidator(_without_nul)]


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
    title: Annotated[Name, AfterValidator(lambda title: title or UNTITLED)]
    settings: dict[str, Any] = {}


class MessagePart(_Part):
    id: Id
    parent_id: Id | None
    agent: Agent
    status: MessageStatus
    created_at: Time
    message: dict[str, Any]  # as in serde: {"type": …, "data": {…}}
    hash: str


class BranchPart(_Part):
    id: Id
    name: Annotated[Name, AfterValidator(lambda name: name or "Branch")]
    head: Id | None


class CheckpointPart(_Part):
    id: Id
    name: Name
    description: Description = ""
    created_by: Actor = "user"
    timestamp: Time
    message_id: Id
    message_count: int
    branch: Id
    tokens: Annotated[int, Field(ge=0, le=MAX_TOKENS)] | None = None
    pinned: bool = False
    detached: bool = False  # listed although it is off its branch's path
    extra: dict[str, Any] = {}


class FilePart(_Part):
    """An attached file; what it is called, the messages say that name it."""

    hash: str
    media_type: str
    data: str  # base64


class Document(_Part):
    """A whole conversation: every message once, parents before children, and every attached file once."""

    format: Literal["waymark/1"]
    exported_at: Time
    thread: ThreadPart
    messages: Annotated[list[MessagePart], Field(max_length=MAX_MESSAGES)]
    branches: Annotated[list[BranchPart], Field(min_length=1)]
    checkpoints: list[CheckpointPart]
    active: Id  # the branch that the conversation stands on
    files: list[FilePart] = []
    sha256: str

    @property
    def active_head(self) -> str | None:
        return next(branch.head for branch in self.branches if branch.id == self.active)

    @cached_property
    def attached(self) -> dict[str, File]:
        """The files by hash. Raises `InvalidDocumentError` for what could not have been attached."""
        return dict(_file(part, f"files[{index}]") for index, part in enumerate(self.files))

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


def schema() -> dict[str, Any]:
    """The format as a JSON Schema, for docs/. What it cannot say (chains, references, hashes) is checked by `read`."""
    made = Document.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": f"A Waymark export, {FORMAT}"}


def read(text: str | bytes) -> Document:
    """The document in `text`, which may also be of a form in `read_all`. Raises `InvalidDocumentError`, also for several."""
    found = read_all(text)
    if len(found) != 1:
        raise InvalidDocumentError(f"The file holds {len(found)} conversations, and only one can be read here.")
    return found[0]


def read_all(text: str | bytes) -> list[Document]:
    """The documents in `text`: one, of the format waymark/1 or of the older form, or each chat of an export of Open WebUI.

    Raises `InvalidDocumentError`.
    """
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if len(raw) > MAX_BYTES:
        raise InvalidDocumentError(f"The file is larger than {MAX_BYTES // 1_000_000} MB.")
    return [_checked(value) for value in _converted(strict_json.parse(raw))]


def _converted(value: Any) -> list[dict[str, Any]]:
    """Whatever form it has, as waymark/1."""
    from checkpoints import older, open_webui  # noqa: PLC0415  (they build documents themselves)

    if open_webui.is_export(value):
        return open_webui.convert(value)
    if not isinstance(value, dict):
        raise InvalidDocumentError("The file is not a Waymark export: it does not hold one JSON object.")
    if "format" not in value and isinstance(value.get("checkpoints"), dict):
        return [older.convert(value)]
    if value.get("format") != FORMAT:
        raise InvalidDocumentError(f"is not {FORMAT!r}, the only one that can be read", "format")
    return [value]


def _checked(value: dict[str, Any]) -> Document:
    document = _validated(value)
    _check(document, value)
    return document


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
    if len(document.branches) + len(document.checkpoints) > MAX_MARKS:
        field = "branches" if len(document.branches) > len(document.checkpoints) else "checkpoints"
        raise InvalidDocumentError(f"There are more than {MAX_MARKS:,} branches and checkpoints, which is too many", field)
    hashes = _check_messages(document)
    _check_files(document)
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
        _check_body(message.message, f"{field}.message", document.attached)
        parent = hashes[message.parent_id] if message.parent_id else None
        hashes[message.id] = serde.content_hash(message.message, message.agent, message.status, parent)
        if message.hash != hashes[message.id]:
            raise InvalidDocumentError("does not fit the message: the file is damaged or was edited", f"{field}.hash")
    return hashes


def _check_body(body: dict[str, Any], field: str, attached: Mapping[str, File]) -> None:
    if set(body) != {"type", "data"} or not isinstance(body["data"], dict):
        raise InvalidDocumentError('must have exactly "type" and "data"', field)
    content = body["data"].get("content")
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if files.is_part(part) and body["type"] == "human":
            _check_attached(part, f"{field}.data.content[{index}]", attached)
        elif not _is_text(part):
            raise InvalidDocumentError("holds something other than text, which cannot be imported", f"{field}.data.content")
    try:
        same = serde.to_body(serde.to_message(body)) == body
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidDocumentError("is not a message", field) from error
    if not same:
        raise InvalidDocumentError("is not a message as Waymark writes it", field)


def _file(part: FilePart, field: str) -> tuple[str, File]:
    try:
        file = files.read("file", base64.b64decode(part.data, validate=True))
    except (InvalidFileError, binascii.Error, ValueError) as error:
        raise InvalidDocumentError("is not a file that can be attached", f"{field}.data") from error
    if (file.hash, file.media_type) != (part.hash, part.media_type):
        raise InvalidDocumentError("does not fit the data: the file is damaged or was edited", f"{field}.hash")
    return file.hash, file


def _check_attached(part: dict[str, Any], field: str, attached: Mapping[str, File]) -> None:
    if not isinstance(part["file"], str) or (file := attached.get(part["file"])) is None:
        raise InvalidDocumentError("names a file that is not in the file", f"{field}.file")
    if not isinstance(part["name"], str) or files.name_of(part["name"]) != part["name"]:
        raise InvalidDocumentError("is not the name of a file", f"{field}.name")
    if part != {**files.part(file), "name": part["name"]}:
        raise InvalidDocumentError("does not fit the file that it names", field)


def _check_files(document: Document) -> None:
    contents = [message.message["data"].get("content") for message in document.messages]
    named = {part["file"] for content in contents for part in files.parts(content)}
    for index, part in enumerate(document.files):
        if part.hash not in named:
            raise InvalidDocumentError("is named by no message in the file", f"files[{index}].hash")


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
