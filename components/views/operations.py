"""Operations in words: the banner about the last one, what undo would take back, and the log of them all."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TypedDict

from checkpoints import Actor, Operation, OperationKind, pluralize


def describe_notice(operation: Operation | None) -> dict[str, str] | None:
    """The banner about the thread's last change, if it is one that took something away or went another way."""
    sentences = {
        OperationKind.RESTORE: "Restored to {}",
        OperationKind.GOTO: "The agent went back to {}",
        OperationKind.REWIND: "The agent replaced {}",
        OperationKind.COMPACT: "{}",
        OperationKind.CLEAR: "Cleared the {}",
        OperationKind.DELETE: "Deleted the {}",
        OperationKind.IMPORT: "Imported {}",
        OperationKind.EDIT: _choose_edit_sentence(operation),
        OperationKind.FORK: _choose_fork_sentence(operation),
    }
    if operation is None or operation.kind not in sentences or operation.undone:
        return None
    note = _describe_compaction(operation) if operation.kind is OperationKind.COMPACT else operation.note
    return {"op": str(operation.version), "text": sentences[operation.kind].format(note)}


def _describe_compaction(operation: Operation) -> str:
    """What a summary took the place of, and what it saved."""
    removed, _, saved = operation.note.partition(" · ")
    return f"{removed} summarised · {saved}"


def _choose_fork_sentence(operation: Operation | None) -> str:
    if _first_table(operation) != "branch":
        return "Branched off from {}"
    return "The agent opened {}" if operation and operation.actor == "agent" else "You are on the new {}"


def _choose_edit_sentence(operation: Operation | None) -> str:
    if _is_text_change(operation):
        return "The message was changed, {} kept"
    is_only_answered = operation is None or operation.result is None
    said = "The earlier answer was set aside" if is_only_answered else "What was here before was set aside"
    return f"{said} · {{}}" if operation and operation.note else said


def _is_text_change(operation: Operation | None) -> bool:
    """Whether an edit kept what followed, which its note counts; the note of any other counts the checkpoints that left."""
    return operation is not None and bool(operation.note) and not operation.note.endswith(" removed")


def describe_undo(operation: Operation | None) -> str | None:
    """What undoing this operation would take back, in words."""
    if operation is None:
        return None
    words = {
        OperationKind.APPEND: "the last messages",
        OperationKind.EDIT: "the change of a text" if _is_text_change(operation) else "the new answer",
        OperationKind.SAVE: f"saving {operation.note}",
        OperationKind.RENAME: "the new title" if _first_table(operation) == "thread" else f"the change of {operation.note}",
        OperationKind.PIN: f"the pin of {operation.note}",
        OperationKind.FORK: f"the new {operation.note}" if _first_table(operation) == "branch" else "the new conversation",
        OperationKind.RESTORE: f"restoring {operation.note}",
        OperationKind.GOTO: f"the agent's going back to {operation.note}",
        OperationKind.REWIND: f"the agent's replacing of {operation.note}",
        OperationKind.COMPACT: f"the summary of {operation.note.partition(' · ')[0]}",
        OperationKind.SETTINGS: f"setting {operation.note}",
        OperationKind.SWITCH: f"switching to {operation.note}" if operation.note else "switching the branch",
        OperationKind.DELETE: f"deleting the {operation.note}",
        OperationKind.CLEAR: f"clearing the {operation.note}",
        OperationKind.IMPORT: "the import",
        OperationKind.UNDO: "the undo",
        OperationKind.REDO: "the redo",
        OperationKind.ERASE: "the erasing",
    }
    return words[operation.kind]


def _first_table(operation: Operation | None) -> str:
    """What kind of thing an operation changed first: thread, branch or checkpoint."""
    return operation.changes[0].table if operation and operation.changes else ""


_ERASED_TEXTS = {
    OperationKind.SAVE: "Saved a checkpoint",
    OperationKind.RENAME: "Changed a name or a description",
    OperationKind.PIN: "Pinned or unpinned a checkpoint",
    OperationKind.FORK: "Branched off",
    OperationKind.RESTORE: "Restored a checkpoint",
    OperationKind.COMPACT: "Summarised messages",
    OperationKind.DELETE: "Deleted something",
    OperationKind.CLEAR: "Cleared something",
    OperationKind.IMPORT: "Imported a file",
}


