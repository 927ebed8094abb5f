"""Redaction of a whole document, which stays valid and can be imported beside its conversation.

The hashes are computed again down the chain, and each changed message gets a new id.
"""

import hashlib
import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from langchain_core.messages import AIMessage

from ..values import files, serde
from ..values.errors import ExportTooLargeError
from ..values.limits import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS
from ..values.model import MAIN, Json
from ..values.progress import Report, count_steps, ignore_progress
from ..values.reasoning import Reasoning, drop_reasoning_entry
from ..values.sentence import sentence
from .image_parts import is_portable, replace_parts
from .redaction import REDACTED, Redaction

MAX_REDACTED_PLACES = 1_000_000  # in one export
_MAX_REPEATED_CHARS = 64  # of a key or a name that a document often repeats
_ID_KEYS = ("id", "tool_call_id")  # replaced by the same id everywhere: calls and results stay together
_STRUCTURAL_FIELDS = {"ai": ("usage_metadata",), "tool": ("status",)}  # by the type of a message: they contain no content

Redact = Callable[[Redaction, Json, Report], Json]


def redact_document(redaction: Redaction, document: Json, report: Report = ignore_progress) -> Json:
    """Redact an exported document (plain JSON, without its sha256). Raises `ExportTooLargeError`."""
    redacted = DocumentRedaction(redaction)
    whole = count_steps(document["messages"], report, sentence("Redacting"), "messages")
    messages = [redacted.redact_message(message) for message in whole]
    return {**redacted.redact_frame(document), "messages": messages}


def leave_out_parts(document: Json, report: Report = ignore_progress) -> Json:
    """Replace the parts of contents that no file carries. Messages that it changes, and those below, get new ids."""
    bodies = [message["message"] for message in document["messages"]]
    if all(is_portable(part, body["type"]) for body in bodies for part in _list_content_parts(body)):
        return document
    return redact_document(Redaction(), document, report)


def _list_content_parts(body: Json) -> list[Any]:
    content = body["data"].get("content")
    return content if isinstance(content, list) else []


