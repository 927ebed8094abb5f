"""Reading of a file: an export of Waymark, of its older form or of Open WebUI becomes documents, or is refused."""

from codecs import BOM_UTF8
from collections.abc import Set
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
# The fields of conversations in exports that cannot be read yet, by product. One of Open WebUI has one of the others.
_PRODUCTS: dict[str, Set[str]] = {
    "ChatGPT": {"mapping"},
    "Claude": {"chat_messages"},
    "LibreChat": {"conversationId", "messages"},
}
_CHAT_FIELDS = {"chat", "history"}
_NEITHER = sentence("Waymark reads its own files (waymark/1) and exports of Open WebUI. This file is neither.")
_Places: TypeAlias = dict[
    tuple[str | None, str], Place
]  # by the hashes of the message before and of the message in the file


def convert_legacy(raw: Json) -> Json:
    """Convert an older export, whose checkpoints are an object, to a document. Raises `InvalidDocumentError`."""
    entries = raw["checkpoints"]
    check_branch_and_checkpoint_count(0, len(entries))
    order = raw.get("order", list(entries))
    if not isinstance(order, list) or not all(isinstance(i, str) for i in order) or sorted(order) != sorted(entries):
        raise InvalidDocumentError(sentence("must name every checkpoint once"), "order")
    tree = TreeBuilder(ByteBudget())
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
    time = _convert_time(require_field(raw, "timestamp", str, field), f"{field}.timestamp")
    place: Place | None = None
    for index, message in enumerate(messages):
        strict_json.check_part(message, f"{field}.state.messages[{index}]")
        key = (place.hash if place else None, serde.hash_pieces([serde.to_canonical(message)]))
        if key not in places:
            places[key] = tree.add_message(_convert_body(message, f"{field}.state.messages[{index}]"), place, time)
        place = places[key]
    if place is None:
        raise InvalidDocumentError(sentence("is empty"), f"{field}.state.messages")
    if raw.get("message_count", len(messages)) != len(messages):
        raise InvalidDocumentError(sentence("does not fit the messages in the file"), f"{field}.message_count")
    made = {
        "id": identifier,
        "name": require_field(raw, "name", str, field),
        "description": raw.get("description") or "",
        "created_by": next((a for a in ("agent", "judge", "system") if raw.get("created_by") == a), "user"),
        "timestamp": time,
        "message_id": place.id,
        "message_count": len(messages),
        "branch": _BRANCH_ID,
        "detached": True,  # listed on any path: every entry was a complete state
        "extra": {key: value for key, value in state.items() if key != "messages"},
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


def _convert_body(message: Any, field: str) -> Json:
    """Convert a message. Fields that LangChain does not know are refused rather than dropped."""
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
    if not raw.lstrip().startswith((b"{", b"[")):
        raise InvalidDocumentError(_NEITHER)
    report(Progress(sentence("Reading the file")))
    found = _read_forms(strict_json.parse_strictly(raw))
    count = sum(len(each["messages"]) for each in found if isinstance(each.get("messages"), list))
    messages = StepCounter(report, "Checking", count, "messages")
    return [check_document(each, messages.add) for each in found]


def _read_forms(made: Any) -> list[Json]:
    """Return the documents of waymark/1 in the contents of a file, which are converted from other forms."""
    if isinstance(made, dict) and made.get("format") == waymark.FORMAT:
        return [made]
    first = made[0] if isinstance(made, list) and made else made
    if not isinstance(first, dict):
        raise InvalidDocumentError(_NEITHER)
    if product := _name_product(first):
        raise InvalidDocumentError(
            sentence(
                "This is an export of {product}. Waymark reads its own files (waymark/1) and exports of Open WebUI.",
                product=product,
            )
        )
    if isinstance(made, list) and all(isinstance(chat, dict) for chat in made) and not _CHAT_FIELDS.isdisjoint(first):
        return open_webui.convert_open_webui(made)
    if isinstance(made, dict) and "format" not in made and isinstance(made.get("checkpoints"), dict):
        return [convert_legacy(made)]
    raise InvalidDocumentError(_NEITHER)


def _name_product(conversation: Json) -> str | None:
    """Return the name of the product that exported a conversation, if it is known by its fields and cannot be read."""
    return next((name for name, fields in _PRODUCTS.items() if fields <= conversation.keys()), None)
