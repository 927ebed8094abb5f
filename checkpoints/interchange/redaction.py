"""Redaction of an export, so that it can be shared: tool results, attached files, and text that matches a pattern.

The hashes are computed again down the chain, and each changed message gets a new id. So the redacted document is valid,
and can be imported beside its conversation.

A pattern is plain text as people read it (see `text_search`), not a regular expression: a slow expression could block the
server, and the text to leave out is a name, a number or a key. `*` matches any characters up to the next space (`sk-*`,
`*@example.com`), and a pattern with `*` is a single word: so the search takes time proportional to the text.

Not found: text that formatting or two messages split, encoded text, and letters of another alphabet that look the same.
"""

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage

from checkpoints import files, serde
from checkpoints.errors import InvalidRedactionError
from checkpoints.interchange.text_search import Matcher, fold_text, is_searchable
from checkpoints.limits import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS
from checkpoints.model import MAIN, Json
from checkpoints.progress import Report, count_steps, ignore_progress
from checkpoints.reasoning import REASONING_KEY, Reasoning

REDACTED = "[redacted]"
MAX_PATTERNS = 100
MAX_PATTERN_CHARS = 200  # characters of one pattern
_ID_KEYS = ("id", "tool_call_id")  # replaced by the same id everywhere: calls and results stay together
_STRUCTURAL_KEYS = (
    "type",
    "role",
    "status",
    "usage_metadata",
    "index",
)  # fields of a message that contain no content


