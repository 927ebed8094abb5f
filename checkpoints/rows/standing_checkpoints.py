"""Find the checkpoints at the conversation's current message, graph state and answers."""

from collections.abc import Iterable, Sequence
from functools import partial

import sqlalchemy as sa

from ..values.model import Checkpoint, Thread
from ..values.operation import Operation
from ..values.standing_runs import StandingRuns
from . import operation_rows, write_rows


def list_standing(connection: sa.Connection, thread: Thread, checkpoints: Iterable[Checkpoint]) -> list[str]:
    """Return the ids of the checkpoints to which a restore would change nothing."""
    at_head = [each for each in checkpoints if each.node is not None and each.node.id == thread.head_id]
    same = [each.id for each in at_head if each.state_id in (None, thread.state_id)]
    if not same or thread.state_id not in write_rows.select_asking_states(connection, thread.id):
        return same
    list_last = partial(list_last_operations, connection, thread.id)
    standing, *saved = (set(StandingRuns.find(list_last, thread.branch_id, each)[0].ids) for each in (None, *same))
    return [each for each, ids in zip(same, saved, strict=True) if ids == standing]


def list_last_operations(connection: sa.Connection, thread_id: str, count: int) -> Sequence[Operation]:
    """Return a thread's last changes, newest first."""
    return operation_rows.select_operations(connection, thread_id, limit=count)
