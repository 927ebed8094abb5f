"""Reading and inserting runs."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa

from checkpoints.model import Run, RunState
from checkpoints.storage import rows, schema


def parse_run(row: sa.Row[Any]) -> Run:
    return Run(
        id=row.id,
        thread_id=row.thread_id,
        state=RunState(row.state),
        draft=row.draft,
        error=row.error,
        dismissed=row.dismissed,
        started_at=rows.to_time(row.started_at),
        ended_at=None if row.ended_at is None else rows.to_time(row.ended_at),
        compacts=bool(row.compacts),
    )


def select_run(connection: sa.Connection, run_id: str) -> Run | None:
    row = connection.execute(sa.select(schema.run).where(schema.run.c.id == run_id)).one_or_none()
    return parse_run(row) if row else None


def insert_run(connection: sa.Connection, thread_id: str, run_id: str, now: datetime, *, compacts: bool) -> None:
    """Write a running run: from now on it locks its thread."""
    table = schema.run
    before = sa.select(sa.func.count()).select_from(table).where(table.c.thread_id == thread_id).scalar_subquery()
    row = {"id": run_id, "thread_id": thread_id, "state": RunState.RUNNING, "draft": "", "dismissed": False}
    times = {"started_at": rows.from_time(now)}
    connection.execute(sa.insert(table).values(**row, **times, compacts=compacts, number=before))
