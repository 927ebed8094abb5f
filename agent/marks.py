"""The marks of messages: entries of `additional_kwargs` as typed values. Only this module knows their keys.

A file may hold any value in the place of a mark. `of` reads strictly, and returns None for a missing or invalid mark.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, Self

from checkpoints import MAIN, Message, NewMessage
from checkpoints.values.limits import to_number
from checkpoints.values.place_name import PLACE_KINDS, PlaceKind, PlaceName

MoveKind = Literal["goto", "rewind"]
MOVE_KEY = "time_travel"
SUMMARY_KEY = "compaction"
QUESTION_KEY = "asked"
ATTEMPT_KEY = "fork"
CHECKPOINT_KEY = "memory_checkpoint"
EXCERPT_KEY = "excerpt"
INPUTS_KEY = "graph_inputs"


@dataclass(frozen=True, slots=True)
class CallKey:
    """A tool call on a path: the calling agent, and the call's id there. Two agents may use the same id."""

    agent: str
    call_id: str


@dataclass(frozen=True, slots=True)
class MoveMark:
    """The mark of a move's message: the note of a goto, or the new answer of a rewind.

    In the memory of a sub-agent, the call's result is this message (see context.subagent_memory).
    """

    kind: MoveKind
    # The position of the target, and the number of messages that left the path.
    position: int
    removed: int
    # External sources that the agent had read.
    sources: tuple[str, ...] = ()
    # Estimated tokens of the removed messages, and of the new message.
    before: int = 0
    after: int = 0
    # Ids of the last removed message, and of the head before the move. None if the removed messages are not contiguous.
    last: str | None = None
    head: str | None = None

    @classmethod
    def of(cls, message: Message | NewMessage) -> Self | None:
        if not (entry := _find_entry(message, MOVE_KEY)):
            return None
        with suppress(ValueError):
            return cls(
                kind=_require_kind(entry.get("kind")),
                position=_require_number(entry.get("to")),
                removed=_require_number(entry.get("removed")),
                sources=_require_texts(entry.get("sources", [])),
                before=_require_number(entry.get("before", 0)),
                after=_require_number(entry.get("after", 0)),
                last=_require_optional_text(entry.get("last")),
                head=_require_optional_text(entry.get("head")),
            )
        return None

    def to_kwargs(self) -> dict[str, Any]:
        entry = {"kind": self.kind, "to": self.position, "removed": self.removed, "sources": list(self.sources)}
        places = {"last": self.last, "head": self.head}
        return {MOVE_KEY: {**entry, "before": self.before, "after": self.after, **_drop_absent(places)}}


@dataclass(frozen=True, slots=True)
class SummaryMark:
    # Number of replaced messages, their estimated tokens, and the estimated tokens of the note.
    removed: int
    before: int
    after: int
    # Ids of the last replaced message, and of the head before the summary.
    last: str | None = None
    head: str | None = None
    # External sources among the replaced messages.
    sources: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Message | NewMessage) -> Self | None:
        if not (entry := _find_entry(message, SUMMARY_KEY)):
            return None
        with suppress(ValueError):
            return cls(
                removed=_require_number(entry.get("removed")),
                before=_require_number(entry.get("before")),
                after=_require_number(entry.get("after")),
                last=_require_optional_text(entry.get("last")),
                head=_require_optional_text(entry.get("head")),
                sources=_require_texts(entry.get("sources", [])),
            )
        return None

    def to_kwargs(self) -> dict[str, Any]:
        entry = {"removed": self.removed, "before": self.before, "after": self.after, "sources": list(self.sources)}
        return {SUMMARY_KEY: {**entry, **_drop_absent({"last": self.last, "head": self.head})}}