class DocumentRedaction:
    """The redaction of one document: its messages one by one, parents first, and then all else."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._replace_in_short = lru_cache(4096)(redaction.replace_matches)
        self._places = 0
        self._new_ids: dict[str, str] = {}
        self._ids: dict[str | None, str | None] = {None: None}
        self._hashes: dict[str | None, str | None] = {None: None}

    def _redact_text(self, text: str, replacement: str = REDACTED) -> str:
        replace = self._replace_in_short if len(text) <= _MAX_REPEATED_CHARS else self._redaction.replace_matches
        redacted, places = replace(text, replacement)
        self._count_places(places)
        return redacted

    def _count_places(self, places: int) -> None:
        self._places += places
        if self._places > MAX_REDACTED_PLACES:
            raise ExportTooLargeError(
                sentence(
                    "The words to redact stand in over {limit:,} places. Use fewer or longer words.",
                    limit=MAX_REDACTED_PLACES,
                )
            )

    def redact_message(self, message: Json) -> Json:
        """Redact the next message. Its parent comes before it."""
        body = self._redact_body(message["message"])
        agent = message["agent"] if message["agent"] == MAIN else self._redact_name(message["agent"])
        hash_ = serde.hash_message(body, agent, message["status"], self._hashes[message["parent_id"]])
        is_same = hash_ == message["hash"] and self._redact_id(message["id"]) == message["id"]
        identifier = message["id"] if is_same else _derive_redacted_id(message["id"], hash_)
        parent_id = self._ids[message["parent_id"]]
        self._ids[message["id"]], self._hashes[message["id"]] = identifier, hash_
        return {**message, "id": identifier, "parent_id": parent_id, "agent": agent, "message": body, "hash": hash_}

    def redact_frame(self, document: Json) -> Json:
        """Redact all but the messages, which come before it."""
        branches = [
            {
                "id": self._redact_id(branch["id"]),
                "name": self._redact_name(branch["name"]),
                "head": self._ids[branch["head"]],
            }
            for branch in document["branches"]
        ]
        thread = {
            **document["thread"],
            "title": self._redact_name(document["thread"]["title"]),
            "settings": self._redact_value(document["thread"]["settings"]),
        }
        if tags := document["thread"].get("tags"):  # a tag that matches is left out: a mark would become a tag of its own
            thread["tags"] = [name for name in tags if self._redact_name(name) == name]
        checkpoints = [self._redact_checkpoint(checkpoint) for checkpoint in document["checkpoints"]]
        active = {"active": self._redact_id(document["active"])} if "active" in document else {}
        return {**document, **active, "thread": thread, "branches": branches, "checkpoints": checkpoints}

    def _redact_id(self, value: str) -> str:
        """Return an id, or a numbered one in the place of an id that matches. A hash of it could be guessed."""
        if self._redact_text(value) == value:
            return value
        return self._new_ids.setdefault(value, f"redacted-{len(self._new_ids) + 1}")

    def _redact_body(self, body: Json) -> Json:
        data = replace_parts(body["data"], body["type"])
        if self._redaction.tool_results and body["type"] in ("tool", "function"):
            kept = ("tool_call_id", "name", "id", "status")
            data = {key: value for key, value in data.items() if key in kept} | {"content": REDACTED}
        if self._redaction.tool_results or self._redaction.patterns:
            data = self._redact_reasoning(data)
        if self._redaction.files or self._redaction.patterns:
            data = {**data, "content": _strip_files(data["content"])}
        if self._redaction.patterns:
            data = {**data, "content": self._redact_split_words(data["content"])}
            data = {key: self._redact_message_field(body["type"], key, value) for key, value in data.items()}
        return serde.normalize_body({"type": body["type"], "data": data})

    def _redact_reasoning(self, data: Json) -> Json:
        """Leave out the parts that cannot be searched: a provider's items, and reasoning about results that are left out."""
        kwargs = data.get("additional_kwargs") or {}
        kept = Reasoning.of(AIMessage("", additional_kwargs=kwargs))
        if kept is None:
            return data
        reasoning = {} if self._redaction.tool_results else kept.without_items().to_kwargs()
        return {**data, "additional_kwargs": {**drop_reasoning_entry(kwargs), **reasoning}}

    def _redact_split_words(self, content: Any) -> Any:
        """Redact the words that the parts of a content split: they are shown as one text."""
        texts = [_read_part_text(part) for part in content] if isinstance(content, list) else []
        if sum(text is not None for text in texts) <= 1:
            return content
        redacted, places = self._redaction.replace_matches_across([text or "" for text in texts])
        self._count_places(places)
        whole = zip(content, texts, redacted, strict=True)
        return [part if text is None else _replace_part_text(part, new) for part, text, new in whole]

    def _redact_message_field(self, kind: str, key: str, value: Any) -> Any:
        """Redact a field of a message. LangChain has checked the structural fields of this type, and no others."""
        return value if key in _STRUCTURAL_FIELDS.get(kind, ()) else self._redact_field(key, value)

    def _redact_field(self, key: str, value: Any) -> Any:
        """Redact a field of a message or of a part. All content is searched."""
        if key in _ID_KEYS and isinstance(value, str):
            return self._redact_id(value)
        if key == "name" and isinstance(value, str):  # providers take letters, digits, - and _ only
            return self._redact_text(value, replacement="redacted")
        if key in ("content", "tool_calls", "invalid_tool_calls") and isinstance(value, list):
            return [self._redact_part(part) for part in value]
        return self._redact_value(value)

    def _redact_part(self, part: Any) -> Any:
        """Redact a part of a content, or a tool call. Only its type is kept: a tool may put anything into all else."""
        if not isinstance(part, dict):
            return self._redact_value(part)
        return {key: value if key == "type" else self._redact_field(key, value) for key, value in part.items()}

    def _redact_value(self, value: Any) -> Any:
        """Redact any JSON, keys and numbers included."""
        match value:
            case str():
                return self._redact_text(value)
            case dict():
                return _number_duplicates(
                    [(self._redact_text(key), self._redact_value(item)) for key, item in value.items()]
                )
            case list():
                return [self._redact_value(item) for item in value]
            case bool() | None:
                return value
            case _:
                return value if self._redact_text(written := json.dumps(value)) == written else REDACTED

    def _redact_name(self, text: str) -> str:
        return self._redact_text(text)[:MAX_NAME_CHARS]

    def _redact_checkpoint(self, checkpoint: Json) -> Json:
        redacted = {
            **checkpoint,
            "name": self._redact_name(checkpoint["name"]),
            "description": self._redact_text(checkpoint["description"])[:MAX_DESCRIPTION_CHARS],
            "message_id": self._ids[checkpoint["message_id"]],
            "branch": self._redact_id(checkpoint["branch"]),
            "extra": self._redact_value(checkpoint["extra"]),
        }
        if redacted != checkpoint or self._redact_id(checkpoint["id"]) != checkpoint["id"]:
            redacted["id"] = _derive_redacted_id(checkpoint["id"], serde.hash_document(redacted))
        return redacted


def _read_part_text(part: Any) -> str | None:
    """Return the text of a part of a content; None for a part that is no text."""
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else part
    return text if isinstance(text, str) else None


def _replace_part_text(part: Any, text: str) -> Any:
    return text if isinstance(part, str) else {**part, "text": text}


def _strip_files(content: Any) -> Any:
    """Replace the files in a message's content by their names."""
    if not files.find_file_parts(content):
        return content
    return [
        {"type": "text", "text": f"[left out: {each['name']}]"} if files.is_file_part(each) else each for each in content
    ]


def _derive_redacted_id(old: str, hash_: str) -> str:
    """Derive an id: equal for equal exports, so that a second import is recognised; distinct for messages made equal."""
    return hashlib.sha256(f"{old} {hash_}".encode()).hexdigest()[:20]


def _number_duplicates(pairs: list[tuple[str, Any]]) -> Json:
    """Build an object from pairs; number the keys that redaction made equal."""
    made: Json = {}
    numbers: dict[str, int] = {}  # by key: the last one given
    for key, value in pairs:
        name = key
        while name in made:
            numbers[key] = numbers.get(key, 1) + 1
            name = f"{key} ({numbers[key]})"
        made[name] = value
    return made
