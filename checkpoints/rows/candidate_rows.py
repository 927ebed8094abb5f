"""Read, insert and end the candidates of a run."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.ownership import limit_to_owner
from ..values.run import Candidate, CandidateKey, Draft, RunState
from ..values.sentence import restore_sentence
from .run_rows import NO_DRAFT, NO_ERROR, RunEnd, to_draft_columns, to_error_columns

_columns = schema.candidate.c
_of_run = sa.select(schema.candidate).where(_columns.run_id == sa.bindparam("of_run")).order_by(_columns.number)
_update = sa.update(schema.candidate).where(
    _columns.run_id == sa.bindparam("of_run"), _columns.number == sa.bindparam("of_number")
)
_update_running = _update.where(_columns.state == RunState.RUNNING)
_attempt = sa.select(schema.run.c.attempt).where(schema.run.c.id == _columns.run_id).scalar_subquery()
_update_attempt = _update_running.where(_attempt == sa.bindparam("of_attempt"))
_end_running = (
    sa.update(schema.candidate)
    .where(_columns.run_id == sa.bindparam("of_run"), _columns.state == RunState.RUNNING)
    .values(**to_draft_columns(NO_DRAFT))
)


def insert_candidates(connection: sa.Connection, thread_id: str, candidates: Sequence[Candidate]) -> None:
    rows = [
        {
            "run_id": each.run_id,
            "number": each.number,
            "thread_id": thread_id,
            "model": each.model,
            "branch_id": each.branch_id,
            "state": each.state,
            **to_draft_columns(each.draft),
        }
        for each in candidates
    ]
    connection.execute(sa.insert(schema.candidate), rows)


def select_candidates(connection: sa.Connection, run_id: str) -> list[Candidate]:
    """Return a run's candidates by number. Most runs have none."""
    query = limit_to_owner(connection, _of_run, _columns.thread_id)
    return [_parse_candidate(row) for row in connection.execute(query, {"of_run": run_id})]


def _parse_candidate(row: sa.Row[Any]) -> Candidate:
    return Candidate(
        run_id=row.run_id,
        number=row.number,
        model=row.model,
        branch_id=row.branch_id,
        state=RunState(row.state),
        draft=Draft(row.draft, row.draft_reasoning),
        error=restore_sentence(row.error, row.error_sentence),
        error_details=row.error_details,
        head_id=row.head_id,
    )


def write_draft(connection: sa.Connection, key: CandidateKey, draft: Draft, attempt: int) -> None:
    """Store the draft of a candidate being written in this attempt of its run."""
    place = {"of_run": key.run_id, "of_number": key.number, "of_attempt": attempt}
    connection.execute(_update_attempt, {**place, **to_draft_columns(draft)})


def write_head(connection: sa.Connection, key: CandidateKey, head_id: str | None) -> None:
    """Store a candidate's newest message, and clear the draft it was made from."""
    row = {"head_id": head_id, **to_draft_columns(NO_DRAFT)}
    connection.execute(_update, {"of_run": key.run_id, "of_number": key.number, **row})


def end_candidate(connection: sa.Connection, key: CandidateKey, end: RunEnd) -> None:
    row = {"state": end.state, **to_error_columns(end), **to_draft_columns(NO_DRAFT)}
    connection.execute(_update_running, {"of_run": key.run_id, "of_number": key.number, **row})


def reopen_candidate(connection: sa.Connection, key: CandidateKey) -> None:
    """Let an ended candidate be written again, from nothing."""
    row = {"state": RunState.RUNNING, **NO_ERROR, "head_id": None, **to_draft_columns(NO_DRAFT)}
    connection.execute(_update, {"of_run": key.run_id, "of_number": key.number, **row})


def end_candidates(connection: sa.Connection, run_id: str, state: RunState) -> None:
    """End the running candidates of a run."""
    connection.execute(_end_running, {"of_run": run_id, "state": state})
