"""Counters of a thread: its version, and the positions of its branches and checkpoints."""

from typing import Final

import sqlalchemy as sa

from ..storage import schema
from ..values.errors import ConflictError
from ..values.model import Thread
from . import thread_rows

# The condition is the compare-and-swap. It fails if another change has moved the version.
_NEXT_VERSION: Final = sa.update(schema.thread).where(
    schema.thread.c.id == sa.bindparam("thread_id"), schema.thread.c.version == sa.bindparam("seen")
)
_RESERVE_POSITIONS: Final = (
    sa.update(schema.thread)
    .where(schema.thread.c.id == sa.bindparam("row_id"))
    .values(checkpoints_made=schema.thread.c.checkpoints_made + sa.bindparam("number"))
    .returning(schema.thread.c.checkpoints_made)
)
_COUNT_BRANCHES: Final = (
    sa.select(sa.func.count()).select_from(schema.branch).where(schema.branch.c.thread_id == sa.bindparam("id"))
)


def raise_version(connection: sa.Connection, thread: Thread, now: int) -> int:
    """Write the thread's next version, and return it. Raises `ConflictError` if another change wrote it first."""
    version = thread.version + 1
    values = {"thread_id": thread.id, "seen": thread.version, "version": version, "updated_at": now}
    if connection.execute(_NEXT_VERSION, values).rowcount != 1:
        raise ConflictError(thread.id, thread.version, version)
    thread_rows.note_version(connection, thread.id, version)
    return version


def reserve_positions(connection: sa.Connection, thread_id: str, number: int) -> int:
    """Reserve positions of new checkpoints, and return the first."""
    values = {"row_id": thread_id, "number": number}
    return int(connection.execute(_RESERVE_POSITIONS, values).scalar_one()) - number


def count_branches(connection: sa.Connection, thread_id: str) -> int:
    """Count the branches the thread ever had."""
    return int(connection.execute(_COUNT_BRANCHES, {"id": thread_id}).scalar_one())