def _is_erased(operation: Operation) -> bool:
    """Whether an erasing took from it what it had changed."""
    return not (operation.note or operation.changes)


class LogEntry(TypedDict):
    version: int
    who: Actor
    text: str
    time: str
    undone: bool


def build_log(operations: Sequence[Operation], questions: Mapping[str, str]) -> list[LogEntry]:
    """The changes of a conversation, newest first as they come; what one run wrote is one entry.

    `questions` are the texts of the user's messages, by id.
    """
    versions = {operation.version: operation for operation in operations}
    entries: list[LogEntry] = []
    for _, written in groupby(operations, _log_group):
        newest, *others = list(written)
        entries.append(
            {
                "version": newest.version,
                "who": newest.actor,
                "text": _describe_operation(newest, 1 + len(others), versions, questions.get(newest.result or "", "")),
                "time": newest.created_at.isoformat(),
                "undone": newest.undone,
            }
        )
    return entries


def _log_group(operation: Operation) -> tuple[object, ...]:
    """The same for the messages that one run wrote one after the other, and for nothing else."""
    if operation.kind is OperationKind.APPEND and operation.undo_group:
        return operation.undo_group, operation.actor, operation.undone
    return (operation.version,)


def _describe_operation(operation: Operation, count: int, versions: Mapping[int, Operation], question: str) -> str:
    """An operation in words; of an undo or a redo, with what it took back, if that is among `versions`."""
    if _is_erased(operation) and operation.kind in _ERASED_TEXTS:
        return _ERASED_TEXTS[operation.kind]
    note, is_branch = operation.note, _first_table(operation) == "branch"
    quoted = f" “{question}”" if question else ""
    words = {
        OperationKind.APPEND: f"Asked{quoted}" if operation.actor == "user" else f"Wrote {pluralize(count, 'message')}",
        OperationKind.EDIT: f"{_describe_edit(operation)}{quoted}",
        OperationKind.SAVE: f"Saved checkpoint {note}",
        OperationKind.RENAME: _describe_rename(operation),
        OperationKind.PIN: f"{'Pinned' if _sets_column(operation, 'pinned') else 'Unpinned'} {note}",
        OperationKind.FORK: f"Began {note}" if is_branch else f"Branched off from {note}",
        OperationKind.RESTORE: f"Restored {note}",
        OperationKind.GOTO: f"Went back to {note}",
        OperationKind.REWIND: f"Replaced {note}",
        OperationKind.COMPACT: f"Summarised {note}",
        OperationKind.SETTINGS: f"Set {note}",
        OperationKind.SWITCH: f"Switched to {note or 'another branch'}",
        OperationKind.DELETE: f"Deleted the {note}",
        OperationKind.CLEAR: f"Cleared the {note}",
        OperationKind.IMPORT: f"Imported {note}",
        OperationKind.UNDO: f"Undid {_describe_target(operation, versions)}",
        OperationKind.ERASE: "Erased what only undo could bring back",
        OperationKind.REDO: f"Redid {_describe_target(operation, versions)}",
    }
    return words[operation.kind]


def _describe_edit(operation: Operation) -> str:
    """Another message in the place of one, another question in its place, or only another answer to it."""
    if operation.result is None:
        return "Asked for another answer"
    return f"Kept {operation.note} and changed a message to" if _is_text_change(operation) else "Asked instead"


def _describe_rename(operation: Operation) -> str:
    if _first_table(operation) == "thread":
        return f"Renamed the conversation to {operation.note}"
    return f"{'Renamed' if _sets_column(operation, 'name') else 'Described'} {operation.note}"


def _sets_column(operation: Operation, column: str) -> bool:
    return any(change.after.get(column) for change in operation.changes)


def _describe_target(operation: Operation, versions: Mapping[int, Operation]) -> str:
    """What an undo took back; what a redo brought back is what the undo had taken."""
    target = versions.get(operation.target or 0)
    if operation.kind is OperationKind.REDO and target:
        target = versions.get(target.target or 0)
    return "an earlier change" if target is None or _is_erased(target) else str(describe_undo(target))
