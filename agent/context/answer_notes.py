"""The notes of an answer: entries of its `response_metadata` as typed values. Only this module knows their keys.

A file may hold any value in the place of a note. Notes are read strictly, and invalid values are ignored.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.messages import BaseMessage

from checkpoints.values.limits import to_tokens

SIZE_NOTE_KEY = "request"
WITHOUT_TOOLS_KEY = "without_tools"
# Marks an answer whose model takes no tools.
WITHOUT_TOOLS_NOTE: Mapping[str, Any] = {WITHOUT_TOOLS_KEY: True}


@dataclass(frozen=True, slots=True)
class SizeNote:
    """The size of an answer's request. With it, the answer's usage corrects the next estimate."""

    # Tokens of the request.
    estimated: int
    # Number of messages of the path before the request's first message.
    left_out: int = 0

    @classmethod
    def of(cls, answer: BaseMessage) -> Self | None:
        """Read the note of an answer, or return None if there is no valid note."""
        note: Any = answer.response_metadata.get(SIZE_NOTE_KEY)
        estimated = to_tokens(note.get("estimated")) if isinstance(note, dict) else None
        return None if estimated is None else cls(estimated, to_tokens(note.get("left_out")) or 0)

    def to_metadata(self) -> dict[str, Any]:
        return {SIZE_NOTE_KEY: {"estimated": self.estimated, "left_out": self.left_out}}


def has_size_note(data: Mapping[str, Any]) -> bool:
    """Return whether an answer's stored data hold a size note, without a check of its values."""
    return isinstance((data.get("response_metadata") or {}).get(SIZE_NOTE_KEY), dict)


def keep_size_note(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the size note, unchanged. A request keeps it, but providers do not receive it."""
    return {SIZE_NOTE_KEY: metadata[SIZE_NOTE_KEY]} if SIZE_NOTE_KEY in metadata else {}


def has_other_notes(metadata: Mapping[str, Any]) -> bool:
    """Return whether there is more than a size note."""
    return len(metadata) > (SIZE_NOTE_KEY in metadata)


def drop_size_note(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message's stored data without its size note."""
    metadata = data.get("response_metadata") or {}
    if SIZE_NOTE_KEY not in metadata:
        return dict(data)
    return {**data, "response_metadata": {key: value for key, value in metadata.items() if key != SIZE_NOTE_KEY}}


def is_without_tools(metadata: Mapping[str, Any] | None) -> bool:
    """Return whether an answer's model takes no tools, so none were offered."""
    return metadata is not None and metadata.get(WITHOUT_TOOLS_KEY) is True
