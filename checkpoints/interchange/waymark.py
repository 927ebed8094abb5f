"""The export format waymark/1 as values: a text is read completely, or refused with one sentence that names the field."""

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from checkpoints import files, serde
from checkpoints.errors import InvalidDocumentError, InvalidFileError
from checkpoints.files import File
from checkpoints.interchange import strict_json
from checkpoints.limits import MAX_TOKENS
from checkpoints.model import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, UNTITLED, Actor, MessageStatus, clean_name

FORMAT = "waymark/1"
MAX_DOCUMENT_BYTES = 10_000_000
MAX_DOCUMENT_MESSAGES = 100_000
MAX_BRANCHES_AND_CHECKPOINTS = 10_000  # branches and checkpoints together
_TEXT_PART_TYPES = (
    "text",
    "output_text",
    "refusal",
    "thinking",
    "redacted_thinking",
    "reasoning",
    "reasoning_content",
    "tool_use",
)

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _refuse_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character")  # not every database can keep it
    return text


Agent = Annotated[str, StringConstraints(max_length=MAX_NAME_CHARS), AfterValidator(_refuse_nul)]  # hashed, so as it is
Name = Annotated[Agent, AfterValidator(clean_name)]
Description = Annotated[str, StringConstraints(max_length=MAX_DESCRIPTION_CHARS), AfterValidator(_refuse_nul)]


def _to_storable_time(time: datetime) -> datetime:
    """In UTC, and refused if its year is not one there: it could be written, but never be read again."""
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is not a time that can be kept") from error


Time = Annotated[AwareDatetime, AfterValidator(_to_storable_time)]


class _StrictModel(BaseModel):
    # JSON mode turns ISO texts into times and lists into tuples, and nothing else into anything.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ThreadPart(_StrictModel):
    title: Annotated[Name, AfterValidator(lambda title: title or UNTITLED)]
    settings: dict[str, Any] = {}


class MessagePart(_StrictModel):
    id: Id
    parent_id: Id | None
    agent: Agent
    status: MessageStatus
    created_at: Time
    message: dict[str, Any]  # as in serde: {"type": …, "data": {…}}
    hash: str


class BranchPart(_StrictModel):
    id: Id
    name: Annotated[Name, AfterValidator(lambda name: name or "Branch")]
    head: Id | None


class CheckpointPart(_StrictModel):
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


class FilePart(_StrictModel):
    """An attached file; what it is called, the messages say that name it."""

    hash: str
    media_type: str
    data: str  # base64


class Document(_StrictModel):
    """A whole conversation: every message once, parents before children, and every attached file once."""

    format: Literal["waymark/1"]
    exported_at: Time
    thread: ThreadPart
    messages: Annotated[list[MessagePart], Field(max_length=MAX_DOCUMENT_MESSAGES)]
    branches: Annotated[list[BranchPart], Field(min_length=1)]
    checkpoints: list[CheckpointPart]
    active: Id  # the branch that the conversation stands on
    files: list[FilePart] = []
    sha256: str

    @property
    def active_head(self) -> str | None:
        return next(branch.head for branch in self.branches if branch.id == self.active)

    @cached_property
    def files_by_hash(self) -> dict[str, File]:
        """The files by hash. Raises `InvalidDocumentError` for what could not have been attached."""
        return dict(_decode_file(part, f"files[{index}]") for index, part in enumerate(self.files))

    def current_messages(self) -> list[MessagePart]:
        """The messages of the conversation as it stands."""
        by_id = {message.id: message for message in self.messages}
        found, identifier = [], self.active_head
        while identifier is not None:
            found.append(by_id[identifier])
            identifier = by_id[identifier].parent_id
        return found[::-1]


def to_json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def hash_contents(document: dict[str, Any]) -> str:
    """The hash over everything but the wrapping: the same conversation exported twice has the same one."""
    return serde.hash_document({key: document[key] for key in document if key not in {"exported_at", "sha256"}})


def build_json_schema() -> dict[str, Any]:
    """The format as a JSON Schema, for docs/. What it cannot say (chains, references, hashes) is checked by `read`."""
    made = Document.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": f"A Waymark export, {FORMAT}"}


def read_document(text: str | bytes) -> Document:
    """The document in `text`, which may also be of a form in `read_all`. Raises `InvalidDocumentError`, also for several."""
    found = read_documents(text)
    if len(found) != 1:
        raise InvalidDocumentError(f"The file holds {len(found)} conversations, and only one can be read here.")
    return found[0]


def read_documents(text: str | bytes) -> list[Document]:
    """The documents in `text`: one, of the format waymark/1 or of the older form, or each chat of an export of Open WebUI.

    Raises `InvalidDocumentError`.
    """
    raw = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise InvalidDocumentError(f"The file is larger than {MAX_DOCUMENT_BYTES // 1_000_000} MB.")
    return [check_document(value) for value in _convert_to_waymark(strict_json.parse_strictly(raw))]


