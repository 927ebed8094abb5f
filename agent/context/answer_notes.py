"""The notes of an answer: entries of its `response_metadata` as typed values, and the only code that knows their keys.

A file may hold any value in the place of a note. It is read strictly, and every such value is no note.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.messages import BaseMessage

from checkpoints.values.limits import to_tokens

SIZE_NOTE_KEY = "request"
WITHOUT_TOOLS_KEY = "without_tools"
WITHOUT_TOOLS_NOTE: Mapping[str, Any] = {WITHOUT_TOOLS_KEY: True}  # of an answer whose model takes no tools


@dataclass(frozen=True, slots=True)
class SizeNote:
    """The size of an answer's request. With it, the answer's usage corrects the next estimate."""

    estimated: int  # tokens of the request
    left_out: int = 0  # messages of the path before the first one in it

    @classmethod
    def of(cls, answer: BaseMessage) -> Self | None:
        """Read the note of an answer; None without one."""
        note: Any = answer.response_metadata.get(SIZE_NOTE_KEY)
        estimated = to_tokens(note.get("estimated")) if isinstance(note, dict) else None
        return None if estimated is None else cls(estimated, to_tokens(note.get("left_out")) or 0)

    def to_metadata(self) -> dict[str, Any]:
        return {SIZE_NOTE_KEY: {"estimated": self.estimated, "left_out": self.left_out}}


def has_size_note(data: Mapping[str, Any]) -> bool:
    """Return whether stored data of an answer hold a size note, which is not checked."""
    return isinstance((data.get("response_metadata") or {}).get(SIZE_NOTE_KEY), dict)


def keep_size_note(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the size note alone, as it is: a request keeps it, and providers do not receive it."""
    return {SIZE_NOTE_KEY: metadata[SIZE_NOTE_KEY]} if SIZE_NOTE_KEY in metadata else {}


def has_other_notes(metadata: Mapping[str, Any]) -> bool:
    """Return whether there is more than a size note."""
    return len(metadata) > (SIZE_NOTE_KEY in metadata)


def drop_size_note(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored data of a message without its size note."""
    metadata = data.get("response_metadata") or {}
    if SIZE_NOTE_KEY not in metadata:
        return dict(data)
    return {**data, "response_metadata": {key: value for key, value in metadata.items() if key != SIZE_NOTE_KEY}}


def is_without_tools(metadata: Mapping[str, Any] | None) -> bool:
    """Return whether an answer's model takes no tools, so that none were offered."""
    return metadata is not None and metadata.get(WITHOUT_TOOLS_KEY) is True
