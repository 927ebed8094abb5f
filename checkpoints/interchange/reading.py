"""Reading of a file: an export of Waymark, of its older form or of Open WebUI becomes documents, or is refused."""

import json
from codecs import BOM_UTF8
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ..values import serde
from ..values.errors import InvalidDocumentError
from ..values.model import Json
from ..values.progress import Progress, Report, StepCounter, ignore_progress
from ..values.sentence import sentence
from . import open_webui, strict_json, waymark
from .document_checks import check_document
from .import_limits import check_branch_and_checkpoint_count, check_byte_count
from .long_texts import LongTexts
from .member_reader import ANY_NAME, BYTES, MemberReader, Shape
from .raw_document import RawDocument
from .tree_builder import ByteBudget, Place, TreeBuilder, require_field
from .waymark import Document

_TYPE_NAMES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
}
_BRANCH_ID = "main"
_FIELDS = ("name", "timestamp", "message_count", "description", "created_by")
_Places: TypeAlias = dict[tuple[str | None, bytes], Place]  # by the message before and the message in the file
_ENTRY: Shape = {"state": {"messages": (BYTES,), ANY_NAME: BYTES}, **dict.fromkeys(_FIELDS, BYTES)}


def read_checkpoints(reader: MemberReader) -> dict[str, Any]:
    """Read the object of checkpoints, whose parts stay canonical JSON. Raises `InvalidDocumentError`."""
    found = dict[str, Any]()
    for identifier in reader.iterate_names():
        found[identifier] = reader.read_value(_ENTRY)
        check_branch_and_checkpoint_count(0, len(found))
    return found


def convert_legacy(entries: Mapping[str, Any], order: Any, texts: LongTexts) -> RawDocument:
    """Convert the checkpoints of an older export, in this order, to a document. Raises `InvalidDocumentError`."""
    if not isinstance(order, list) or not all(isinstance(i, str) for i in order) or sorted(order) != sorted(entries):
        raise InvalidDocumentError(sentence("must name every checkpoint once"), "order")
    tree = TreeBuilder(texts, ByteBudget())
    places: _Places = {}
    head = None
    for identifier in order:
        head = _convert_checkpoint(tree, places, identifier, entries[identifier])
    return tree.make_document(
        "Imported conversation", [{"id": _BRANCH_ID, "name": "main", "head": head.id if head else None}]
    )


def _convert_checkpoint(tree: TreeBuilder, places: _Places, identifier: str, raw: Any) -> Place:
    """Add a checkpoint with the messages of its state, and return the last of them."""
    field = f"checkpoints.{identifier[:80]}"
    state = require_field(raw, "state", dict, field)
    messages = require_field(state, "messages", list, f"{field}.state")
    entry = {name: serde.parse_canonical(raw[name].decode()) for name in _FIELDS if name in raw}
    time = _convert_time(require_field(entry, "timestamp", str, field), f"{field}.timestamp")
    place: Place | None = None
    for index, message in enumerate(messages):
        key = (place.hash if place else None, message)
        if key not in places:
            places[key] = tree.add_message(_convert_body(message, f"{field}.state.messages[{index}]"), place, time)
        place = places[key]
    if place is None:
        raise InvalidDocumentError(sentence("is empty"), f"{field}.state.messages")
    if entry.get("message_count", len(messages)) != len(messages):
        raise InvalidDocumentError(sentence("does not fit the messages in the file"), f"{field}.message_count")
    made = {
        "id": identifier,
        "name": require_field(entry, "name", str, field),
        "description": entry.get("description") or "",
        "created_by": next((a for a in ("agent", "judge", "system") if entry.get("created_by") == a), "user"),
        "timestamp": time,
        "message_id": place.id,
        "message_count": len(messages),
        "branch": _BRANCH_ID,
        "detached": True,  # listed on any path: every entry was a complete state
        "extra": {key: serde.parse_canonical(value.decode()) for key, value in state.items() if key != "messages"},
    }
    strict_json.check_part(made, field)
    tree.add_checkpoint(made)
    return place


def _convert_time(text: str, field: str) -> str:
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()  # the older form had no zone
    except (ValueError, OverflowError) as error:
        raise InvalidDocumentError(sentence("is not a time"), field) from error


def _convert_body(raw: bytes, field: str) -> Json:
    """Convert a message. Fields that LangChain does not know are refused rather than dropped."""
    message = serde.parse_canonical(raw.decode())
    strict_json.check_part(message, field)
    kind = require_field(message, "type", str, field)
    require_field(message, "content", (str, list), field)
    body = {"type": _TYPE_NAMES.get(kind, kind), "data": {key: value for key, value in message.items() if key != "type"}}
    try:
        return serde.normalize_body(body)
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidDocumentError(sentence("is not a message"), field) from error


def read_document(text: str | bytes) -> Document:
    """Return the only document in `text`, in any form of `read_documents`. Raises `InvalidDocumentError`."""
    found = read_documents(text)
    if len(found) != 1:
        raise InvalidDocumentError(
            sentence("The file holds {found} conversations, and only one can be read here.", found=len(found))
        )
    return found[0]


def read_documents(text: str | bytes, report: Report = ignore_progress) -> list[Document]:
    """Return the document in an export of waymark/1 or of the older form, or each chat in an export of Open WebUI.

    Raises `InvalidDocumentError`.
    """
    raw = (text.encode(errors="surrogatepass") if isinstance(text, str) else text).removeprefix(BOM_UTF8)
    check_byte_count(len(raw))
    report(Progress(sentence("Reading the file")))
    texts = LongTexts(raw)
    found = _read_raw_documents(texts)
    messages = StepCounter(report, "Checking", sum(each.count_items("messages") for each in found), "messages")
    return [check_document(each, messages.add) for each in found]


def _read_raw_documents(texts: LongTexts) -> list[RawDocument]:
    strict_json.check_value_count(texts.rest)
    reader = MemberReader(texts.rest)
    if reader.is_at("{"):
        return [_read_object(reader, texts)]
    if reader.is_at("["):
        chats = open_webui.read_chats(reader, texts.rest)
        reader.require_end()
        if chats and all(isinstance(chat, dict) for chat in chats):
            return open_webui.convert_open_webui(chats, texts)
    else:
        reader.read_value()
        reader.require_end()
    raise InvalidDocumentError(sentence("The file is not a Waymark export: it does not hold one JSON object."))


def _read_object(reader: MemberReader, texts: LongTexts) -> RawDocument:
    made, legacy_checkpoints = RawDocument({}, {}, texts), None
    for name in reader.iterate_names():
        if reader.is_at("["):
            made.add_items(name, reader.iterate_items())
        elif name == "checkpoints" and reader.is_at("{"):  # in waymark/1, it is a list
            legacy_checkpoints = read_checkpoints(reader)
            made.add_value(name, {})
        else:
            made.add_value(name, reader.read_value())
    reader.require_end()
    if made.values.get("format") == json.dumps(waymark.FORMAT).encode():
        return made
    if legacy_checkpoints is None or "format" in {*made.values, *made.lists}:
        reason = sentence("is not {format!r}, the only one that can be read", format=waymark.FORMAT)
        raise InvalidDocumentError(reason, "format")
    order: Any = made.parse_value("order") if "order" in made.values else list(legacy_checkpoints)
    if "order" in made.lists:
        order = list(made.iterate_items("order"))
    return convert_legacy(legacy_checkpoints, order, texts)
