"""The sentences about each kind of operation, and about its variants. `operations` fills them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from checkpoints import Operation, OperationKind


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences about one kind of operation; {} is its object (see `operations`)."""

    log: str
    undo: str  # follows “Undo” or “Undid”
    notice: str | None = None  # None: no banner
    unknown: str | None = None  # for an operation without a detail; None: the others need none


_SENTENCES: Final[Mapping[OperationKind, Sentences]] = {
    OperationKind.APPEND: Sentences("Wrote {}", "the last messages"),
    OperationKind.EDIT: Sentences("Asked instead", "the new answer", "What was here before was set aside"),
    OperationKind.RETRY: Sentences("Asked for another answer", "the new answer", "The earlier answer was set aside"),
    OperationKind.REPLACE: Sentences(
        "Kept {} and changed a message to",
        "the change of a text",
        "The message was changed, {} kept",
        "Changed a message to",
    ),
    OperationKind.SAVE: Sentences("Saved checkpoint {}", "saving {}", unknown="Saved a checkpoint"),
    OperationKind.RENAME: Sentences("Renamed {}", "the change of {}", unknown="Changed a name or a description"),
    OperationKind.PIN: Sentences("Unpinned {}", "the pin of {}", unknown="Pinned or unpinned a checkpoint"),
    OperationKind.ARCHIVE: Sentences("Archived the {}", "archiving the {}", unknown="Archived a conversation"),
    OperationKind.TAG: Sentences("Added {}", "adding {}", unknown="Changed the tags"),
    OperationKind.SETTINGS: Sentences("Set {}", "setting {}", unknown="Changed the settings"),
    OperationKind.FORK: Sentences("Began {}", "the new {}", "You are on the new {}", "Branched off"),
    OperationKind.RESTORE: Sentences("Restored {}", "restoring {}", "Restored to {}", "Restored a checkpoint"),
    OperationKind.GOTO: Sentences(
        "Went back to {}", "the agent's going back to {}", "The agent went back to {}", "Went back to an earlier message"
    ),
    OperationKind.REWIND: Sentences(
        "Replaced {}", "the agent's replacing of {}", "The agent replaced {}", "Replaced a message"
    ),
    OperationKind.COMPACT: Sentences("Summarised {}", "the summary of {}", "{} summarised", "Summarised messages"),
    OperationKind.SWITCH: Sentences("Switched to {}", "switching to {}", unknown="Switched to another branch"),
    OperationKind.DELETE: Sentences("Deleted the {}", "deleting the {}", "Deleted the {}", "Deleted something"),
    OperationKind.IMPORT: Sentences("Imported {}", "the import", "Imported {}", "Imported a file"),
    OperationKind.CLEAR: Sentences("Cleared the {}", "clearing the {}", "Cleared the {}", "Cleared something"),
    OperationKind.ERASE: Sentences("Erased what only undo could bring back", "the erasing"),
    OperationKind.UNDO: Sentences("Undid {}", "the undo"),
    OperationKind.REDO: Sentences("Redid {}", "the redo"),
}
_TITLE_CHANGE: Final = Sentences("Renamed the conversation to {}", "the new title")
_TITLE_OF_MODEL: Final = Sentences("Gave the conversation the title {}", "the title {}")
_UNARCHIVING: Final = Sentences("Unarchived the {}", "unarchiving the {}")
_TAG_REMOVAL: Final = Sentences("Removed {}", "removing {}")
_TAG_EXCHANGE: Final = Sentences("Added {}", "the change of tags")
_DESCRIPTION_CHANGE: Final = Sentences("Described {}", "the change of {}")
_PINNING: Final = Sentences("Pinned {}", "the pin of {}")
_THREAD_FORK: Final = Sentences("Branched off from {}", "the new conversation", "Branched off from {}")
_EXCERPT: Final = Sentences("Brought a note from {}", "the note from {}", "A note from {} was added")
_MESSAGE_RESTORE: Final = Sentences("Restored to {}", "restoring to {}", "Restored to {}")
_KEPT_BRANCH: Final = Sentences(
    "Kept the removed messages as {}", "keeping {}", "The removed messages are kept as the {}", "Branched off"
)
_AGENT_FORK: Final = Sentences("Began {}", "the new {}", "The agent opened {}", "Branched off")


def choose_sentences(operation: Operation) -> Sentences:
    """Return the sentences of a kind, or of one of its variants."""
    detail = operation.detail
    match operation.kind:
        case OperationKind.APPEND if detail.subject == "excerpt":
            chosen = _EXCERPT
        case OperationKind.RENAME if detail.subject == "thread":
            chosen = _TITLE_OF_MODEL if operation.actor == "system" else _TITLE_CHANGE
        case OperationKind.RENAME if detail.subject == "checkpoint" and not detail.new_name:
            chosen = _DESCRIPTION_CHANGE
        case OperationKind.PIN if detail.pinned:
            chosen = _PINNING
        case OperationKind.ARCHIVE if detail.archived is False:
            chosen = _UNARCHIVING
        case OperationKind.TAG if detail.added and detail.removed:
            chosen = _TAG_EXCHANGE
        case OperationKind.TAG if detail.removed:
            chosen = _TAG_REMOVAL
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
    return chosen
