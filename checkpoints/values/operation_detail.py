"""Facts of an operation: names, numbers and keys. No sentences: components.views.operations makes those."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, get_args

from .place_name import PLACE_KINDS, PlaceKind

LONG_SETTINGS: Final = frozenset(
    {"instructions", "extra_body"}
)  # an operation's changes hold their texts, its detail does not
Subject = Literal["thread", "branch", "branches", "checkpoint", "checkpoints", "message", "excerpt", "question", "draft"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDetail:
    """Facts of one operation beside its changes, for people. Each kind sets the fields that it has, and no others."""

    subject: Subject | None = None  # of a rename, pin, fork, switch, delete, clear, answer or edit
    place: PlaceKind | None = None  # of the origin of an excerpt: `name` is its name
    name: str = ""  # the name before the change
    new_name: str = ""
    messages: int = 0  # removed, summarised or imported
    checkpoints: int = 0  # removed or imported
    branches: int = 0  # opened, deleted or imported
    kept: int | None = None  # messages after a replaced one
    future_kept: bool | None = None  # whether a restore kept the removed messages as a branch
    pinned: bool | None = None
    archived: bool | None = None
    added: Sequence[str] = field(default_factory=list)  # names of tags
    removed: Sequence[str] = field(default_factory=list)  # names of tags
    model: str = ""  # that was asked for a title
    usage: Mapping[str, Any] = field(default_factory=dict)  # of that model, as LangChain counts it
    depth: int | None = None  # of the message that a move went to
    tokens_before: int | None = None  # an estimate
    tokens_after: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)  # changed keys and new values; long texts are left out
    begins_earlier: bool = False  # a graph begins with its values from before a turn that did not end
    checkpoint: str = ""  # the id of the one that a branch was made of
    standing: Mapping[str, Sequence[str]] = field(default_factory=dict)  # see `StandingRuns`: what a copy begins with
    joined: int = 0  # earlier versions of the thread that the operation has made as well: steps of a graph's run

    def to_json(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(NO_DETAIL, name)}

    @classmethod
    def from_json(cls, stored: object) -> "OperationDetail":
        """Parse a stored detail. A damaged field gets its default: a detail decides nothing but the words for it."""
        values = stored if isinstance(stored, dict) else {}
        return cls(**{name: values[name] for name, is_valid in _CHECKS.items() if name in values and is_valid(values[name])})


NO_DETAIL: Final = OperationDetail()


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_map(value: object) -> bool:
    return isinstance(value, dict)


def _is_text_list(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_list_map(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_text_list, value.values()))


def _is_text_map(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


_CHECKS: Final = {
    "subject": lambda value: value in get_args(Subject),
    "place": lambda value: value in PLACE_KINDS,
    **dict.fromkeys(("name", "new_name", "model", "checkpoint"), _is_text),
    **dict.fromkeys(
        ("messages", "checkpoints", "branches", "kept", "depth", "tokens_before", "tokens_after", "joined"), _is_count
    ),
    **dict.fromkeys(("future_kept", "pinned", "archived", "begins_earlier"), _is_flag),
    **dict.fromkeys(("added", "removed"), _is_text_list),
    "settings": _is_text_map,
    "standing": _is_list_map,
    "usage": _is_map,
}
