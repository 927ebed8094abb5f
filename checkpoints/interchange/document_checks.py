"""Checks of a document: its form, and the rules that no schema can express (chains, references, hashes, bounds)."""

from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from ..values import files, serde
from ..values.errors import InvalidDocumentError
from ..values.files import File
from ..values.limits import MAX_DESCRIPTION_CHARS
from ..values.sentence import sentence
from . import strict_json
from .import_limits import (
    check_alternatives,
    check_branch_and_checkpoint_count,
    check_calls,
    check_content,
    check_message_count,
    check_part_count,
    count_parts,
)
from .raw_document import RawDocument
from .state_checks import check_document_states
from .waymark import BranchPart, CheckpointPart, Document, FilePart, MessagePart, StatePart, ValuePart, WritePart


def check_document(raw: RawDocument, on_message: Callable[[], object] = lambda: None) -> Document:
    """Check a document, and drop its unreachable parts; `on_message` is called after each message.

    The bodies of the messages are built as the last step: a file that is refused takes little memory.

    Raises `InvalidDocumentError`.
    """
    if raw.refusal:
        raise raw.refusal
    head = _parse_head(raw)
    if head.sha256 != raw.hash_contents():  # first: a file that was damaged or edited is refused in half the time
        raise _find_damage(raw)
    messages = _parse_messages(raw, raw.count_items("messages"))
    named_files = set[str]()
    for index, body in enumerate(raw.iterate_items("messages")):
        _check_body(body, f"messages[{index}].message", head.files_by_hash)
        named_files.update(part["file"] for part in files.find_file_parts(body["data"].get("content")))
        on_message()
    document = head.model_copy(update={"messages": messages})
    _check_references(document, named_files)
    for message, body in zip(messages, raw.iterate_items("messages"), strict=True):
        object.__setattr__(message, "message", raw.texts.put_back(body))
    return document.drop_unreachable()


_DOCUMENT = TypeAdapter(Document)
_LISTS: dict[str, TypeAdapter[Any]] = {
    "messages": TypeAdapter(MessagePart),
    "branches": TypeAdapter(BranchPart),
    "checkpoints": TypeAdapter(CheckpointPart),
    "files": TypeAdapter(FilePart),
    "states": TypeAdapter(StatePart),
    "state_values": TypeAdapter(ValuePart),
    "state_writes": TypeAdapter(WritePart),
}
_ANY_BRANCH = {"id": "any", "name": "", "head": None}
# The field of an item that may be large, and its type. The model keeps it as it is: it is not converted and parsed again.
_LARGE_FIELDS: dict[str, tuple[str, Any]] = {
    "messages": ("message", {}),
    "checkpoints": ("extra", {}),
    "files": ("data", ""),
    "state_values": ("json", ""),
    "state_writes": ("json", ""),
}
_NO_BODY: dict[str, Any] = {}  # of a message, until all of the document is checked
_MAX_PART_TEXT_CHARS = (
    2 * MAX_DESCRIPTION_CHARS
)  # of any other text: a longer one is cut, and refused by the model all the same
MAX_SEARCHED_MESSAGES = 2_000  # of a file whose hash is wrong, for the one that is damaged
_MAX_LOCATION_CHARS = 80  # of a name from the file in a sentence


def _parse_head(raw: RawDocument) -> Document:
    """Validate all of a document but its messages, each item of its lists by itself: one call would keep all threads."""
    emptied: dict[str, Any] = {name: [] for name in raw.lists}
    if raw.lists.get("branches"):
        emptied["branches"] = [_ANY_BRANCH]  # a document has one at least
    rest = {**{name: raw.parse_value(name) for name in raw.values}, **emptied}
    for name in raw.lists.keys() - _LISTS:
        strict_json.check_part([None] * raw.count_items(name), name[:_MAX_LOCATION_CHARS])
    if isinstance(thread := rest.get("thread"), dict):
        rest["thread"] = _cut_texts(thread)
    head: Document = _parse_part(_DOCUMENT, rest, "")
    raw.texts.put_back(head.thread.settings)
    check_message_count(raw.count_items("messages"))
    check_branch_and_checkpoint_count(raw.count_items("branches"), raw.count_items("checkpoints"))
    return head.model_copy(update={name: _parse_items(raw, name) for name in raw.lists if name != "messages"})


