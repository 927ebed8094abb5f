"""Steps that wait for a person, in an export: what their tasks have written, and the states of their subgraphs.

In the file, all of it is of the run that asked first: an import has no other runs, and goes on with nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from ..rows import run_rows, state_rows, write_rows
from ..rows.state_rows import StoredState
from ..rows.write_rows import Write
from ..store import Store
from ..values.graph_state import ENTRYPOINT_CHANNELS
from ..values.model import Json, Thread
from ..values.operation import OperationKind
from ..values.run import RunState
from .state_checks import NOTE_PREFIX, OWN_PREFIX, WAITING_CHANNELS
from .typed_values import write_typed_text

_QUESTION = "__interrupt__"
_USUAL_OPERATIONS = 50  # since a run came to rest
_CLOSING_KINDS = (OperationKind.UNDO, OperationKind.REDO)


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """A state of a graph whose step waits, the states of its open subgraphs with those above them, and all writes."""

    root: StoredState
    below: frozenset[int] = frozenset()
    writes: tuple[Json, ...] = ()


def keeps_answers(connection: sa.Connection, store: Store, thread: Thread) -> bool:
    """Return whether the answers to earlier questions stand where a conversation waits: nobody went back meanwhile.

    A program's runs are not known here: what LangGraph finds then stands.
    """
    newest = run_rows.select_newest_run(connection, thread.id, other_than="")
    if newest is None:
        return True
    if newest.state is not RunState.WAITING or newest.head_id != thread.head_id:
        return False
    operations = store.list_operations(thread.id, last=_USUAL_OPERATIONS)
    if any(each.undo_group == newest.id and each.undone for each in operations):
        return False
    standing = (each for each in operations if not each.undone and each.kind not in _CLOSING_KINDS)
    moving = (each for each in standing if each.undo_group == newest.id or each.kind is OperationKind.RESTORE)
    return next((each.kind is not OperationKind.RESTORE for each in moving), True)


def read_waiting_step(connection: sa.Connection, root: StoredState, *, keeps_answers: bool) -> WaitingStep | None:
    """Return the step after a state as it waits; None where it does not, or has something that no text carries.

    Without `keeps_answers`, it is as it was when the run that wrote the state came to rest.
    """
    from ..graph_states.open_subgraphs import select_open_subgraphs  # noqa: PLC0415  (it needs LangGraph's checkpoints)

    own = _read_writes(connection, root, keeps_answers=keeps_answers)
    if not any(each.channel == _QUESTION for each in own):
        return None
    below = select_open_subgraphs(connection, root, run_ids=None if keeps_answers else ())
    found = [(root, own), *((each, _read_writes(connection, each, keeps_answers=keeps_answers)) for each in below)]
    parts = [_write_part(state, each) for state, writes in found for each in writes]
    if None in parts:
        return None
    numbers = {state.number for each in below for state in _iterate_path(connection, each)}
    return WaitingStep(root, frozenset(numbers), tuple(part for part in parts if part is not None))


def _read_writes(connection: sa.Connection, state: StoredState, *, keeps_answers: bool) -> Sequence[Write]:
    if keeps_answers:
        found = write_rows.select_writes(connection, state.thread_id, state.namespace, [state.checkpoint_id])
        writes = found.get(state.checkpoint_id, [])
    else:
        writes = write_rows.select_first_writes(connection, state.thread_id, state.namespace, state.checkpoint_id)
    return [each for each in writes if not each.channel.startswith(NOTE_PREFIX)]


def _write_part(state: StoredState, write: Write) -> Json | None:
    is_known = not write.channel.startswith(OWN_PREFIX) or write.channel in (*ENTRYPOINT_CHANNELS, *WAITING_CHANNELS)
    text = write_typed_text(write.type, write.data) if is_known else None
    if text is None:
        return None
    place = {"namespace": state.namespace, "state": state.checkpoint_id, "task": write.task_id, "path": write.task_path}
    return {**place, "position": write.position, "channel": write.channel, "json": text}


def _iterate_path(connection: sa.Connection, state: StoredState | None) -> Iterator[StoredState]:
    while state is not None:
        yield state
        state = state_rows.select_numbered_state(connection, state.parent)
