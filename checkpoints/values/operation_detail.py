"""Facts of an operation: names, numbers and keys. `components.views.operations` writes the sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, get_args

from .place_name import PLACE_KINDS, PlaceKind

# An operation's changes hold these long texts, its detail does not.
LONG_SETTINGS: Final = frozenset({"instructions", "extra_body"})
Subject = Literal["thread", "branch", "branches", "checkpoint", "checkpoints", "message", "excerpt", "question", "draft"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDetail:
    """Facts of an operation beside its changes, for people. Each kind sets only its own fields."""

    # Set for a rename, pin, fork, switch, delete, clear, answer or edit.
    subject: Subject | None = None
    # The origin of an excerpt. `name` is its name.
    place: PlaceKind | None = None
    # The name before the change.
    name: str = ""
    new_name: str = ""
    # Removed, summarized or imported messages, removed or imported checkpoints, and opened, deleted or imported branches.
    messages: int = 0
    checkpoints: int = 0
    branches: int = 0
    # The messages after a replaced message.
    kept: int | None = None
    # Whether a restore kept the removed messages as a branch.
    future_kept: bool | None = None
    pinned: bool | None = None
    archived: bool | None = None
    # Names of tags.
    added: Sequence[str] = field(default_factory=list)
    removed: Sequence[str] = field(default_factory=list)
    # The model asked for a title, and its usage as LangChain counts it.
    model: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    # The depth of the message a move went to.
    depth: int | None = None
    # Both token counts are estimates.
    tokens_before: int | None = None
    tokens_after: int | None = None
    # Changed keys and their new values, without long texts.
    settings: Mapping[str, str] = field(default_factory=dict)
    # A graph begins with its values from before an unfinished turn.
    begins_earlier: bool = False
    # The id of the checkpoint a branch was made from.
    checkpoint: str = ""
    # The runs a copy, or a branch from an earlier state, begins with: see `StandingRuns`.
    standing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # The earlier versions of the thread also made by this operation, for the steps of a graph's run.
    joined: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the fields different from their defaults."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in values.items() if value != getattr(NO_DETAIL, name)}

    @classmethod
    def from_json(cls, stored: object) -> "OperationDetail":
        """Parse a stored detail. Damaged fields get their defaults, since a detail decides only the words on the page."""
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
