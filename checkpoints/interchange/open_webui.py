"""Open WebUI's export of chats, converted to waymark/1 documents, one for each chat.

The format is documented at docs.openwebui.com (Import & Export): a list of `{"chat": {title, history: {currentId, messages:
{id: {id, parentId, childrenIds, role, content, model, done, timestamp}}}}}`, or of the chats themselves. Its messages are a
tree, as in Waymark: every leaf becomes the head of a branch, and `currentId` names the current head.

Images are left out, with a line in the message's text that says so. A message's model is kept in its `response_metadata`,
as LangChain does.
"""

from datetime import UTC, datetime
from typing import Any

from ..errors import InvalidDocumentError
from ..limits import MAX_NAME_CHARS
from ..model import Json, MessageStatus
from ..sentence import sentence
from ..text import pluralize
from . import waymark
from .image_parts import OMITTED_IMAGES
from .tree_builder import TreeBuilder, require_field

_TYPE_BY_ROLE = {"user": "human", "assistant": "ai", "system": "system"}
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)  # for messages without a time: constant, so that the same file is recognised
_MIN_MILLISECONDS = 100_000_000_000  # seconds would be in the year 5138


def is_open_webui(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(chat, dict) for chat in value)


def convert_open_webui(value: list[Json]) -> list[Json]:
    """Convert each chat to a waymark/1 document, as plain JSON. Raises `InvalidDocumentError`."""
    return [_convert_chat(entry, f"[{index}]") for index, entry in enumerate(value)]


def _convert_chat(entry: Json, field: str) -> Json:
    chat = entry
    if "chat" in entry:
        chat, field = entry["chat"], f"{field}.chat"
    history = require_field(chat, "history", dict, field)
    messages = require_field(history, "messages", dict, f"{field}.history")
    field = f"{field}.history"
    tree = TreeBuilder()
    places = _build_tree(tree, messages, _parse_timestamp(entry.get("created_at"), _NO_TIME), f"{field}.messages")
    heads = _list_heads(messages, places, history.get("currentId"), field)
    titles = (holder.get("title") for holder in (chat, entry))
    title = next((each for each in titles if each and isinstance(each, str)), "New Chat")
    made: Json = {
        "format": waymark.FORMAT,
        "exported_at": datetime.now(UTC).isoformat(),
        "thread": {"title": title[:MAX_NAME_CHARS]},
        "messages": list(tree.messages.values()),
        "branches": [
            {"id": f"branch-{index}", "name": f"Branch {index + 1}" if index else "main", "head": head}
            for index, head in enumerate(heads)
        ],
        "checkpoints": [],
        "active": "branch-0",
    }
    return {**made, "sha256": waymark.hash_contents(made)}


def _build_tree(tree: TreeBuilder, messages: Json, start: datetime, field: str) -> dict[str, Json]:
    """Add the messages to the tree, parents first, and return each of them by its id in the file."""
    children: dict[str | None, list[str]] = {}
    for identifier, message in messages.items():
        parent = message.get("parentId") if isinstance(message, dict) else 0
        if parent is not None and (not isinstance(parent, str) or parent not in messages):
            raise InvalidDocumentError(
                sentence("names a message that is not in the file"), f"{field}.{identifier[:80]}.parentId"
            )
        children.setdefault(parent, []).append(identifier)
    places: dict[str, Json] = {}
    waiting = children.get(None, [])[::-1]
    while waiting:
        identifier = waiting.pop()
        message, name = messages[identifier], f"{field}.{identifier[:80]}"
        parent = places.get(message.get("parentId") or "")
        time = _parse_timestamp(message.get("timestamp"), datetime.fromisoformat(parent["created_at"]) if parent else start)
        body, status = _convert_message(message, name)
        places[identifier] = tree.add_message(body, parent, time.isoformat(), status)
        waiting.extend(children.get(identifier, [])[::-1])
    for identifier in messages:
        if identifier not in places:
            raise InvalidDocumentError(sentence("does not lead to a first message"), f"{field}.{identifier[:80]}.parentId")
    return places


def _list_heads(messages: Json, places: dict[str, Json], current: Any, field: str) -> list[str | None]:
    """Return the heads of the branches, the current one first."""
    if current is not None and (not isinstance(current, str) or (current and current not in places)):
        raise InvalidDocumentError(sentence("names a message that is not in the file"), f"{field}.currentId")
    parents = {places[parent]["id"] for message in messages.values() if (parent := message.get("parentId")) is not None}
    leaves = list(dict.fromkeys(place["id"] for place in places.values() if place["id"] not in parents))
    head = places[current]["id"] if current else leaves[-1] if leaves else None
    return [head, *(leaf for leaf in leaves if leaf != head)]


def _convert_message(message: Json, field: str) -> tuple[Json, MessageStatus]:
    role = require_field(message, "role", str, field)
    if role not in _TYPE_BY_ROLE:
        raise InvalidDocumentError(sentence("is not user, assistant or system"), f"{field}.role")
    text, images = _extract_content(message, field)
    metadata: Json = {}
    if isinstance(model := message.get("model"), str) and role == "assistant":
        metadata["model_name"] = model
    if images:
        metadata[OMITTED_IMAGES] = images
        text = f"{text}\n\n[{pluralize(images, 'image')} left out]".strip()
    data: Json = {"content": text} | ({"response_metadata": metadata} if metadata else {})
    is_complete = message.get("done", True) is not False and not message.get("error")
    return {"type": _TYPE_BY_ROLE[role], "data": data}, MessageStatus.DONE if is_complete else MessageStatus.PARTIAL


def _extract_content(message: Json, field: str) -> tuple[str, int]:
    """Return the text and the number of images beside it."""
    content = require_field(message, "content", (str, list), field)
    files = message.get("files")
    images = (
        sum(1 for file in files if isinstance(file, dict) and file.get("type") == "image") if isinstance(files, list) else 0
    )
    if isinstance(content, str):
        return content, images
    texts = []
    for index, part in enumerate(content):
        if isinstance(part, dict) and part.get("type") == "image_url":
            images += 1
        else:
            texts.append(require_field(part, "text", str, f"{field}.content[{index}]"))
    return "\n\n".join(texts), images


def _parse_timestamp(value: Any, default: datetime) -> datetime:
    """Convert seconds since 1970, or milliseconds, which some versions write."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    try:
        return datetime.fromtimestamp(value / 1000 if value > _MIN_MILLISECONDS else value, UTC)
    except (OverflowError, ValueError, OSError):
        return default
