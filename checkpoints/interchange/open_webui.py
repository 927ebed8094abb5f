"""Open WebUI's export of chats, converted to waymark/1 documents, one for each chat.

The format is documented at docs.openwebui.com (Import & Export): a list of `{"chat": {title, history: {currentId, messages:
{id: {id, parentId, childrenIds, role, content, model, done, timestamp}}}}}`, or of the chats themselves. Its messages are a
tree, as in Waymark: every leaf becomes the head of a branch, and `currentId` names the current head.

Images are left out, with a line in the message's text that says so. A message's model is kept in its `response_metadata`,
as LangChain does.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..values.errors import InvalidDocumentError
from ..values.limits import MAX_CONVERSATIONS, MAX_NAME_CHARS
from ..values.model import Json, MessageStatus
from ..values.sentence import sentence
from ..values.text import pluralize
from .image_parts import OMITTED_IMAGES
from .tree_builder import ByteBudget, Place, TreeBuilder, require_field

_TYPE_BY_ROLE = {"user": "human", "assistant": "ai", "system": "system"}
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)  # for messages without a time: constant, so that the same file is recognised
_MIN_MILLISECONDS = 100_000_000_000  # seconds would be in the year 5138


def convert_open_webui(chats: Sequence[Json]) -> list[Json]:
    """Convert each chat to a document. Raises `InvalidDocumentError`."""
    if len(chats) > MAX_CONVERSATIONS:
        raise InvalidDocumentError(
            sentence(
                "The file holds {count:,} conversations, and at most {limit} are imported at once: "
                "export them in several files",
                count=len(chats),
                limit=MAX_CONVERSATIONS,
            )
        )
    budget = ByteBudget()
    return [_convert_chat(entry, f"[{index}]", budget) for index, entry in enumerate(chats)]


def _convert_chat(entry: Json, field: str, budget: ByteBudget) -> Json:
    chat, tree = entry, TreeBuilder(budget)
    if "chat" in entry:
        chat, field = entry["chat"], f"{field}.chat"
    history = require_field(chat, "history", dict, field)
    messages = require_field(history, "messages", dict, f"{field}.history")
    field = f"{field}.history"
    budget.require_messages(len(messages))
    children = _list_children(messages, f"{field}.messages")
    start = _parse_timestamp(entry.get("created_at"), _NO_TIME)
    places = _build_tree(tree, messages, children, start, f"{field}.messages")
    heads = _list_heads(children, places, history.get("currentId"), field)
    titles = (holder.get("title") for holder in (chat, entry))
    title = next((each for each in titles if each and isinstance(each, str)), "New Chat")
    branches = [
        {"id": f"branch-{index}", "name": f"Branch {index + 1}" if index else "main", "head": head}
        for index, head in enumerate(heads)
    ]
    return tree.make_document(title[:MAX_NAME_CHARS], branches)


def _list_children(messages: Json, field: str) -> dict[str | None, list[str]]:
    """Return the ids of the messages by their parents."""
    children: dict[str | None, list[str]] = {}
    for identifier, message in messages.items():
        parent = message.get("parentId") if isinstance(message, dict) else 0
        if parent is not None and (not isinstance(parent, str) or parent not in messages):
            raise InvalidDocumentError(
                sentence("names a message that is not in the file"), f"{field}.{identifier[:80]}.parentId"
            )
        children.setdefault(parent, []).append(identifier)
    return children


def _build_tree(
    tree: TreeBuilder,
    messages: Json,
    children: Mapping[str | None, Sequence[str]],
    start: datetime,
    field: str,
) -> dict[str, Place]:
    """Add the messages to the tree, parents first, and return the place of each by its id in the file."""
    places: dict[str, Place] = {}
    waiting = [*children.get(None, ())][::-1]
    while waiting:
        identifier = waiting.pop()
        message = messages[identifier]
        parent = places.get(message.get("parentId") or "")
        time = _parse_timestamp(message.get("timestamp"), datetime.fromisoformat(parent.time) if parent else start)
        body, status = _convert_message(message, f"{field}.{identifier[:80]}")
        places[identifier] = tree.add_message(body, parent, time.isoformat(), status)
        waiting.extend(children.get(identifier, ())[::-1])
    for identifier in messages:
        if identifier not in places:
            raise InvalidDocumentError(sentence("does not lead to a first message"), f"{field}.{identifier[:80]}.parentId")
    return places


def _list_heads(children: Iterable[str | None], places: Mapping[str, Place], current: Any, field: str) -> list[str | None]:
    """Return the heads of the branches, the current one first."""
    if current is not None and (not isinstance(current, str) or (current and current not in places)):
        raise InvalidDocumentError(sentence("names a message that is not in the file"), f"{field}.currentId")
    parents = {places[parent].id for parent in children if parent is not None}
    leaves = list(dict.fromkeys(place.id for place in places.values() if place.id not in parents))
    head = places[current].id if current else leaves[-1] if leaves else None
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
    parts = []
    for index, part in enumerate(content):
        if isinstance(part, dict) and part.get("type") == "image_url":
            images += 1
        else:
            parts.append(require_field(part, "text", str, f"{field}.content[{index}]"))
    return "\n\n".join(parts), images


def _parse_timestamp(value: Any, default: datetime) -> datetime:
    """Convert seconds since 1970, or milliseconds, which some versions write."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return default
    try:
        return datetime.fromtimestamp(value / 1000 if value > _MIN_MILLISECONDS else value, UTC)
    except (OverflowError, ValueError, OSError):
        return default
