"""The texts of a stored message that can be searched, and its marks: role, features, conversation, owner.

A mark is a word that no text contains, because it begins with a character that is neither letter nor digit.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ..values import files, serde
from ..values.graph_author import is_by_graph
from ..values.limits import MAX_INDEXED_WORDS
from .query import Feature, Role
from .words import list_words

_MARK = "\u00b7"  # not ASCII: SQLite's tokenizer takes it as a part of a word
_ROLES: Mapping[str, Role] = {"human": "user", "system": "note", "tool": "tool", "function": "tool"}


def read_role(body: Mapping[str, Any]) -> Role:
    """Return the role of a message of this body."""
    return "note" if is_by_graph(body) else _ROLES.get(str(body.get("type")), "assistant")


def list_texts(body: Mapping[str, Any], contents: Mapping[str, bytes]) -> list[str]:
    """Return the texts of a message: its own, those of its tool calls, the names and texts of its attached files.

    `contents` are the bytes of attached files by hash; a missing one has no text.
    """
    data = _read_data(body)
    content = data.get("content")
    texts = [content] if isinstance(content, str) else _list_block_texts(content)
    for call in data.get("tool_calls") or []:
        texts.append(f"{call['name']} {_join_values(call['args'])}")
    for part in files.find_file_parts(content):
        texts.append(str(part["name"]))
        if part["mime_type"] == files.TEXT_TYPE and (found := contents.get(part["file"])) is not None:
            texts.append(found.decode(errors="replace"))
    return [text for text in texts if text]


def _read_data(body: Mapping[str, Any]) -> Mapping[str, Any]:
    data = body.get("data")
    return data if isinstance(data, dict) else {}


def _list_block_texts(content: Any) -> list[str]:
    blocks = content if isinstance(content, list) else []
    texts = (block if isinstance(block, str) else block.get("text") for block in blocks if isinstance(block, str | dict))
    return [text for text in texts if isinstance(text, str)]


def _join_values(value: Any) -> str:
    """Join the texts and numbers of a call's arguments, which may be nested."""
    found, waiting = [], [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            waiting.extend(reversed(each.values() if isinstance(each, dict) else each))
        elif each is not None and not isinstance(each, bool):
            found.append(str(each))
    return " ".join(found)


def list_message_words(body: str, thread_id: str, owner: str | None, contents: Mapping[str, bytes]) -> list[str]:
    """Return the words and the marks under which a stored message is indexed; None for the owner has no mark."""
    parsed = serde.parse_leniently(body)
    try:
        texts = list_texts(parsed, contents)
    except (AttributeError, LookupError, TypeError):  # no message has this form: it is damaged, and never shown
        parsed, texts = {}, []
    words: list[str] = []
    for text in texts:
        words += list_words(text, MAX_INDEXED_WORDS - len(words))
    marks = [mark_thread(thread_id), mark_role(read_role(parsed)), *map(mark_feature, _list_features(parsed, texts))]
    return [*words, *marks, *list_owner_marks(owner)]


def list_checkpoint_words(name: str, description: str, thread_id: str, owner: str | None) -> list[str]:
    marks = [mark_thread(thread_id), mark_role("checkpoint"), *list_owner_marks(owner)]
    return [*list_words(name), *list_words(description), *marks]


def list_owner_marks(owner: str | None) -> list[str]:
    """Return the mark of an owner; None has no mark. Another owner may have the same one: each hit is checked."""
    return [] if owner is None else [f"{_MARK}o{_fold_name(owner)}"]


def _list_features(body: Mapping[str, Any], texts: list[str]) -> list[Feature]:
    data = _read_data(body)
    parts = files.find_file_parts(data.get("content"))
    features: list[tuple[Feature, bool]] = [
        ("file", any(part["type"] == "file" for part in parts)),
        ("image", any(part["type"] == "image" for part in parts)),
        ("tool", bool(data.get("tool_calls"))),
        ("code", any("```" in text for text in texts)),
        ("link", any("https://" in text or "http://" in text for text in texts)),
    ]
    return [feature for feature, is_there in features if is_there]


def is_mark(word: str) -> bool:
    return word.startswith(_MARK)


def mark_role(role: Role) -> str:
    return f"{_MARK}r{role}"


def mark_feature(feature: Feature) -> str:
    return f"{_MARK}h{feature}"


@lru_cache(10_000)  # a search can have the marks of all conversations of a person
def mark_thread(thread_id: str) -> str:
    """Return the mark of a conversation. Another id may have the same one: each hit is checked."""
    return f"{_MARK}t{_fold_name(thread_id)}"


def _fold_name(name: str) -> str:
    return "".join(filter(str.isalnum, name.lower()))
