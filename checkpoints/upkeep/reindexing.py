"""Reindexing: rebuild the search index from all messages and checkpoints."""

import sqlalchemy as sa

from ..rows import search_index
from ..storage import schema
from ..storage.database import Database
from ..values.progress import Progress, Report, StepCounter, ignore_progress

_COUNT = sa.select(sa.func.count()).select_from(schema.search_entry)


def rebuild_index(database: Database, report: Report = ignore_progress) -> int:
    """Empty the index and fill it again in portions. Return the number of entries. Requires exclusive use.

    After an interruption, the server indexes the rest.
    """
    report(Progress("Emptying the index"))
    with database.begin_write("search") as connection:
        search_index.queue_everything(connection)
        wanted = connection.scalar(_COUNT) or 0
    entries, made = StepCounter(report, "Indexing", wanted, "entries"), 1
    while made:
        with database.begin_write("search") as connection:
            made = search_index.index_portion(connection)
        entries.add(made)
    return wanted