@dataclass(frozen=True)
class Redaction:
    """The content to leave out. Raises `InvalidRedactionError` for a pattern that is too long, or too many patterns."""

    tool_results: bool = False
    patterns: tuple[str, ...] = ()
    files: bool = False  # attached files; patterns always remove them, because images cannot be searched
    _new_ids: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)  # of one document

    def __post_init__(self) -> None:
        if len(self.patterns) > MAX_PATTERNS:
            raise InvalidRedactionError(f"No more than {MAX_PATTERNS} patterns can be redacted at once.")
        for pattern in self.patterns:
            if not pattern.strip() or len(pattern) > MAX_PATTERN_CHARS:
                raise InvalidRedactionError(f"A pattern to redact has between 1 and {MAX_PATTERN_CHARS} characters.")
            if not is_searchable(pattern):
                raise InvalidRedactionError("A pattern to redact has a character that can be seen.")
            if "*" in pattern and len(pattern.split()) > 1:
                raise InvalidRedactionError("A pattern with * is one word, without spaces.")

    @cached_property
    def _matchers(self) -> list[Matcher]:
        return [Matcher(pattern.strip()) for pattern in self.patterns]

    def redact_text(self, text: str, replacement: str = REDACTED) -> str:
        """Replace the matches in a text. Overlapping and adjacent matches are replaced once."""
        folded = fold_text(text) if self._matchers else None
        spans = sorted(span for pattern in self._matchers for span in pattern.find_spans(folded)) if folded else []
        parts, at = [], 0
        for index, (start, end) in enumerate(spans):
            if start > at or index == 0:
                parts += [text[at:start], replacement]
            at = max(at, end)
        return "".join([*parts, text[at:]])

    def redact_document(self, document: Json, report: Report = ignore_progress) -> Json:
        """Redact an exported document (plain JSON, without its sha256)."""
        return replace(self)._redact_document(document, report)  # a copy with no new ids yet

    def _redact_document(self, document: Json, report: Report) -> Json:
        ids: dict[str | None, str | None] = {None: None}
        hashes: dict[str | None, str | None] = {None: None}
        whole = count_steps(document["messages"], report, "Redacting", "messages")
        messages = [self._redact_message(message, ids, hashes) for message in whole]
        branches = [
            {"id": self._redact_id(branch["id"]), "name": self._redact_name(branch["name"]), "head": ids[branch["head"]]}
            for branch in document["branches"]
        ]
        thread = {
            "title": self._redact_name(document["thread"]["title"]),
            "settings": self._redact_value(document["thread"]["settings"]),
        }
        checkpoints = [self._redact_checkpoint(checkpoint, ids) for checkpoint in document["checkpoints"]]
        active = {"active": self._redact_id(document["active"])} if "active" in document else {}
        return {
            **document,
            **active,
            "thread": thread,
            "messages": messages,
            "branches": branches,
            "checkpoints": checkpoints,
        }

    def _redact_id(self, value: str) -> str:
        """Return an id, or a numbered one in the place of an id that matches. A hash of it could be guessed."""
        if self.redact_text(value) == value:
            return value
        return self._new_ids.setdefault(value, f"redacted-{len(self._new_ids) + 1}")

    def _redact_message(
        self, message: Json, ids: dict[str | None, str | None], hashes: dict[str | None, str | None]
    ) -> Json:
        body = self._redact_body(message["message"])
        agent = message["agent"] if message["agent"] == MAIN else self._redact_name(message["agent"])
        hash_ = serde.hash_message(body, agent, message["status"], hashes[message["parent_id"]])
        is_same = hash_ == message["hash"] and self._redact_id(message["id"]) == message["id"]
        identifier = message["id"] if is_same else _derive_redacted_id(message["id"], hash_)
        parent_id = ids[message["parent_id"]]
        ids[message["id"]], hashes[message["id"]] = identifier, hash_
        return {**message, "id": identifier, "parent_id": parent_id, "agent": agent, "message": body, "hash": hash_}

    def _redact_body(self, body: Json) -> Json:
        data = body["data"]
        if self.tool_results and body["type"] in ("tool", "function"):
            kept = ("tool_call_id", "name", "id", "status")
            data = {key: value for key, value in data.items() if key in kept} | {"content": REDACTED}
        if self.tool_results or self._matchers:
            data = self._redact_reasoning(data)
        if self.files or self._matchers:
            data = {**data, "content": _strip_files(data["content"])}
        if self._matchers:
            data = {key: self._redact_field(key, value) for key, value in data.items()}
        return serde.to_body(serde.to_message({"type": body["type"], "data": data}))

    def _redact_reasoning(self, data: Json) -> Json:
        """Leave out what cannot be searched: a provider's items, and reasoning about results that are left out."""
        others = {key: value for key, value in (data.get("additional_kwargs") or {}).items() if key != REASONING_KEY}
        kept = Reasoning.of(AIMessage("", additional_kwargs=data.get("additional_kwargs") or {}))
        if kept is None:
            return data
        reasoning = {} if self.tool_results else kept.without_items().to_kwargs()
        return {**data, "additional_kwargs": {**others, **reasoning}}

    def _redact_field(self, key: str, value: Any) -> Any:
        """Redact a field of a message or of a part. Structural fields stay unchanged; all content is searched."""
        if key in _ID_KEYS and isinstance(value, str):
            return self._redact_id(value)
        if key in (*_STRUCTURAL_KEYS, *_ID_KEYS):
            return value
        if key == "name" and isinstance(value, str):  # providers take letters, digits, - and _ only
            return self.redact_text(value, replacement="redacted")
        if key in ("content", "tool_calls", "invalid_tool_calls") and isinstance(value, list):
            return [self._redact_part(part) for part in value]
        return self._redact_value(value)

    def _redact_part(self, part: Any) -> Any:
        if isinstance(part, dict):
            return {key: self._redact_field(key, value) for key, value in part.items()}
        return self._redact_value(part)

    def _redact_value(self, value: Any) -> Any:
        """Redact any JSON, keys and numbers included."""
        match value:
            case str():
                return self.redact_text(value)
            case dict():
                return _number_duplicates([(self.redact_text(key), self._redact_value(item)) for key, item in value.items()])
            case list():
                return [self._redact_value(item) for item in value]
            case bool() | None:
                return value
            case _:
                return value if self.redact_text(written := json.dumps(value)) == written else REDACTED

    def _redact_name(self, text: str) -> str:
        return self.redact_text(text)[:MAX_NAME_CHARS]

    def _redact_checkpoint(self, checkpoint: Json, ids: dict[str | None, str | None]) -> Json:
        redacted = {
            **checkpoint,
            "name": self._redact_name(checkpoint["name"]),
            "description": self.redact_text(checkpoint["description"])[:MAX_DESCRIPTION_CHARS],
            "message_id": ids[checkpoint["message_id"]],
            "branch": self._redact_id(checkpoint["branch"]),
            "extra": self._redact_value(checkpoint["extra"]),
        }
        if redacted != checkpoint or self._redact_id(checkpoint["id"]) != checkpoint["id"]:
            redacted["id"] = _derive_redacted_id(checkpoint["id"], serde.hash_document(redacted))
        return redacted


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
    for key, value in pairs:
        name, number = key, 2
        while name in made:
            name, number = f"{key} ({number})", number + 1
        made[name] = value
    return made
