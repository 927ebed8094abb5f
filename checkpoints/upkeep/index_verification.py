"""Verify the search index: compare each entry with its message or checkpoint.

The words are made again, a portion at a time. SQLite's table of words holds no text and cannot be compared row by row,
so the sum of its words is compared with the sum of the new words.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

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
_COUNT_UNEQUAL = sa.text(
    "SELECT count(*) FROM search_entry e JOIN unnest(CAST(:numbers AS int[]), CAST(:vectors AS text[]))"
    " AS expected (number, words) ON expected.number = e.number WHERE e.words <> CAST(expected.words AS tsvector)"
)


@dataclass(slots=True)
class IndexComparison:
    """Counts from comparing the index.

    `queued` messages and checkpoints will be indexed by the server. `missing` have no entry and are not queued.
    `unequal` entries have other words, and `surplus` entries belong to nothing. `word_sum` is the sum of the expected
    words, and `has_equal_words` tells whether SQLite's table of words has the same sum.
    """

    queued: int = 0
    missing: int = 0
    unequal: int = 0
    surplus: int = 0
    word_sum: int = 0
    has_equal_words: bool = True

    def list_problems(self) -> list[str]:
        """Return a sentence for each kind of defect."""
        found = []
        if self.missing:
            subject = pluralize(self.missing, "message or checkpoint", "messages or checkpoints")
            found.append(f"{subject} cannot be found")
        if self.unequal:
            found.append(f"{pluralize(self.unequal, 'entry has', 'entries have')} other words")
        if self.surplus:
            found.append(f"{pluralize(self.surplus, 'entry belongs', 'entries belong')} to nothing")
        if not found and not self.has_equal_words:
            found.append("its words are not those of its entries")
        return [f"the search's index: {problem}. {REMEDY}" for problem in found]


def compare_index(connection: sa.Connection, report: Report) -> IndexComparison:
    """Compare the index with all messages and checkpoints."""
    has_no_entry, is_listed = _entry.number.is_(None), _checkpoint.deleted_at.is_(None)
    found = IndexComparison(
        queued=connection.scalar(_COUNT.where(_entry.words.is_(None))) or 0,
        missing=(connection.scalar(_MISSING_MESSAGES.where(has_no_entry)) or 0)
        + (connection.scalar(_MISSING_CHECKPOINTS.where(has_no_entry, is_listed)) or 0),
        surplus=connection.scalar(_SURPLUS.where(_message.id.is_(None), _checkpoint.id.is_(None))) or 0,
    )
    total = connection.scalar(_COUNT.select_from(schema.search_entry)) or 0
    entries = StepCounter(report, "Comparing the index", total, "entries")
    entries.add(found.queued + found.surplus)
    for portion in _iterate_entries(connection):
        _compare(connection, found, portion)
        entries.add(len(portion))
    if connection.dialect.name == "sqlite":
        found.has_equal_words = _sum_words(_iterate_terms(connection)) == found.word_sum
    return found


def _iterate_entries(connection: sa.Connection) -> Iterator[Sequence[IndexedText]]:
    """Yield the entries that are indexed, in portions."""
    is_there = sa.or_(_message.id.is_not(None), _checkpoint.id.is_not(None))
    texts = search_index.TEXTS.where(_entry.words.is_not(None), is_there, _entry.number > sa.bindparam("last"))
    last = -1
    while portion := search_index.make_portion(connection, texts, {"last": last}):
        yield portion
        last = portion[-1].entry


def _compare(connection: sa.Connection, found: IndexComparison, portion: Sequence[IndexedText]) -> None:
    if connection.dialect.name == "postgresql":
        vectors = {"numbers": [each.entry for each in portion], "vectors": [each.expected for each in portion]}
        found.unequal += connection.scalar(_COUNT_UNEQUAL, vectors) or 0
        return
    found.unequal += sum(each.stored != each.expected for each in portion)
    found.word_sum += sum(_sum_words((word, 1) for word in each.words) for each in portion)


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
