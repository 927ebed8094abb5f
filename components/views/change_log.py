"""The log of a conversation: each change in a sentence."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TypedDict

from checkpoints import Actor, Operation, OperationKind
from components.views.names import name_other
from components.views.operations import describe_beginning, describe_object, describe_undo, is_unknown
from components.views.sentences import choose_sentences
from words import _, ngettext


class LogEntry(TypedDict):
    version: int
    who: Actor
    # Another person than the reader is named; otherwise this is empty.
    person: str
    text: str
    time: str
    undone: bool


def build_log(operations: Sequence[Operation], questions: Mapping[str, str]) -> list[LogEntry]:
    """Return the log of a conversation, newest first. The messages of a run are a single entry.

    `questions` holds the texts of the user's messages, by id.
    """
    versions = {operation.version: operation for operation in operations}
    entries: list[LogEntry] = []
    for _group, written in groupby(operations, _log_group):
        newest, *others = list(written)
        entries.append(
            {
                "version": newest.version,
                "who": newest.actor,
                "person": name_other(newest.person),
                "text": _describe_operation(newest, 1 + len(others), versions, questions.get(newest.result or "", "")),
                "time": newest.created_at.isoformat(),
                "undone": newest.undone,
            }
        )
    return entries


def _log_group(operation: Operation) -> tuple[object, ...]:
    """Return a key shared only by consecutive messages of the same run."""
    if operation.kind is OperationKind.APPEND and operation.undo_group:
        return operation.undo_group, operation.actor, operation.undone, operation.person
    return (operation.version,)


def _describe_operation(operation: Operation, count: int, versions: Mapping[int, Operation], question: str) -> str:
    """Return an operation's sentence. Undo and redo name their target, if it is among `versions`."""
    sentences = choose_sentences(operation)
    quoted = _(" “{question}”", question=question) if question else ""
    match operation.kind:
        case OperationKind.APPEND if operation.detail.subject in ("excerpt", "question"):
            return sentences.log.format(describe_object(operation))
        case OperationKind.APPEND:
            return (
                _("Asked{quoted}", quoted=quoted)
                if operation.actor == "user"
                else sentences.log.format(ngettext("{count:,} message", "{count:,} messages", count))
            )
        case OperationKind.UNDO | OperationKind.REDO:
            return sentences.log.format(_describe_target(operation, versions))
        case _ if sentences.unknown and is_unknown(operation):
            return f"{sentences.unknown}{quoted}"
        case OperationKind.EDIT | OperationKind.REPLACE | OperationKind.RETRY:
            said = f"{sentences.log.format(describe_object(operation))}{quoted}"
            return " · ".join(filter(None, (said, describe_beginning(operation.detail))))
        case _:
            return sentences.log.format(describe_object(operation))


def _describe_target(operation: Operation, versions: Mapping[int, Operation]) -> str:
    """Describe the operation reverted by an undo, or brought back by a redo."""
    target = versions.get(operation.target or 0)
    if operation.kind is OperationKind.REDO and target:
        target = versions.get(target.target or 0)
    return _("an earlier change") if target is None or _is_erased(target) else str(describe_undo(target))


def _is_erased(operation: Operation) -> bool:
    """Return whether an erasure cleared everything recorded about the operation."""
    return not (operation.changes or operation.abridged) and is_unknown(operation)
