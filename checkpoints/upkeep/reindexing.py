"""Reindexing: rebuild the search index from all messages and checkpoints."""

import sqlalchemy as sa

from ..rows import search_index
from ..storage import schema
from ..storage.database import Database
from ..values.progress import Progress, Report, StepCounter, ignore_progress

_LAST_NUMBER = sa.select(sa.func.coalesce(sa.func.max(schema.search_entry.c.number), 0))


def rebuild_index(database: Database, report: Report = ignore_progress) -> int:
    """Empty the index and fill it again in portions. Return the number of entries. Requires exclusive use.

    After an interruption, the server indexes the rest.
    """
    report(Progress("Emptying the index"))
    with database.begin_write("search") as connection:
        first = connection.scalar(_LAST_NUMBER) or 0 if connection.dialect.name == "postgresql" else 0
        search_index.queue_everything(connection)
        wanted = _count_wanted_entries(connection)
    entries, done, is_pending = StepCounter(report, "Indexing", wanted, "entries"), 0, True
    while is_pending:
        with database.begin_write("search") as connection:
            is_pending = search_index.index_portion(connection)
            # Entry numbers ascend.
            made = max(done, (connection.scalar(_LAST_NUMBER) or 0) - first)
        entries.add(made - done)
        done = made
    with database.begin_read() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(schema.search_entry)) or 0


def _count_wanted_entries(connection: sa.Connection) -> int:
    checkpoints = sa.select(sa.func.count()).where(schema.checkpoint.c.deleted_at.is_(None))
    messages = sa.select(sa.func.count()).select_from(schema.message)
    return (connection.scalar(messages) or 0) + (connection.scalar(checkpoints) or 0)
