"""The older form of an export, a list of complete states, converted to a waymark/1 document.

`{"checkpoints": {id: {id, name, timestamp, state: {messages: [{type: "HumanMessage", content, …}]}, message_count,
description}}, "order": [id, …]}`. States with an equal beginning share its messages, as they do in the tree.
"""

from datetime import UTC, datetime
from typing import Any

from .. import serde
from ..errors import InvalidDocumentError
from ..sentence import sentence
from . import strict_json, waymark
from .tree_builder import TreeBuilder, require_field

_TYPE_NAMES = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
}
_BRANCH_ID = "main"


def convert_legacy(value: dict[str, Any]) -> dict[str, Any]:
    """Convert an older export to a waymark/1 document, as plain JSON. Raises `InvalidDocumentError`."""
    entries = value["checkpoints"]
    order = value.get("order", list(entries))
    if not isinstance(order, list) or not all(isinstance(i, str) for i in order) or sorted(order) != sorted(entries):
        raise InvalidDocumentError(sentence("must name every checkpoint once"), "order")
    tree = TreeBuilder()
    checkpoints = [_convert_checkpoint(tree, identifier, entries[identifier]) for identifier in order]
    head = checkpoints[-1]["message_id"] if checkpoints else None
    made: dict[str, Any] = {
        "format": waymark.FORMAT,
        "exported_at": datetime.now(UTC).isoformat(),
        "thread": {"title": "Imported conversation"},
        "messages": list(tree.messages.values()),
        "branches": [{"id": _BRANCH_ID, "name": "main", "head": head}],
        "checkpoints": checkpoints,
        "active": _BRANCH_ID,
    }
    return {**made, "sha256": waymark.hash_contents(made)}


def _convert_checkpoint(tree: TreeBuilder, identifier: str, entry: Any) -> dict[str, Any]:
    field = f"checkpoints.{identifier[:80]}"
    state = require_field(entry, "state", dict, field)
    messages = require_field(state, "messages", list, f"{field}.state")
    time = _convert_time(require_field(entry, "timestamp", str, field), f"{field}.timestamp")
    place: dict[str, Any] | None = None
    for index, message in enumerate(messages):
        place = tree.add_message(_convert_body(message, f"{field}.state.messages[{index}]"), place, time)
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
        "message_id": place["id"],
        "message_count": len(messages),
        "branch": _BRANCH_ID,
        "detached": True,  # listed on any path: every entry was a complete state
        "extra": {key: value for key, value in state.items() if key != "messages"},
    }
    strict_json.check_part(made, field)
    return made


def _convert_time(text: str, field: str) -> str:
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).isoformat()  # the older form had no zone
    except (ValueError, OverflowError) as error:
        raise InvalidDocumentError(sentence("is not a time"), field) from error


def _convert_body(message: Any, field: str) -> dict[str, Any]:
    """Convert a message. Fields that LangChain does not know are refused rather than dropped."""
    strict_json.check_part(message, field)
    kind = require_field(message, "type", str, field)
    require_field(message, "content", (str, list), field)
    body = {"type": _TYPE_NAMES.get(kind, kind), "data": {key: value for key, value in message.items() if key != "type"}}
    try:
        return serde.to_body(serde.to_message(body))
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidDocumentError(sentence("is not a message"), field) from error
