"""The marks of messages: entries of `additional_kwargs` as typed values, and the only code that knows their keys.

A file may hold any value in the place of a mark. `of` reads strictly and returns None for every such value.
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
    """A tool call on a path: the agent that makes it, and its id there. Two agents may use the same id."""

    agent: str
    call_id: str


@dataclass(frozen=True, slots=True)
class MoveMark:
    """The mark of a move's message: the note of a goto, or the new answer of a rewind.

    In the memory of a sub-agent, the result of the call is that message (see context.subagent_memory).
    """

    kind: MoveKind
    position: int  # of the target
    removed: int  # messages that left the path
    sources: tuple[str, ...] = ()  # external sources that the agent had read
    before: int = 0  # tokens of the removed messages, estimated
    after: int = 0  # tokens of the new message, estimated
    last: str | None = None  # id of the last removed message; None where the removed messages are not contiguous
    head: str | None = None  # id of the head before the move; None as for `last`

    @classmethod
    def of(cls, message: Message | NewMessage) -> Self | None:
        """Read the mark of a message; None without one."""
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
    """The mark of a summary's note."""

    removed: int  # messages that the note replaces
    before: int  # tokens of these messages, estimated
    after: int  # tokens of the note, estimated
    last: str | None = None  # id of the last replaced message
    head: str | None = None  # id of the head before the summary
    sources: tuple[str, ...] = ()  # external sources among the replaced messages

    @classmethod
    def of(cls, message: Message | NewMessage) -> Self | None:
        """Read the mark of a message; None without one."""
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
        """Read the mark of a message; None without one, and in the memory of the main agent."""
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

    call_id: str  # of the call of `fork`
    number: int  # of the prompt in that call, from 1

    @classmethod
    def of(cls, message: Message) -> Self | None:
        """Read the mark of a message; None without one."""
        entry = _find_entry(message, ATTEMPT_KEY)
        with suppress(ValueError):
            return cls(_require_text(entry.get("call")), _require_number(entry.get("number")))
        return None

    def to_kwargs(self) -> dict[str, Any]:
        return {ATTEMPT_KEY: {"call": self.call_id, "number": self.number}}


@dataclass(frozen=True, slots=True)
class MemoryCheckpointMark:
    """The mark of a result that saved a checkpoint in the memory of a sub-agent."""

    name: str
    description: str = ""

    @classmethod
    def of(cls, message: Message) -> Self | None:
        """Read the mark of a message; None without one."""
        entry = _find_entry(message, CHECKPOINT_KEY)
        with suppress(ValueError):
            return cls(_require_text(entry.get("name")), _require_text(entry.get("description", "")))
        return None

    def to_kwargs(self) -> dict[str, Any]:
        return {CHECKPOINT_KEY: {"name": self.name, "description": self.description}}


@dataclass(frozen=True, slots=True)
class ExcerptMark:
    """The mark of an excerpt: where its text comes from."""

    origin: PlaceName
    last: str  # hash of the last message there: it is the same in every copy of the conversation
    depth: int  # of that message
    sources: tuple[str, ...] = ()  # external sources among the messages there

    @classmethod
    def of(cls, message: Message | NewMessage) -> Self | None:
        """Read the mark of a message; None without one."""
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
        """Read the mark of a message; None without one."""
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
