"""Erase texts of runs that are shown nowhere: a provider's words may quote the prompt, a job the answers."""

from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa

from ..rows.run_rows import NO_DRAFT, NO_ERROR, to_draft_columns
from ..storage import schema
from ..values.history import Place

_run, _candidate, _message, _rerun = schema.run.c, schema.candidate.c, schema.message.c, schema.rerun.c
_NO_TEXTS: dict[str, Any] = {**NO_ERROR, **to_draft_columns(NO_DRAFT)}
_NO_REQUEST = {"job": None, "rerun_id": None, "rerun_number": None}
_MAX_IDS = 500


def find_lost_runs(connection: sa.Connection, thread_id: str, lost_messages: Iterable[Place]) -> list[str]:
    """Return a thread's runs with texts, but without a head to show them, now or later.

    A head shows the newest run that ended there. `lost_messages` gives segments with the depth from which messages are lost.
    """
    starts, shown, found = dict(lost_messages), set[str | None](), list[str]()
    of_candidate = sa.exists().where(_candidate.run_id == _run.id, _has_texts(schema.candidate, NO_ERROR))
    has_texts = sa.or_(_has_texts(schema.run, {**NO_ERROR, **_NO_REQUEST}), of_candidate).label("has_texts")
    columns = (_run.id, _run.head_id, _run.dismissed, _run.compacts, _run.candidates, _message.segment, _message.depth)
    joined = sa.outerjoin(schema.run, schema.message, _message.id == _run.head_id)
    query = sa.select(*columns, has_texts).select_from(joined).where(_run.thread_id == thread_id)
    for row in connection.execute(query.order_by(_run.number.desc())):
        is_gone = row.head_id is not None and (row.depth is None or row.depth >= starts.get(row.segment, row.depth + 1))
        is_shown = not (is_gone or row.head_id in shown or (row.dismissed and not row.candidates))
        if not (row.compacts and row.dismissed):
            shown.add(row.head_id)
        if row.has_texts and not is_shown:
            found.append(row.id)
    return found


def _has_texts(table: sa.Table, names: Iterable[str]) -> sa.ColumnElement[bool]:
    return sa.or_(*(table.c[name].is_not(None) for name in names))


def erase_texts(connection: sa.Connection, thread_id: str, run_ids: Sequence[str]) -> None:
    """Erase the texts of runs and their candidates, and the reruns without any run."""
    for start in range(0, len(run_ids), _MAX_IDS):
        portion = run_ids[start : start + _MAX_IDS]
        connection.execute(sa.update(schema.run).where(_run.id.in_(portion)).values(_NO_TEXTS | _NO_REQUEST))
        connection.execute(sa.update(schema.candidate).where(_candidate.run_id.in_(portion)).values(_NO_TEXTS))
    is_unused = ~sa.exists().where(_run.rerun_id == _rerun.id)
    connection.execute(sa.delete(schema.rerun).where(_rerun.thread_id == thread_id, is_unused))
