"""Checks of a document: its form, and the rules that no schema can express (chains, references, hashes, bounds)."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from ..values import files, serde
from ..values.errors import InvalidDocumentError
from ..values.files import File
from ..values.limits import MAX_DESCRIPTION_CHARS
from ..values.model import Json
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
from .state_checks import check_document_states
from .waymark import (
    UNHASHED,
    BranchPart,
    CheckpointPart,
    Document,
    FilePart,
    MessagePart,
    StatePart,
    ValuePart,
    WritePart,
)


def check_document(raw: Json, on_message: Callable[[], object] = lambda: None) -> Document:
    """Check a document, and drop its unreachable parts; `on_message` is called after each message.

    Raises `InvalidDocumentError`.
    """
    _check_part_values(raw)
    head = _parse_head(raw)
    hashed = {name: value for name, value in raw.items() if name not in UNHASHED}
    # The hash comes first: a file that was damaged or edited is refused in half the time.
    if head.sha256 != serde.hash_document(hashed):
        raise _find_damage(raw)
    messages = _parse_messages(raw["messages"])
    named_files = set[str]()
    for index, part in enumerate(messages):
        _check_body(part.message, f"messages[{index}].message", head.files_by_hash)
        named_files.update(part["file"] for part in files.find_file_parts(part.message["data"].get("content")))
        on_message()
    document = head.model_copy(update={"messages": messages})
    _check_references(document, named_files)
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
# Any other text is cut to these characters. The model refuses a longer one all the same.
_MAX_PART_TEXT_CHARS = 2 * MAX_DESCRIPTION_CHARS
# Where the hash of a file is wrong, the damaged message is looked for among the first.
MAX_SEARCHED_MESSAGES = 2_000
# Names from the file are cut in a sentence.
_MAX_LOCATION_CHARS = 80


def _check_part_values(raw: Json) -> None:
    for name, value in raw.items():
        if name in _LISTS and isinstance(value, list):
            for index, item in enumerate(value):
                strict_json.check_part(item, f"{name}[{index}]")
        else:
            strict_json.check_part(value, name[:_MAX_LOCATION_CHARS])


def _parse_head(raw: Json) -> Document:
    """Validate all of a document but its messages, each item of its lists by itself: one call would keep all threads."""
    lists = {name: value for name, value in raw.items() if name in _LISTS and isinstance(value, list)}
    # A document has one branch at least.
    rest = {**raw, **{name: [_ANY_BRANCH] if name == "branches" and lists[name] else [] for name in lists}}
    if isinstance(thread := rest.get("thread"), dict):
        rest["thread"] = _cut_texts(thread)
    head: Document = _parse_part(_DOCUMENT, rest, "")
    check_message_count(len(raw["messages"]))
    check_branch_and_checkpoint_count(len(raw["branches"]), len(raw["checkpoints"]))
    return head.model_copy(update={name: _parse_items(name, items) for name, items in lists.items() if name != "messages"})


def _parse_items(name: str, items: Sequence[Any]) -> list[Any]:
    return [_parse_item(name, item, f"{name}[{index}]") for index, item in enumerate(items)]


def _find_damage(raw: Json) -> InvalidDocumentError:
    """Return the refusal of a file whose hash is wrong. It names the damaged message, if that is among the first ones."""
    try:
        _parse_messages(raw["messages"][:MAX_SEARCHED_MESSAGES])
    except InvalidDocumentError as error:
        return error
    return InvalidDocumentError(sentence("does not fit: the file was changed after it was exported"), "sha256")


def _parse_messages(messages: Sequence[Any]) -> list[MessagePart]:
    """Validate messages with their chain, all but their bodies."""
    parts, hashes = list[MessagePart](), dict[str, str]()
    for index, message in enumerate(messages):
        field = f"messages[{index}]"
        part: MessagePart = _parse_item("messages", message, field)
        if part.id in hashes:
            raise InvalidDocumentError(sentence("is the id of another message in this file"), f"{field}.id")
        if part.parent_id is not None and part.parent_id not in hashes:
            raise InvalidDocumentError(sentence("names a message that does not come before it"), f"{field}.parent_id")
        if part.hash != serde.hash_message(part.message, part.agent, part.status, part.parent_id and hashes[part.parent_id]):
            raise InvalidDocumentError(
                sentence("does not fit the message: the file is damaged or was edited"), f"{field}.hash"
            )
        hashes[part.id] = part.hash
        parts.append(part)
    check_part_count(sum(map(count_parts, messages)))
    check_alternatives([part.parent_id for part in parts])
    return parts


def _parse_item(name: str, value: Any, field: str) -> Any:
    """Validate an item of the list `name`, all but the field that may be large."""
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
