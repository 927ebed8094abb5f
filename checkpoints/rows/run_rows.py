"""Read, insert and end runs."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.ownership import find_person, limit_to_owner
from ..values import serde
from ..values.limits import MAX_REASONING_CHARS
from ..values.run import Draft, Rerun, RerunStep, Run, RunState
from ..values.sentence import restore_sentence, store_sentence
from . import thread_rows, write_rows

_rerun_query = sa.select(schema.rerun).where(schema.rerun.c.id == sa.bindparam("rerun_id"))
_run = schema.run.c
_is_at_head = sa.or_(_run.state == RunState.RUNNING, _run.head_id.is_not_distinct_from(sa.bindparam("at_head")))
_latest_query = (
    sa.select(schema.run)
    .where(_run.thread_id == sa.bindparam("of_thread"), _is_at_head, sa.not_(sa.and_(_run.compacts, _run.dismissed)))
    .order_by(_run.number.desc())
    .limit(1)
)
# Statements are built once, like those of `thread_rows`.
_run_query = sa.select(schema.run).where(_run.id == sa.bindparam("run_id"))
_running_query = sa.select(_run.thread_id).where(_run.state == RunState.RUNNING)
# A partial index needs a literal: it serves no bound parameter.
_is_running = _run.state == sa.literal_column(f"'{RunState.RUNNING}'")
_earlier = schema.run.alias()
_runs_before = sa.select(sa.func.count()).select_from(_earlier).where(_earlier.c.thread_id == sa.bindparam("of_thread"))
_insert_run = sa.insert(schema.run).values(number=_runs_before.scalar_subquery())
_update_run = sa.update(schema.run).where(_run.id == sa.bindparam("run_id"))
_update_attempt = _update_run.where(_run.state == RunState.RUNNING, _run.attempt == sa.bindparam("of_attempt"))


def insert_rerun(connection: sa.Connection, rerun: Rerun) -> None:
    row = {"id": rerun.id, "thread_id": rerun.thread_id, "place": rerun.place}
    lists = {"settings": dict(rerun.settings), "question_ids": list(rerun.question_ids)}
    connection.execute(sa.insert(schema.rerun), {**row, **lists})


def select_rerun(connection: sa.Connection, rerun_id: str) -> Rerun:
    """Return a run's rerun. Its row lives as long as the rows of its runs."""
    query = limit_to_owner(connection, _rerun_query, schema.rerun.c.thread_id)
    row = connection.execute(query, {"rerun_id": rerun_id}).one()
    return Rerun(row.id, row.thread_id, row.place, row.settings, tuple(row.question_ids))


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a run: its final state, the error sentence and provider's words of a failure, the usage of a waiting
    run."""

    state: RunState
    error: str | None = None
    details: str | None = None
    usage: str | None = None


NO_DRAFT = Draft()
_CUT_STATES = (RunState.STOPPED, RunState.FAILED, RunState.INTERRUPTED)
NO_ERROR = {"error": None, "error_details": None, "error_sentence": None}


def to_error_columns(end: RunEnd) -> dict[str, str | None]:
    return {
        "error": end.error and serde.sanitize_text(end.error),
        "error_details": end.details and serde.sanitize_text(end.details),
        "error_sentence": store_sentence(end.error),
    }


def to_draft_columns(draft: Draft) -> dict[str, str]:
    reasoning = draft.reasoning[:MAX_REASONING_CHARS]
    return {"draft": serde.sanitize_text(draft.text), "draft_reasoning": serde.sanitize_text(reasoning)}


def parse_run(row: sa.Row[Any]) -> Run:
    return Run(
        id=row.id,
        thread_id=row.thread_id,
        state=RunState(row.state),
        draft=Draft(row.draft, row.draft_reasoning),
        error=restore_sentence(row.error, row.error_sentence),
        error_details=row.error_details,
        dismissed=row.dismissed,
        started_at=thread_rows.to_time(row.started_at),
        ended_at=None if row.ended_at is None else thread_rows.to_time(row.ended_at),
        compacts=bool(row.compacts),
        usage=row.usage,
        rerun=RerunStep(row.rerun_id, row.rerun_number) if row.rerun_id else None,
        candidates=row.candidates,
        head_id=row.head_id,
        worker=row.worker,
        stop_wanted=row.stop_wanted,
        job=row.job,
        attempt=row.attempt,
        person=row.person,
    )


def select_run(connection: sa.Connection, run_id: str) -> Run | None:
    """Return a run, or None if it does not exist or belongs to another owner."""
    query = limit_to_owner(connection, _run_query, _run.thread_id)
    row = connection.execute(query, {"run_id": run_id}).one_or_none()
    return parse_run(row) if row else None


def insert_run(
    connection: sa.Connection,
    thread_id: str,
    run_id: str,
    now: datetime,
    *,
    compacts: bool = False,
    rerun: RerunStep | None = None,
    candidates: int = 0,
    worker: int | None = None,
    job: str | None = None,
) -> Run:
    """Insert a running run of a worker, and return it. From now on it locks its thread."""
    row = {"id": run_id, "thread_id": thread_id, "state": RunState.RUNNING, "dismissed": False, **to_draft_columns(NO_DRAFT)}
    time = thread_rows.from_time(now)
    step = {"rerun_id": rerun and rerun.rerun_id, "rerun_number": rerun and rerun.number, "candidates": candidates}
    own = {"worker": worker, "attempt": 0 if worker is None else 1, "job": job, "person": find_person(connection)}
    connection.execute(_insert_run, {**row, **step, **own, "started_at": time, "compacts": compacts, "of_thread": thread_id})
    kind: dict[str, Any] = {"compacts": compacts, "rerun": rerun, "candidates": candidates, **own}
    started_at = thread_rows.to_time(time)
    return Run(run_id, thread_id, RunState.RUNNING, NO_DRAFT, None, False, started_at, None, **kind)


def write_draft(connection: sa.Connection, run_id: str, draft: Draft, attempt: int) -> None:
    """Store the draft of a run running in this attempt."""
    connection.execute(_update_attempt, {"run_id": run_id, "of_attempt": attempt, **to_draft_columns(draft)})


def end_run(connection: sa.Connection, run_id: str, end: RunEnd, now: datetime, head_id: str | None) -> None:
    """Write a run's end. The thread's row must be locked first: rows are locked in the same order everywhere."""
    row = {
        "state": end.state,
        **to_error_columns(end),
        "usage": end.usage,
        **to_draft_columns(NO_DRAFT),
        "ended_at": thread_rows.from_time(now),
        "head_id": head_id,
    }
    connection.execute(_update_run, {"run_id": run_id, **row})


def count_attempt(connection: sa.Connection, run: Run, worker: int | None, job: str | None = None) -> Run:
    """Give a run to another worker, or to none so that it waits. Nobody else may write for it from now on.

    The thread's row must be locked first. `job` tells how the run is driven.
    """
    row: dict[str, Any] = {"worker": worker, "attempt": run.attempt + 1, "job": job}
    # A pending stop request stays.
    connection.execute(_update_run, {"run_id": run.id, **row})
    return replace(run, **row)


def reopen_run(connection: sa.Connection, run: Run) -> Run:
    """Reopen an ended run, which locks its thread again for the acting person. A running run keeps its person."""
    person = run.person if run.state is RunState.RUNNING else find_person(connection)
    row = {
        "state": RunState.RUNNING,
        **NO_ERROR,
        "dismissed": False,
        "ended_at": None,
        "head_id": None,
        "stop_wanted": False,
        "person": person,
    }
    connection.execute(_update_run, {"run_id": run.id, **row})
    return replace(run, state=RunState.RUNNING, person=person)


def select_latest_run(connection: sa.Connection, thread_id: str, head_id: str | None) -> Run | None:
    """Return the newest run that is running or ended at this head, without dismissed summaries."""
    row = connection.execute(_latest_query, {"of_thread": thread_id, "at_head": head_id}).one_or_none()
    return parse_run(row) if row else None


def select_newest_run(connection: sa.Connection, thread_id: str, *, other_than: str) -> Run | None:
    """Return the newest run by start, wherever the thread is now."""
    query = sa.select(schema.run).where(_run.thread_id == thread_id, _run.id != other_than)
    row = connection.execute(query.order_by(_run.number.desc()).limit(1)).one_or_none()
    return parse_run(row) if row else None


def _make_waiting_query() -> sa.Select[tuple[str]]:
    thread, branch, later = schema.thread.c, schema.branch.c, schema.run.alias().c
    is_later = (later.thread_id == _run.thread_id, later.head_id == branch.head_id, later.number > _run.number)
    is_newest = ~sa.exists().where(*is_later)
    # A run that was cut off leaves its graph's questions open, including questions it was to answer.
    is_open = ~sa.exists().where(*is_later, later.state.not_in(_CUT_STATES)) & write_rows.has_open_task(
        thread.id, branch.state_id
    )
    heads = sa.join(schema.run, schema.thread, thread.id == _run.thread_id).join(
        schema.branch, branch.id == thread.branch_id
    )
    # A partial index needs a literal: it serves no bound parameter.
    is_waiting = _run.state == sa.literal_column(f"'{RunState.WAITING}'")
    return (
        sa.select(_run.thread_id).select_from(heads).where(is_waiting, _run.head_id == branch.head_id, is_newest | is_open)
    )


_waiting_query = _make_waiting_query()


def select_waiting_threads(connection: sa.Connection) -> set[str]:
    """Return the threads waiting for a decision of their newest run at the head, or of their graph after it."""
    return set(connection.scalars(limit_to_owner(connection, _waiting_query, _run.thread_id)))


def select_running_threads(connection: sa.Connection) -> set[str]:
    return set(connection.scalars(limit_to_owner(connection, _running_query, _run.thread_id)))


def make_running_count() -> sa.ScalarSelect[int]:
    """Build the query for the number of running runs in `owner`'s conversations."""
    is_own = schema.thread.c.owner == sa.bindparam("owner")
    joined = schema.run.join(schema.thread, schema.thread.c.id == _run.thread_id)
    return sa.select(sa.func.count()).select_from(joined).where(_is_running, is_own).scalar_subquery()


def make_asked_count() -> sa.ScalarSelect[int]:
    """Build the query for the number of running runs requested by `owner`."""
    return sa.select(sa.func.count()).where(_is_running, _run.person == sa.bindparam("owner")).scalar_subquery()
