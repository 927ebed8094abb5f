"""Checks of a document: its form, and the rules that no schema can express (chains, references, hashes, bounds)."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from .. import files, serde
from ..errors import InvalidDocumentError
from ..files import File
from ..limits import MAX_DESCRIPTION_CHARS
from ..sentence import sentence
from . import strict_json
from .import_limits import (
    check_alternatives,
    check_branch_and_checkpoint_count,
    check_calls,
    check_message_count,
    check_part_count,
)
from .long_texts import PutBack
from .waymark import BranchPart, CheckpointPart, Document, FilePart, MessagePart, hash_contents

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


def check_document(
    value: dict[str, Any], on_message: Callable[[], object] = lambda: None, put_back: PutBack = lambda each: each
) -> Document:
    """Check a document, and drop what nothing of it reaches; `on_message` is called after each message.

    `put_back` restores the long texts of what may have them, in `value` as well.

    Raises `InvalidDocumentError`.
    """
    document = _parse_model(value, put_back)
    _check_consistency(document, value, on_message)
    return document.drop_unreachable()


_DOCUMENT = TypeAdapter(Document)
_LISTS: dict[str, TypeAdapter[Any]] = {
    "messages": TypeAdapter(MessagePart),
    "branches": TypeAdapter(BranchPart),
    "checkpoints": TypeAdapter(CheckpointPart),
    "files": TypeAdapter(FilePart),
}
_ANY_BRANCH = {"id": "any", "name": "", "head": None}
# The field of an item that may be large, and its type. The model keeps it as it is: it is not converted and parsed again.
_LARGE_FIELDS: dict[str, tuple[str, Any]] = {
    "messages": ("message", {}),
    "checkpoints": ("extra", {}),
    "files": ("data", ""),
}
_MAX_PART_TEXT_CHARS = (
    2 * MAX_DESCRIPTION_CHARS
)  # of any other text: a longer one is cut, and refused by the model all the same
_MAX_LOCATION_CHARS = 80  # of a name from the file in a sentence


def _parse_model(value: dict[str, Any], put_back: PutBack) -> Document:
    """Validate a document, each item of its lists by itself: one call for all would keep all other threads waiting."""
    lists = {name: items for name in _LISTS if isinstance(items := value.get(name), list)}
    emptied: dict[str, Any] = {name: [] for name in lists}
    if lists.get("branches"):
        emptied["branches"] = [_ANY_BRANCH]  # a document has one at least
    rest = {**value, **emptied}
    for name, part in rest.items():
        strict_json.check_part(part, name[:_MAX_LOCATION_CHARS])
    if isinstance(thread := rest.get("thread"), dict):
        rest["thread"] = _cut_texts(thread)
    head: Document = _parse_part(_DOCUMENT, rest, "")
    put_back([value["thread"].get("settings"), head.thread.settings])
    check_message_count(len(lists["messages"]))
    check_part_count(lists["messages"])
    parts = {
        name: [_parse_item(name, item, f"{name}[{index}]", put_back) for index, item in enumerate(items)]
        for name, items in lists.items()
    }
    return head.model_copy(update=parts)


def _parse_item(name: str, value: Any, field: str, put_back: PutBack) -> Any:
    """Validate an item of the list `name`."""
    strict_json.check_part(value, field)
    large_field, empty = _LARGE_FIELDS.get(name, ("", ""))
    large = value.get(large_field) if isinstance(value, dict) else None
    if type(large) is not type(empty):  # also where it is missing
        return _parse_part(_LISTS[name], value, field)
    part = _parse_part(_LISTS[name], {**value, large_field: empty}, field)
    # No `model_copy`: a copy of each part would take a tenth of the time of all checks.
    vars(part)[large_field] = value[large_field] = put_back(large)
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


def _check_consistency(document: Document, value: dict[str, Any], on_message: Callable[[], object]) -> None:
    """Check the rules that no schema can express: the chain, the references, the hashes."""
    check_branch_and_checkpoint_count(len(document.branches), len(document.checkpoints))
    check_alternatives([message.parent_id for message in document.messages])
    hashes = _check_hashes(document)
    if document.sha256 != hash_contents(value):
        raise InvalidDocumentError(sentence("does not fit: the file was changed after it was exported"), "sha256")
    for index, message in enumerate(document.messages):
        _check_body(message.message, f"messages[{index}].message", document.files_by_hash)
        on_message()
    _check_files(document)
    depths: dict[str | None, int] = {None: 0}
    for message in document.messages:
        depths[message.id] = depths[message.parent_id] + 1
    branches = _check_branches(document, hashes)
    seen: set[str] = set()
    for index, checkpoint in enumerate(document.checkpoints):
        field = f"checkpoints[{index}]"
        if checkpoint.id in seen:
            raise InvalidDocumentError(sentence("is the id of another checkpoint in this file"), f"{field}.id")
        seen.add(checkpoint.id)
        if checkpoint.message_id not in hashes:
            raise InvalidDocumentError(sentence("names a message that is not in the file"), f"{field}.message_id")
        if checkpoint.branch not in branches:
            raise InvalidDocumentError(sentence("names a branch that is not in the file"), f"{field}.branch")
        if checkpoint.message_count != depths[checkpoint.message_id]:
            raise InvalidDocumentError(sentence("does not fit the messages in the file"), f"{field}.message_count")
    if document.active not in branches:
        raise InvalidDocumentError(sentence("names a branch that is not in the file"), "active")


def _check_hashes(document: Document) -> dict[str, str]:
    """Check the chain of the messages. Return the hash of each, computed again, by its id.

    It comes before the bodies: most files that were damaged or edited are refused in a third of the time.
    """
    hashes: dict[str, str] = {}
    for index, message in enumerate(document.messages):
        field = f"messages[{index}]"
        if message.id in hashes:
            raise InvalidDocumentError(sentence("is the id of another message in this file"), f"{field}.id")
        if message.parent_id is not None and message.parent_id not in hashes:
            raise InvalidDocumentError(sentence("names a message that does not come before it"), f"{field}.parent_id")
        body = serde.to_canonical(message.message)
        parent = hashes[message.parent_id] if message.parent_id else None
        hashes[message.id] = serde.hash_canonical_body(body, message.agent, message.status, parent)
        if message.hash != hashes[message.id]:
            raise InvalidDocumentError(
                sentence("does not fit the message: the file is damaged or was edited"), f"{field}.hash"
            )
    return hashes


def _check_body(body: dict[str, Any], field: str, files_by_hash: Mapping[str, File]) -> None:
    if set(body) != {"type", "data"} or not isinstance(body["data"], dict):
        raise InvalidDocumentError(sentence('must have exactly "type" and "data"'), field)
    check_calls(body, field)
    content = body["data"].get("content")
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if files.is_file_part(part) and body["type"] == "human":
            _check_file_part(part, f"{field}.data.content[{index}]", files_by_hash)
        elif not _is_text_part(part):
            raise InvalidDocumentError(
                sentence("holds something other than text, which cannot be imported"), f"{field}.data.content"
            )
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


def _check_files(document: Document) -> None:
    contents = [message.message["data"].get("content") for message in document.messages]
    named = {part["file"] for content in contents for part in files.find_file_parts(content)}
    for index, part in enumerate(document.files):
        if part.hash not in named:
            raise InvalidDocumentError(sentence("is named by no message in the file"), f"files[{index}].hash")


def _is_text_part(part: Any) -> bool:
    """Return whether a part is text, reasoning or a tool call: no other part, so none with an address to be fetched."""
    return isinstance(part, str) or (isinstance(part, dict) and part.get("type") in _TEXT_PART_TYPES)


def _check_branches(document: Document, hashes: dict[str, str]) -> set[str]:
    found: set[str] = set()
    for index, branch in enumerate(document.branches):
        if branch.id in found:
            raise InvalidDocumentError(sentence("is the id of another branch in this file"), f"branches[{index}].id")
        if branch.head is not None and branch.head not in hashes:
            raise InvalidDocumentError(sentence("names a message that is not in the file"), f"branches[{index}].head")
        found.add(branch.id)
    return found