def _convert_to_waymark(value: Any) -> list[dict[str, Any]]:
    """Whatever form it has, as waymark/1."""
    from checkpoints.interchange import legacy, open_webui  # noqa: PLC0415  (they build documents themselves)

    if open_webui.is_open_webui(value):
        return open_webui.convert_open_webui(value)
    if not isinstance(value, dict):
        raise InvalidDocumentError("The file is not a Waymark export: it does not hold one JSON object.")
    if "format" not in value and isinstance(value.get("checkpoints"), dict):
        return [legacy.convert_legacy(value)]
    if value.get("format") != FORMAT:
        raise InvalidDocumentError(f"is not {FORMAT!r}, the only one that can be read", "format")
    return [value]


def check_document(value: dict[str, Any]) -> Document:
    document = _parse_model(value)
    _check_consistency(document, value)
    return document


def _parse_model(value: dict[str, Any]) -> Document:
    try:
        return Document.model_validate_json(serde.to_canonical(value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        reason = (
            str(first["ctx"]["error"]) if first["type"] == "value_error" else _explain_error(first["type"], first["msg"])
        )
        raise InvalidDocumentError(reason, _format_location(first["loc"])) from error


def _explain_error(kind: str, message: str) -> str:
    known = {"missing": "is missing", "extra_forbidden": "is not part of the format"}
    return known.get(kind, message[0].lower() + message[1:])


def _format_location(location: tuple[int | str, ...]) -> str:
    """`messages[3].parent_id`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _check_consistency(document: Document, value: dict[str, Any]) -> None:
    """What a schema cannot say: the chain, the references, the hashes."""
    if len(document.branches) + len(document.checkpoints) > MAX_BRANCHES_AND_CHECKPOINTS:
        field = "branches" if len(document.branches) > len(document.checkpoints) else "checkpoints"
        raise InvalidDocumentError(
            f"There are more than {MAX_BRANCHES_AND_CHECKPOINTS:,} branches and checkpoints, which is too many", field
        )
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
    if document.sha256 != hash_contents(value):
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
        _check_body(message.message, f"{field}.message", document.files_by_hash)
        parent = hashes[message.parent_id] if message.parent_id else None
        hashes[message.id] = serde.hash_message(message.message, message.agent, message.status, parent)
        if message.hash != hashes[message.id]:
            raise InvalidDocumentError("does not fit the message: the file is damaged or was edited", f"{field}.hash")
    return hashes


def _check_body(body: dict[str, Any], field: str, files_by_hash: Mapping[str, File]) -> None:
    if set(body) != {"type", "data"} or not isinstance(body["data"], dict):
        raise InvalidDocumentError('must have exactly "type" and "data"', field)
    content = body["data"].get("content")
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if files.is_file_part(part) and body["type"] == "human":
            _check_file_part(part, f"{field}.data.content[{index}]", files_by_hash)
        elif not _is_text_part(part):
            raise InvalidDocumentError("holds something other than text, which cannot be imported", f"{field}.data.content")
    try:
        same = serde.to_body(serde.to_message(body)) == body
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidDocumentError("is not a message", field) from error
    if not same:
        raise InvalidDocumentError("is not a message as Waymark writes it", field)


def _decode_file(part: FilePart, field: str) -> tuple[str, File]:
    try:
        file = files.parse_file("file", base64.b64decode(part.data, validate=True))
    except (InvalidFileError, binascii.Error, ValueError) as error:
        raise InvalidDocumentError("is not a file that can be attached", f"{field}.data") from error
    if (file.hash, file.media_type) != (part.hash, part.media_type):
        raise InvalidDocumentError("does not fit the data: the file is damaged or was edited", f"{field}.hash")
    return file.hash, file


def _check_file_part(part: dict[str, Any], field: str, files_by_hash: Mapping[str, File]) -> None:
    if not isinstance(part["file"], str) or (file := files_by_hash.get(part["file"])) is None:
        raise InvalidDocumentError("names a file that is not in the file", f"{field}.file")
    if not isinstance(part["name"], str) or files.clean_file_name(part["name"]) != part["name"]:
        raise InvalidDocumentError("is not the name of a file", f"{field}.name")
    if part != {**files.make_file_part(file), "name": part["name"]}:
        raise InvalidDocumentError("does not fit the file that it names", field)


def _check_files(document: Document) -> None:
    contents = [message.message["data"].get("content") for message in document.messages]
    named = {part["file"] for content in contents for part in files.find_file_parts(content)}
    for index, part in enumerate(document.files):
        if part.hash not in named:
            raise InvalidDocumentError("is named by no message in the file", f"files[{index}].hash")


def _is_text_part(part: Any) -> bool:
    """Text, or a part in which a model says what it thinks and calls: nothing that names a thing to be fetched."""
    return isinstance(part, str) or (isinstance(part, dict) and part.get("type") in _TEXT_PART_TYPES)


def _check_branches(document: Document, hashes: dict[str, str]) -> set[str]:
    found: set[str] = set()
    for index, branch in enumerate(document.branches):
        if branch.id in found:
            raise InvalidDocumentError("is the id of another branch in this file", f"branches[{index}].id")
        if branch.head is not None and branch.head not in hashes:
            raise InvalidDocumentError("names a message that is not in the file", f"branches[{index}].head")
        found.add(branch.id)
    return found
