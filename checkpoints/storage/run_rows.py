"""Reading runs."""

from typing import Any

import sqlalchemy as sa

from checkpoints.model import Run, RunState
from checkpoints.storage import rows


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
