"""The sentences about each kind of operation and its variants. `operations` fills them."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Final

from checkpoints import Operation, OperationKind
from words import N_, _


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences about a kind of operation; {} is its object (see `operations`)."""

    log: str
    # These words follow “Undo” or “Undid”.
    undo: str
    # Without a notice, there is no banner.
    notice: str | None = None
    # This sentence is for an operation without a detail, if the others need a detail.
    unknown: str | None = None


_SENTENCES: Final[Mapping[OperationKind, Sentences]] = {
    OperationKind.APPEND: Sentences(N_("Wrote {}"), N_("the last messages")),
    OperationKind.EDIT: Sentences(
        N_("Edited a message"), N_("the new answer"), N_("The messages that followed were removed")
    ),
    OperationKind.RETRY: Sentences(
        N_("Asked for another answer"), N_("the new answer"), N_("The earlier answer was removed")
    ),
    OperationKind.REPLACE: Sentences(
        N_("Kept {} and changed a message to"),
        N_("the change of a text"),
        N_("The message was changed, {} kept"),
        N_("Changed a message to"),
    ),
    OperationKind.SAVE: Sentences(N_("Saved checkpoint {}"), N_("saving {}"), unknown=N_("Saved a checkpoint")),
    OperationKind.RENAME: Sentences(N_("Renamed {}"), N_("the change of {}"), unknown=N_("Changed a name or a description")),
    OperationKind.PIN: Sentences(N_("Unpinned {}"), N_("the pin of {}"), unknown=N_("Pinned or unpinned a checkpoint")),
    OperationKind.ARCHIVE: Sentences(N_("Archived the {}"), N_("archiving the {}"), unknown=N_("Archived a conversation")),
    OperationKind.TAG: Sentences(N_("Added {}"), N_("adding {}"), unknown=N_("Changed the tags")),
    OperationKind.SETTINGS: Sentences(N_("Set {}"), N_("setting {}"), unknown=N_("Changed the settings")),
    OperationKind.FORK: Sentences(N_("Began {}"), N_("the new {}"), N_("You are on the new {}"), N_("Branched off")),
    OperationKind.RESTORE: Sentences(
        N_("Restored {}"), N_("restoring {}"), N_("Restored to {}"), N_("Restored a checkpoint")
    ),
    OperationKind.GOTO: Sentences(
        N_("Went back to {}"),
        N_("the agent's going back to {}"),
        N_("The agent went back to {}"),
        N_("Went back to an earlier message"),
    ),
    OperationKind.REWIND: Sentences(
        N_("Replaced {}"), N_("the agent's replacement of {}"), N_("The agent replaced {}"), N_("Replaced a message")
    ),
    OperationKind.COMPACT: Sentences(
        N_("Summarised {}"), N_("the summary of {}"), N_("{} summarised"), N_("Summarised messages")
    ),
    OperationKind.SWITCH: Sentences(N_("Switched to {}"), N_("switching to {}"), unknown=N_("Switched to another branch")),
    OperationKind.DELETE: Sentences(
        N_("Deleted the {}"), N_("deleting the {}"), N_("Deleted the {}"), N_("Deleted something")
    ),
    OperationKind.IMPORT: Sentences(N_("Imported {}"), N_("the import"), N_("Imported {}"), N_("Imported a file")),
    OperationKind.CLEAR: Sentences(
        N_("Cleared the {}"), N_("clearing the {}"), N_("Cleared the {}"), N_("Cleared a conversation")
    ),
    OperationKind.ERASE: Sentences(N_("Erased what only undo could bring back"), N_("the erasing")),
    OperationKind.UNDO: Sentences(N_("Undid {}"), N_("the undo")),
    OperationKind.REDO: Sentences(N_("Redid {}"), N_("the redo")),
}
_TITLE_CHANGE: Final = Sentences(N_("Renamed the conversation to {}"), N_("the new title"))
_TITLE_OF_MODEL: Final = Sentences(N_("Gave the conversation the title {}"), N_("the title {}"))
_UNARCHIVING: Final = Sentences(N_("Unarchived the {}"), N_("unarchiving the {}"))
_TAG_REMOVAL: Final = Sentences(N_("Removed {}"), N_("removing {}"))
_TAG_EXCHANGE: Final = Sentences(N_("Added {}"), N_("the change of tags"))
_DESCRIPTION_CHANGE: Final = Sentences(N_("Described {}"), N_("the change of {}"))
_PINNING: Final = Sentences(N_("Pinned {}"), N_("the pin of {}"))
_THREAD_FORK: Final = Sentences(N_("Branched off from {}"), N_("the new conversation"), N_("Branched off from {}"))
_EXCERPT: Final = Sentences(N_("Brought a note from {}"), N_("the note from {}"), N_("A note from {} was added"))
_ANSWER: Final = Sentences(N_("Answered a question of the graph"), N_("the answer to the graph's question"))
_MESSAGE_RESTORE: Final = Sentences(N_("Restored to {}"), N_("restoring to {}"), N_("Restored to {}"))
_KEPT_BRANCH: Final = Sentences(
    N_("Kept the removed messages as {}"),
    N_("keeping {}"),
    N_("The removed messages are kept as the {}."),
    N_("Branched off"),
)
_REWRITING: Final = Sentences(N_("Replaced or removed {}"), N_("the new answer"), N_("The graph replaced or removed {}"))
_DRAFT_REPLACEMENT: Final = Sentences(N_("Replaced the unfinished answer"), N_("the new answer"))
_AGENT_FORK: Final = Sentences(N_("Began {}"), N_("the new {}"), N_("The agent opened {}"), N_("Branched off"))


def choose_sentences(operation: Operation) -> Sentences:
    """Return the sentences for an operation, by its kind or a variant of it."""
    detail = operation.detail
    match operation.kind:
        case OperationKind.APPEND if detail.subject in ("excerpt", "question"):
            chosen = _EXCERPT if detail.subject == "excerpt" else _ANSWER
        case OperationKind.EDIT if operation.is_rewriting or detail.subject == "draft":
            chosen = _REWRITING if operation.is_rewriting else _DRAFT_REPLACEMENT
        case OperationKind.RENAME if detail.subject == "thread":
            chosen = _TITLE_OF_MODEL if operation.actor == "system" else _TITLE_CHANGE
        case OperationKind.RENAME if detail.subject == "checkpoint" and not detail.new_name:
            chosen = _DESCRIPTION_CHANGE
        case OperationKind.PIN if detail.pinned:
            chosen = _PINNING
        case OperationKind.ARCHIVE if detail.archived is False:
            chosen = _UNARCHIVING
        case OperationKind.TAG if detail.removed:
            chosen = _TAG_EXCHANGE if detail.added else _TAG_REMOVAL
        case OperationKind.FORK if detail.subject == "thread":
            chosen = _THREAD_FORK
        case OperationKind.FORK if detail.future_kept:
            chosen = _KEPT_BRANCH
        case OperationKind.RESTORE if detail.subject == "message":
            chosen = _MESSAGE_RESTORE
        case OperationKind.FORK if operation.actor == "agent":
            chosen = _AGENT_FORK
        case kind:
            chosen = _SENTENCES[kind]
    return Sentences(*(each and _(each) for each in astuple(chosen)))
