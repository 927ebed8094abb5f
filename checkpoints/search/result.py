"""The results of a search, as values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from ..values.model import Message
from .query import NoteKind, Role, Term
from .snippet import Snippet

# On the current path; on the path of another branch; on no path, after a restore, an edit or an undo.
Standing = Literal["current", "branch", "left"]


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note's own text, without the lines around it that are for the model."""

    kind: NoteKind
    text: str

    @property
    def role(self) -> Literal["note", "summary"]:
        return "summary" if self.kind == "summary" else "note"


@dataclass(frozen=True, slots=True)
class NoteRules:
    """How notes are recognised: `read` by their marks, and found by words that all of a kind have in sequence.

    The index has no marks of notes. Their words narrow a search to few candidates, and `read` decides.
    """

    read: Callable[[Message], NoteText | None] = lambda _message: None
    phrases: Mapping[NoteKind, str] = field(default_factory=dict)


NO_NOTES = NoteRules()


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message or a checkpoint that was found. `branch` names a branch that has it, where the current one has not."""

    thread_id: str
    title: str  # of the conversation
    owner: str  # of the conversation
    role: Role | Literal["summary"]
    person: str | None  # who asked, where people are told apart
    message_id: str  # of a checkpoint, the message that it stands on
    depth: int
    checkpoint_id: str | None
    name: str  # of a checkpoint
    snippet: Snippet
    created_at: datetime
    standing: Standing
    branch: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a query, the best first. `is_pending`: messages are still to be indexed."""

    hits: tuple[SearchHit, ...]
    has_more: bool
    is_pending: bool


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where the page shows a message: it, the answer whose card has it, or the last message before it that is shown."""

    message_id: str | None  # None: the conversation shares nothing with it
    standing: Standing
    branch: str
    branch_id: str = ""
    branch_message_id: str | None = None  # where the page shows it once it stands on that branch


@dataclass(frozen=True, slots=True)
class PathHits:
    """The messages of the current path with the words of a text, by id, the first of the conversation first.

    `has_more`: there are others, which come before these. `is_pending`: messages are still to be indexed.
    """

    message_ids: tuple[str, ...]
    has_more: bool
    is_pending: bool
    term: Term | None  # None: the text has no words
