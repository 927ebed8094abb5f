"""Verify the search index: compare each entry with its message or checkpoint.

The words are made again, a portion at a time. SQLite's table of words holds no text and cannot be compared row by row,
so the sum of its words is compared with the sum of the new words.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from ..rows import search_index
from ..rows.search_index import IndexedText
from ..storage import schema
from ..values.progress import Report, StepCounter
from ..values.text import pluralize

REMEDY = "`python app.py reindex` makes it again"
_entry, _message, _checkpoint = schema.search_entry.c, schema.message.c, schema.checkpoint.c
_COUNT = sa.select(sa.func.count())
_OF_MESSAGE = sa.and_(_entry.segment == _message.segment, _entry.depth == _message.depth)
_OF_CHECKPOINT = sa.and_(_entry.checkpoint_id == _checkpoint.id, _checkpoint.deleted_at.is_(None))
_MISSING_MESSAGES = _COUNT.select_from(schema.message).outerjoin(schema.search_entry, _OF_MESSAGE)
_MISSING_CHECKPOINTS = _COUNT.select_from(schema.checkpoint).outerjoin(schema.search_entry, _OF_CHECKPOINT)
_SURPLUS = (
    _COUNT.select_from(schema.search_entry)
    .outerjoin(schema.message, _OF_MESSAGE)
    .outerjoin(schema.checkpoint, _OF_CHECKPOINT)
)
_TERMS = "CREATE VIRTUAL TABLE temp.search_terms USING fts5vocab('main', 'search_words', 'row')"


def compare_index(connection: sa.Connection, report: Report) -> tuple[list[str], int]:
    """Compare the index with all messages and checkpoints; return its defects, and the number of queued entries."""
    has_no_entry, is_listed = _entry.number.is_(None), _checkpoint.deleted_at.is_(None)
    total = _count(connection, _COUNT.select_from(schema.search_entry))
    queued = _count(connection, _COUNT.where(_entry.words.is_(None)))
    missing = _count(connection, _MISSING_MESSAGES.where(has_no_entry))
    missing += _count(connection, _MISSING_CHECKPOINTS.where(has_no_entry, is_listed))
    surplus = _count(connection, _SURPLUS.where(_message.id.is_(None), _checkpoint.id.is_(None)))
    entries = StepCounter(report, "Comparing the index", total, "entries")
    entries.add(queued + surplus)
    unequal = word_sum = 0
    for portion in _iterate_entries(connection):
        # PostgreSQL returns the words in another order.
        unequal += sum(sorted((each.stored or "").split(" ")) != sorted(each.expected.split(" ")) for each in portion)
        word_sum += sum(_sum_words((word, 1) for word in each.words) for each in portion)
        entries.add(len(portion))
    defects = {
        f"{pluralize(missing, 'message or checkpoint', 'messages or checkpoints')} cannot be found": missing,
        f"{pluralize(unequal, 'entry has', 'entries have')} other words": unequal,
        f"{pluralize(surplus, 'entry belongs', 'entries belong')} to nothing": surplus,
    }
    found = [defect for defect, number in defects.items() if number]
    if not found and connection.dialect.name == "sqlite" and _sum_words(_iterate_terms(connection)) != word_sum:
        found.append("its words are not those of its entries")
    return [f"the search's index: {defect}. {REMEDY}" for defect in found], queued


def _count(connection: sa.Connection, query: sa.Select[Any]) -> int:
    return connection.scalar(query) or 0


def _iterate_entries(connection: sa.Connection) -> Iterator[Sequence[IndexedText]]:
    """Yield the entries that are indexed, in portions."""
    is_there = sa.or_(_message.id.is_not(None), _checkpoint.id.is_not(None))
    texts = search_index.TEXTS.where(_entry.words.is_not(None), is_there, _entry.number > sa.bindparam("last"))
    last = -1
    while portion := search_index.make_portion(connection, texts, {"last": last}):
        yield portion
        last = portion[-1].entry


def _sum_words(words: Iterable[tuple[str, int]]) -> int:
    """Return a sum over words and their counts, independent of their order."""
    return sum(zlib.crc32(word.encode()) * number for word, number in words)


def _iterate_terms(connection: sa.Connection) -> Iterator[tuple[str, int]]:
    with _open_terms(connection), connection.exec_driver_sql("SELECT term, cnt FROM temp.search_terms") as rows:
        yield from ((row.term, row.cnt) for row in rows)


@contextmanager
def _open_terms(connection: sa.Connection) -> Iterator[None]:
    """Make a temporary table of the words. Read-only connections forbid this, so writes are allowed for a moment."""
    forbids_writes = connection.exec_driver_sql("PRAGMA query_only").scalar_one()
    connection.exec_driver_sql("PRAGMA query_only = OFF")
    connection.exec_driver_sql(_TERMS)
    try:
        yield
    finally:
        connection.exec_driver_sql("DROP TABLE temp.search_terms")
        connection.exec_driver_sql(f"PRAGMA query_only = {forbids_writes}")
