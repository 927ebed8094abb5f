"""Reading and inserting reruns."""

import sqlalchemy as sa

from ..storage import schema
from ..storage.ownership import limit_to_owner
from ..values.run import Rerun

_query = sa.select(schema.rerun).where(schema.rerun.c.id == sa.bindparam("rerun_id"))


def insert_rerun(connection: sa.Connection, rerun: Rerun) -> None:
    row = {"id": rerun.id, "thread_id": rerun.thread_id, "place": rerun.place}
    lists = {"settings": dict(rerun.settings), "question_ids": list(rerun.question_ids)}
    connection.execute(sa.insert(schema.rerun), {**row, **lists})


def select_rerun(connection: sa.Connection, rerun_id: str) -> Rerun:
    """Return the rerun of a run. Its row lives as long as the rows of its runs."""
    query = limit_to_owner(connection, _query, schema.rerun.c.thread_id)
    row = connection.execute(query, {"rerun_id": rerun_id}).one()
    return Rerun(row.id, row.thread_id, row.place, row.settings, tuple(row.question_ids))
