"""Verify the search index: compare each entry with its message or checkpoint.

The words are made again, a portion at a time. SQLite's table of words holds no text and cannot be compared row by row,
so the sum of its words is compared with the sum of the new words.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..rows import search_index
from ..rows.search_index import IndexedMessage
from ..rows.search_syntax import write_vector
from ..storage import schema
from ..values.text import pluralize

REMEDY = "`python app.py reindex` makes it again"
_MAX_PORTION_ROWS = 200
_entry, _pending, _message, _checkpoint = (
    schema.search_entry.c,
    schema.search_pending.c,
    schema.message.c,
    schema.checkpoint.c,
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


@dataclass(frozen=True, slots=True)
class _Entry:
    """A stored entry with its new words. `kept` is the part of its words stored by SQLite."""

    number: int
    kept: str
    expected_kept: str
    words: Sequence[str]


def compare_index(connection: sa.Connection, on_messages: Callable[[int], object]) -> IndexComparison:
    """Compare the index with all messages and checkpoints. `on_messages` gets the number of messages in each portion."""
    found = IndexComparison()
    for rows in _iterate_messages(connection):
        entries = [row for row in rows if row.number is not None]
        _count_absent(found, [row for row in rows if row.number is None])
        messages = [IndexedMessage(*row[: len(search_index.MESSAGE_COLUMNS)]) for row in entries]
        words = search_index.make_words(connection, messages)
        made = zip(entries, words, strict=True)
        _compare(connection, found, [_Entry(row.number, row.words, search_index.make_checksum(w), w) for row, w in made])
        on_messages(len(rows))
    for listed in _iterate_checkpoints(connection):
        _count_absent(found, [row for row in listed if row.number is None])
        _compare(connection, found, [_expect_checkpoint(connection, row) for row in listed if row.number is not None])
    found.surplus = _count_surplus(connection)
    if connection.dialect.name == "sqlite":
        found.has_equal_words = _sum_words(_iterate_terms(connection)) == found.word_sum
    return found


def _count_absent(found: IndexComparison, rows: Sequence[Any]) -> None:
    queued = sum(row.queued_depth is not None and row.depth >= row.queued_depth for row in rows)
    found.queued += queued
    found.missing += len(rows) - queued


def _expect_checkpoint(connection: sa.Connection, row: Any) -> _Entry:
    words = search_index.make_checkpoint_words(connection, row)
    return _Entry(row.number, row.words, " ".join(words), words)


def _compare(connection: sa.Connection, found: IndexComparison, entries: Sequence[_Entry]) -> None:
    if connection.dialect.name == "postgresql":
        vectors = {"numbers": [each.number for each in entries], "vectors": [write_vector(each.words) for each in entries]}
        found.unequal += connection.scalar(_COUNT_UNEQUAL, vectors) or 0
        return
    found.unequal += sum(each.kept != each.expected_kept for each in entries)
    found.word_sum += sum(_sum_words((word, 1) for word in each.words) for each in entries)


def _sum_words(words: Iterable[tuple[str, int]]) -> int:
    """Return a sum over words and their counts, independent of their order."""
    return sum(zlib.crc32(word.encode()) * number for word, number in words)


def _iterate_messages(connection: sa.Connection) -> Iterator[Sequence[Any]]:
    """Yield all messages with their entries, in portions limited by characters."""
    at_place = sa.and_(_entry.segment == _message.segment, _entry.depth == _message.depth)
    joined = schema.message.outerjoin(schema.search_entry, at_place)
    joined = joined.outerjoin(schema.search_pending, _pending.segment == _message.segment)
    query = sa.select(*search_index.MESSAGE_COLUMNS, *_list_entry_columns(connection)).select_from(joined)
    query = query.order_by(_message.segment, _message.depth)
    place = (-1, -1)
    while rows := search_index.take_portion(
        connection, query.where(sa.tuple_(_message.segment, _message.depth) > place)
    ).rows:
        yield rows
        place = (rows[-1].segment, rows[-1].depth)


def _iterate_checkpoints(connection: sa.Connection) -> Iterator[Sequence[Any]]:
    joined = schema.checkpoint.outerjoin(schema.search_entry, _entry.checkpoint_id == _checkpoint.id)
    joined = joined.outerjoin(schema.search_pending, _pending.segment == _checkpoint.segment)
    columns = (*search_index.CHECKPOINT_COLUMNS, _checkpoint.depth, *_list_entry_columns(connection))
    query = sa.select(*columns).select_from(joined)
    query = query.where(_checkpoint.deleted_at.is_(None)).order_by(_checkpoint.id).limit(_MAX_PORTION_ROWS)
    last = ""
    while rows := connection.execute(query.where(_checkpoint.id > last)).all():
        yield rows
        last = rows[-1].id


def _list_entry_columns(connection: sa.Connection) -> tuple[sa.ColumnElement[Any], ...]:
    """Return an entry's number, the words stored by SQLite, and the depth from which its segment is queued."""
    words = sa.literal("").label("words") if connection.dialect.name == "postgresql" else _entry.words
    return _entry.number, words, _pending.depth.label("queued_depth")


def _count_surplus(connection: sa.Connection) -> int:
    """Count the entries whose message or listed checkpoint is missing."""
    at_place = sa.and_(_entry.segment == _message.segment, _entry.depth == _message.depth)
    of_listed = sa.and_(_entry.checkpoint_id == _checkpoint.id, _checkpoint.deleted_at.is_(None))
    joined = schema.search_entry.outerjoin(schema.message, at_place).outerjoin(schema.checkpoint, of_listed)
    is_surplus = sa.and_(_message.id.is_(None), _checkpoint.id.is_(None))
    return connection.scalar(sa.select(sa.func.count()).select_from(joined).where(is_surplus)) or 0


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