def _parse_items(raw: RawDocument, name: str) -> list[Any]:
    """Validate the items of the list `name`, and put their long texts back."""
    parts = []
    for index, item in enumerate(raw.iterate_items(name)):
        parts.append(_parse_item(name, item, f"{name}[{index}]"))
        if name in _LARGE_FIELDS:
            field, _ = _LARGE_FIELDS[name]
            object.__setattr__(parts[-1], field, raw.texts.put_back(getattr(parts[-1], field)))
    return parts


def _find_damage(raw: RawDocument) -> InvalidDocumentError:
    """Return the refusal of a file whose hash is wrong. It names the damaged message, if that is among the first ones."""
    try:
        _parse_messages(raw, MAX_SEARCHED_MESSAGES)
    except InvalidDocumentError as error:
        return error
    return InvalidDocumentError(sentence("does not fit: the file was changed after it was exported"), "sha256")


def _parse_messages(raw: RawDocument, count: int) -> list[MessagePart]:
    """Validate the first messages with their chain, all but their bodies. These alone are left of them in `raw`."""
    parts, hashes, content_parts = list[MessagePart](), dict[str, str](), 0
    for index, message in enumerate(islice(raw.iterate_items("messages"), count)):
        field = f"messages[{index}]"
        part: MessagePart = _parse_item("messages", message, field)
        content_parts += count_parts(message)
        if part.id in hashes:
            raise InvalidDocumentError(sentence("is the id of another message in this file"), f"{field}.id")
        if part.parent_id is not None and part.parent_id not in hashes:
            raise InvalidDocumentError(sentence("names a message that does not come before it"), f"{field}.parent_id")
        body = serde.to_canonical(part.message)
        pieces = raw.iterate_pieces(body)
        hash_ = serde.hash_body_pieces(pieces, part.agent, part.status, part.parent_id and hashes[part.parent_id])
        if part.hash != hash_:
            raise InvalidDocumentError(
                sentence("does not fit the message: the file is damaged or was edited"), f"{field}.hash"
            )
        hashes[part.id] = part.hash
        raw.lists["messages"][index] = body.encode()
        object.__setattr__(part, "message", _NO_BODY)
        parts.append(part)
    check_part_count(content_parts)
    check_alternatives([part.parent_id for part in parts])
    return parts


def _parse_item(name: str, value: Any, field: str) -> Any:
    """Validate an item of the list `name`, in which stand-ins are in the place of long texts."""
    large_field, empty = _LARGE_FIELDS.get(name, ("", ""))
    large = value.get(large_field) if isinstance(value, dict) else None
    if type(large) is not type(empty):  # also where it is missing
        return _parse_part(_LISTS[name], value, field)
    part = _parse_part(_LISTS[name], {**value, large_field: empty}, field)
    object.__setattr__(part, large_field, large)  # of a frozen value: a copy of each would take a tenth of all the time
    return part


def _cut_texts(part: dict[str, Any]) -> dict[str, Any]:
    """Cut the names and texts of a part that are longer than any field may be, before anything copies them."""
    return {
        key[:_MAX_PART_TEXT_CHARS]: value[:_MAX_PART_TEXT_CHARS] if isinstance(value, str) else value
        for key, value in part.items()
    }


