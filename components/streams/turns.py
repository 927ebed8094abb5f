"""A turn that only added messages, and may have got a title. The page applies its changes; after any other change it reads
every panel.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, TypedDict

from agent.subagents.delegation import load_last_turn
from checkpoints import Message, Operation, OperationKind, Run, Store, Thread
from components.properties import Properties
from components.services import Services

USUAL_OPERATIONS = 10  # of a turn: all of most turns
MAX_TURN_OPERATIONS = 200


class DataChange(TypedDict, total=False):
    """A change of a panel's data."""

    fields: Mapping[str, Any]  # with their new values
    items: Mapping[str, Sequence[Mapping[str, Any]]]  # of lists: changed where their id is there, else added last
    first: Mapping[str, Mapping[str, Any]]  # an item that is now the first of its list
    every: Mapping[str, Mapping[str, Any]]  # fields of all items of a list


@dataclass(frozen=True, slots=True)
class TurnChanges:
    """The changes of the panels by a turn: properties, and the data of components by their id."""

    properties: Properties
    data: Mapping[str, DataChange]


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that is at work, has ended, or waits for a person."""

    thread: Thread
    base_version: int  # of the conversation before the turn
    messages: Sequence[Message]  # of the path, from the user's last message on
    operations: Sequence[Operation]  # the run's, abridged, the newest first
    run: Run | None


def read_turn(services: Services, thread_id: str, run_id: str | None) -> Turn | None:
    """Read the turn of the newest run; None if it did more than add messages, or several models answer.

    Without a run's id, something else changed the conversation: None as well unless that was its title.
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
    """Return whether a model's title came with this change, which follows the run and is not of it."""
    return operation.kind is OperationKind.RENAME and operation.actor == "system"


def _list_operations(store: Store, thread_id: str, run_id: str | None) -> list[Operation]:
    """Return the changes of a run, up to the limit, with a title that came after them. They are the newest of their
    conversation. Most turns make few.
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
    """Return whether the run wrote before its question: results for the calls that waited in the turn before."""
    question = messages[0]
    before, *_ = store.list_messages(question.thread_id, last=len(messages) + 1)  # read already, if the turn is short
    return before.id != question.id and before.run_id == run_id
