"""A turn that only added messages, and perhaps a title. The page applies its changes.

After any other change, the page reads every panel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypedDict

from agent.subagents.delegation import load_last_turn
from checkpoints import Message, Operation, OperationKind, Run, Store, Thread
from components.properties import Properties
from components.services import Services

# Most turns have no more operations than this.
USUAL_OPERATIONS = 10
MAX_TURN_OPERATIONS = 200


class DataChange(TypedDict, total=False):
    # Fields get these new values.
    fields: Mapping[str, Any]
    # Items of lists. An item whose id is known is changed, and any other item is added at the end.
    items: Mapping[str, Sequence[Mapping[str, Any]]]
    # These items are now the first of their lists.
    first: Mapping[str, Mapping[str, Any]]
    # All items of a list get these fields.
    every: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TurnChanges:
    """The changes of the panels by a turn: properties, and the data of components by their id."""

    properties: Properties
    data: Mapping[str, DataChange]


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn at work, ended, or waiting for a person."""

    thread: Thread
    # The conversation had this version before the turn.
    base_version: int
    # The path has these messages from the user's last message on.
    messages: Sequence[Message]
    # The run's operations are abridged, newest first.
    operations: Sequence[Operation]
    run: Run | None


def read_turn(services: Services, thread_id: str, run_id: str | None) -> Turn | None:
    """Read the turn of the newest run; None if it did more than add messages, or several models answer.

    Without a run id, something else changed the conversation. Then only a new title gives a turn.
    """
    store, run = services.store, services.runs.get_latest_run(thread_id)
    if run is not None and run.candidates:
        return None
    group = run.id if run is not None and run_id is None else run_id
    operations = _list_operations(store, thread_id, group)
    own = operations[1:] if operations and is_model_title(operations[0]) else operations
    if len(operations) == MAX_TURN_OPERATIONS or any(each.kind is not OperationKind.APPEND for each in own):
        return None
    if run_id is None and own is operations:
        return None
    messages = load_last_turn(store, thread_id)
    if messages and _closes_earlier_turn(store, messages, group):
        return None
    thread = store.get_thread(thread_id)
    return Turn(thread, thread.version - len(operations), messages, operations, run)


def is_model_title(operation: Operation) -> bool:
    """Return whether this change is a model's title. It follows the run without being part of it."""
    return operation.kind is OperationKind.RENAME and operation.actor == "system"


def _list_operations(store: Store, thread_id: str, run_id: str | None) -> list[Operation]:
    """Return the changes of a run, up to the limit, with a later title. They are the conversation's newest.

    Most turns make few changes, so a small number is read first.
    """
    operations: list[Operation] = []
    for count in (USUAL_OPERATIONS, MAX_TURN_OPERATIONS):
        newest = store.list_operations(thread_id, last=count, abridged=True)
        title = [each for each in newest[:1] if is_model_title(each)]
        operations = title + list(takewhile(lambda operation: operation.undo_group == run_id, newest[len(title) :]))
        if len(operations) < count:
            break
    return operations


def _closes_earlier_turn(store: Store, messages: Sequence[Message], run_id: str | None) -> bool:
    """Return whether the run wrote results for calls of the previous turn before its own question."""
    question = messages[0]
    # A short turn was read to its beginning already.
    before, *_ = store.list_messages(question.thread_id, last=len(messages) + 1)
    return before.id != question.id and before.run_id == run_id