def _parse_part(model: TypeAdapter[Any], value: Any, field: str) -> Any:
    try:
        return model.validate_json(to_json(_cut_texts(value) if isinstance(value, dict) else value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        reason = (
            str(first["ctx"]["error"]) if first["type"] == "value_error" else _explain_error(first["type"], first["msg"])
        )
        raise InvalidDocumentError(reason, _format_location(first["loc"], field)) from error


def _explain_error(kind: str, message: str) -> str:
    """Return the predicate of a sentence about a field. Pydantic's words begin with a subject, as in “Input should”."""
    known = {"missing": sentence("is missing"), "extra_forbidden": sentence("is not part of the format")}
    _, verb, rule = message.partition(" should ")
    if kind in known:
        return known[kind]
    if verb:
        return sentence("should {rule}", rule=rule)
    return sentence("is not valid: {reason}", reason=message[0].lower() + message[1:])


def _format_location(location: tuple[int | str, ...], text: str) -> str:
    """Format the path of a field below another one, such as `messages[3].parent_id`."""
    for part in location:
        name = part[:_MAX_LOCATION_CHARS] if isinstance(part, str) else part
        text += f"[{name}]" if isinstance(name, int) else f".{name}" if text else name
    return text


def _check_references(document: Document, named_files: set[str]) -> None:
    """Check the references to messages, branches and files."""
    for index, part in enumerate(document.files):
        if part.hash not in named_files:
            raise InvalidDocumentError(sentence("is named by no message in the file"), f"files[{index}].hash")
    depths: dict[str | None, int] = {None: 0}
    for message in document.messages:
        depths[message.id] = depths[message.parent_id] + 1
    branches = _check_branches(document, depths.keys())
    seen: set[str] = set()
    for index, checkpoint in enumerate(document.checkpoints):
        field = f"checkpoints[{index}]"
        if checkpoint.id in seen:
            raise InvalidDocumentError(sentence("is the id of another checkpoint in this file"), f"{field}.id")
        seen.add(checkpoint.id)
        if checkpoint.message_id not in depths:
            raise InvalidDocumentError(sentence("names a message that is not in the file"), f"{field}.message_id")
        if checkpoint.branch not in branches:
            raise InvalidDocumentError(sentence("names a branch that is not in the file"), f"{field}.branch")
        if checkpoint.message_count != depths[checkpoint.message_id]:
            raise InvalidDocumentError(sentence("does not fit the messages in the file"), f"{field}.message_count")
    if document.active not in branches:
        raise InvalidDocumentError(sentence("names a branch that is not in the file"), "active")
    check_document_states(document)


def _check_body(body: dict[str, Any], field: str, files_by_hash: Mapping[str, File]) -> None:
    if set(body) != {"type", "data"} or not isinstance(body["data"], dict):
        raise InvalidDocumentError(sentence('must have exactly "type" and "data"'), field)
    check_calls(body, field)
    check_content(body, field)
    content = body["data"].get("content")
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if files.is_file_part(part):
            _check_file_part(part, f"{field}.data.content[{index}]", files_by_hash)
    try:
        same = serde.strip_defaults(serde.to_message(body)) == body
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidDocumentError(sentence("is not a message"), field) from error
    if not same:
        raise InvalidDocumentError(sentence("is not a message as Waymark writes it"), field)


def _check_file_part(part: dict[str, Any], field: str, files_by_hash: Mapping[str, File]) -> None:
    if not isinstance(part["file"], str) or (file := files_by_hash.get(part["file"])) is None:
        raise InvalidDocumentError(sentence("names a file that is not in the file"), f"{field}.file")
    if not isinstance(part["name"], str) or files.clean_file_name(part["name"]) != part["name"]:
        raise InvalidDocumentError(sentence("is not the name of a file"), f"{field}.name")
    if part != {**files.make_file_part(file), "name": part["name"]}:
        raise InvalidDocumentError(sentence("does not fit the file that it names"), field)


def _check_branches(document: Document, message_ids: Collection[str | None]) -> set[str]:
    found: set[str] = set()
    for index, branch in enumerate(document.branches):
        if branch.id in found:
            raise InvalidDocumentError(sentence("is the id of another branch in this file"), f"branches[{index}].id")
        if branch.head not in message_ids:
            raise InvalidDocumentError(sentence("names a message that is not in the file"), f"branches[{index}].head")
        found.add(branch.id)
    return found