@dataclass(frozen=True, slots=True)
class QuestionMark:
    """The mark of a question to a sub-agent: the call that asks it."""

    call: CallKey

    @classmethod
    def of(cls, message: Message) -> Self | None:
        """Read the mark of a message. The main agent's memory has no such marks."""
        if message.agent == MAIN or message.type != "human":
            return None
        entry = _find_entry(message, QUESTION_KEY)
        with suppress(ValueError):
            return cls(CallKey(_require_text(entry.get("by")), _require_text(entry.get("call"))))
        return None

    def to_kwargs(self) -> dict[str, Any]:
        return {QUESTION_KEY: {"by": self.call.agent, "call": self.call.call_id}}


@dataclass(frozen=True, slots=True)
class AttemptMark:
    """The mark of the first message of a fork's branch."""

    # The id of the `fork` call, and the prompt's number in it, from 1.
    call_id: str
    number: int

    @classmethod
    def of(cls, message: Message) -> Self | None:
        entry = _find_entry(message, ATTEMPT_KEY)
        with suppress(ValueError):
            return cls(_require_text(entry.get("call")), _require_number(entry.get("number")))
        return None

    def to_kwargs(self) -> dict[str, Any]:
        return {ATTEMPT_KEY: {"call": self.call_id, "number": self.number}}


@dataclass(frozen=True, slots=True)
class MemoryCheckpointMark:
    """The mark of a result that saved a checkpoint in a sub-agent's memory."""

    name: str
    description: str = ""

    @classmethod
    def of(cls, message: Message) -> Self | None:
        entry = _find_entry(message, CHECKPOINT_KEY)
        with suppress(ValueError):
            return cls(_require_text(entry.get("name")), _require_text(entry.get("description", "")))
        return None

    def to_kwargs(self) -> dict[str, Any]:
        return {CHECKPOINT_KEY: {"name": self.name, "description": self.description}}


@dataclass(frozen=True, slots=True)
class ExcerptMark:
    """The mark of an excerpt: the place of its text."""

    origin: PlaceName
    # Hash and depth of the last message there. The hash is the same in every copy of the conversation.
    last: str
    depth: int
    # External sources among the messages there.
    sources: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: Message | NewMessage) -> Self | None:
        entry = _find_entry(message, EXCERPT_KEY)
        with suppress(ValueError):
            return cls(
                origin=PlaceName(_require_place_kind(entry.get("kind")), _require_text(entry.get("origin"))),
                last=_require_text(entry.get("last")),
                depth=_require_number(entry.get("depth")),
                sources=_require_texts(entry.get("sources", [])),
            )
        return None

    def to_kwargs(self) -> dict[str, Any]:
        entry = {"origin": self.origin.name, "last": self.last, "depth": self.depth, "sources": list(self.sources)}
        return {EXCERPT_KEY: {**entry, **_drop_absent({"kind": self.origin.kind})}}


@dataclass(frozen=True, slots=True)
class InputsMark:
    """The mark of a user's message with further inputs for a user graph, by their names."""

    values: dict[str, Any]

    @classmethod
    def of(cls, message: Message | NewMessage) -> Self | None:
        entry = _find_entry(message, INPUTS_KEY) if message.body["type"] == "human" else {}
        return cls(entry) if entry else None

    def to_kwargs(self) -> dict[str, Any]:
        return {INPUTS_KEY: self.values}


def _find_entry(message: Message | NewMessage, key: str) -> dict[str, Any]:
    entry = (message.body["data"].get("additional_kwargs") or {}).get(key)
    return entry if isinstance(entry, dict) else {}


def _require_kind(value: object) -> MoveKind:
    if value == "goto":
        return "goto"
    if value == "rewind":
        return "rewind"
    raise ValueError


def _require_place_kind(value: object) -> PlaceKind | None:
    if value is None or value in PLACE_KINDS:
        return value
    raise ValueError


def _require_number(value: object) -> int:
    number = to_number(value)
    if number is None:
        raise ValueError
    return number


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _require_optional_text(value: object) -> str | None:
    return None if value is None else _require_text(value)


def _require_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError
    return tuple(map(_require_text, value))


def _drop_absent(values: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
