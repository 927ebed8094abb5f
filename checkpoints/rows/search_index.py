"""The index of the search: its entries are written, and removed, in the transaction of the texts that they index.

An entry without words is queued. A change indexes its own entries at once, if they are few; `index_portion` indexes the
others afterwards. FTS5 keeps no text, so it needs the words to forget: they are made again, and compared by their checksum.
"""

import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..search import content
from ..storage import schema
from ..storage.access import exempt_query
from ..storage.batches import select_in_batches
from ..storage.bulk_insert import insert_rows
from ..storage.ownership import LOCAL_OWNER
from ..values import files
from ..values.model import Json
from ..values.operation import RowChange
from . import file_rows
from .search_syntax import write_vector

# A change with more entries queues them.
MAX_ENTRIES_AT_ONCE = 20
_MAX_PORTION_ENTRIES = 200
# A portion ends beyond so many characters, read and indexed.
_MAX_PORTION_CHARS = 500_000
_INDEXED_COLUMNS = frozenset({"name", "description", "deleted_at"})  # of a checkpoint
_entry, _message, _checkpoint, _thread = (
    schema.search_entry.c,
    schema.message.c,
    schema.checkpoint.c,
    schema.thread.c,
)
_INSERT_ENTRIES = sa.insert(schema.search_entry)
_INSERT_AND_RETURN = _INSERT_ENTRIES.returning(_entry.number, sort_by_parameter_order=True)
_INSERT_COPIES = sa.text(
    "INSERT INTO search_entry (segment, depth, created_at) "
    "SELECT segment, depth, created_at FROM message WHERE segment = :segment ORDER BY depth"
)
_INDEX_ENTRY = sa.update(schema.search_entry).where(_entry.number == sa.bindparam("entry"))
_DELETE_ENTRY = sa.delete(schema.search_entry).where(_entry.number == sa.bindparam("entry"))
_INSERT_WORDS = sa.text("INSERT INTO search_words (rowid, words) VALUES (:entry, :words)")
_DELETE_WORDS = sa.text("INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', :entry, :words)")
_DELETE_ALL_WORDS = sa.text("INSERT INTO search_words (search_words) VALUES ('delete-all')")
_MERGE_WORDS = sa.text("INSERT INTO search_words (search_words) VALUES ('optimize')")
_QUEUE_EVERYTHING = sa.text(
    "INSERT INTO search_entry (segment, depth, checkpoint_id, created_at) "
    "SELECT segment, depth, NULL, created_at FROM message "
    "UNION ALL SELECT NULL, NULL, id, created_at FROM checkpoint WHERE deleted_at IS NULL ORDER BY 4, 1, 2"
)
_IS_QUEUED = _entry.words.is_(None)
_OF_MESSAGE = sa.and_(_entry.segment == _message.segment, _entry.depth == _message.depth)
_OF_CHECKPOINT = _entry.checkpoint_id == _checkpoint.id
_OF_THREAD = _thread.id == sa.func.coalesce(_message.thread_id, _checkpoint.thread_id)
# The texts of entries, the oldest first.
_TEXTS = (
    sa.select(_entry.number, _entry.words, _entry.checkpoint_id, _message.body, _checkpoint.name, _checkpoint.description)
    .add_columns(_thread.id.label("thread_id"), _thread.owner)
    .select_from(schema.search_entry)
    .outerjoin(schema.message, _OF_MESSAGE)
    .outerjoin(schema.checkpoint, _OF_CHECKPOINT)
    .outerjoin(schema.thread, _OF_THREAD)
    .order_by(_entry.number)
    .limit(sa.bindparam("most"))
)
TEXTS = _TEXTS.execution_options(yield_per=20)
_QUEUED_TEXTS = TEXTS.where(_IS_QUEUED)
_TEXTS_OF_ENTRIES = _TEXTS.where(_entry.number.in_(sa.bindparam("entries", expanding=True)))
_TEXTS_OF_SEGMENT = _TEXTS.where(_entry.segment == sa.bindparam("segment"))
_CHECKPOINTS = (
    sa.select(_checkpoint.id.label("checkpoint_id"), _checkpoint.created_at, _checkpoint.thread_id, _thread.owner)
    .add_columns(_checkpoint.name, _checkpoint.description)
    .join(schema.thread, _thread.id == _checkpoint.thread_id)
    .where(_checkpoint.deleted_at.is_(None))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """An entry to be written, with the text of its message or checkpoint, as a row of `_TEXTS` has it."""

    segment: int | None = None
    depth: int | None = None
    checkpoint_id: str | None = None
    created_at: int  # microseconds since 1970
    thread_id: str
    owner: str
    body: str = ""
    name: str = ""
    description: str = ""
    number: int = 0
    words: None = None

    def make_row(self) -> Json:
        return {name: getattr(self, name) for name in ("segment", "depth", "checkpoint_id", "created_at")}


@dataclass(frozen=True, slots=True)
class IndexedText:
    """The words of an entry, as they are made from its message or checkpoint now.

    `stored` is what the entry keeps of them, None while it is queued. `expected` is what it should keep: on PostgreSQL a
    `tsvector`, on SQLite the words of a checkpoint, or the checksum of a message's words.
    """

    entry: int
    words: Sequence[str]
    stored: str | None
    expected: str


def add_entries(connection: sa.Connection, entries: Sequence[NewEntry]) -> None:
    """Write the entries of what this transaction has written, and index as many of them as a change does at once."""
    portion = _make_words_of(connection, entries) if len(entries) <= MAX_ENTRIES_AT_ONCE else []
    rows = [each.make_row() for each in entries]
    indexed = [row | {"words": each.expected} for row, each in zip(rows, portion, strict=False)]
    if connection.dialect.name == "postgresql":
        _execute_each(connection, _INSERT_ENTRIES, indexed)
    elif indexed:
        _insert_words(connection, connection.scalars(_INSERT_AND_RETURN, indexed).all(), portion)
    insert_rows(connection, schema.search_entry, rows[len(portion) :])


def add_copies(connection: sa.Connection, segment: int) -> None:
    """Index messages that this transaction has copied into a new segment."""
    if connection.execute(_INSERT_COPIES, {"segment": segment}).rowcount <= MAX_ENTRIES_AT_ONCE:
        _index(connection, _TEXTS_OF_SEGMENT, segment=segment)


def update_checkpoints(connection: sa.Connection, changes: Sequence[RowChange]) -> None:
    """Index the checkpoints that these changes have made, described, deleted or brought back.

    A deleted checkpoint has no entry.
    """
    changed = {each.id for each in changes if not _INDEXED_COLUMNS.isdisjoint(each.after)}
    if changed:
        remove_checkpoints(connection, changed)
        listed = select_in_batches(connection, _CHECKPOINTS, _checkpoint.id, changed)
        add_entries(connection, [NewEntry(**row._mapping) for row in listed])


def index_portion(connection: sa.Connection) -> int:
    """Index some of the queued entries, the oldest first; return how many."""
    return _index(connection, _QUEUED_TEXTS)


def _index(connection: sa.Connection, texts: sa.Select[Any], **values: Any) -> int:
    """Index the first of some queued entries."""
    portion = make_portion(connection, texts, values)
    _execute_each(connection, _INDEX_ENTRY, [{"entry": each.entry, "words": each.expected} for each in portion])
    if connection.dialect.name == "sqlite":
        _insert_words(connection, [each.entry for each in portion], portion)
    return len(portion)


def _insert_words(connection: sa.Connection, entries: Sequence[int], portion: Sequence[IndexedText]) -> None:
    """Write the words of entries to SQLite's index."""
    words = (" ".join(each.words) for each in portion)
    _execute_each(connection, _INSERT_WORDS, [{"entry": n, "words": text} for n, text in zip(entries, words, strict=True)])


def _execute_each(connection: sa.Connection, statement: sa.Executable, values: Sequence[Json]) -> None:
    if values:
        connection.execute(statement, values)


def is_pending(connection: sa.Connection) -> bool:
    """Return whether messages are still to be indexed."""
    return connection.execute(exempt_query(sa.select(_entry.number).where(_IS_QUEUED).limit(1))).first() is not None


def make_portion(connection: sa.Connection, texts: sa.Select[Any], values: Json) -> list[IndexedText]:
    """Make the words of the first texts: so few that they need little memory and time."""
    with connection.execute(texts, {"most": _MAX_PORTION_ENTRIES, **values}) as rows:
        return _make_words_of(connection, rows)


def _make_words_of(connection: sa.Connection, rows: Iterable[sa.Row[Any] | NewEntry]) -> list[IndexedText]:
    """Make the words of the first rows, as many as the limit of characters allows."""
    is_postgresql = connection.dialect.name == "postgresql"
    portion: list[IndexedText] = []
    chars = 0
    for row in rows:
        words = _make_words(connection, row)
        text = " ".join(words)
        expected = text if row.checkpoint_id else f"{zlib.crc32(text.encode()):08x}"
        portion.append(IndexedText(row.number, words, row.words, write_vector(words) if is_postgresql else expected))
        chars += len(text) + len(row.body or "")
        if chars > _MAX_PORTION_CHARS:
            break
    return portion


def _make_words(connection: sa.Connection, row: sa.Row[Any] | NewEntry) -> list[str]:
    """Return the words of a row of `TEXTS`; none if the database has lost its message or its conversation."""
    if row.thread_id is None:
        return []
    owner = find_marked_owner(connection, row.owner)
    if row.checkpoint_id is not None:
        return content.list_checkpoint_words(row.name, row.description, row.thread_id, owner)
    hashes = files.find_file_hashes(row.body)
    contents = file_rows.select_texts(connection, hashes) if hashes else {}
    return content.list_message_words(row.body, row.thread_id, owner, contents)


def find_marked_owner(connection: sa.Connection, owner: str | None) -> str | None:
    """Return an owner whose mark the entries have: on SQLite, everybody who signs in; None for any other."""
    return owner if connection.dialect.name == "sqlite" and owner != LOCAL_OWNER else None


def remove_checkpoints(connection: sa.Connection, checkpoint_ids: Collection[str]) -> None:
    query = sa.select(_entry.number.label("entry"), _entry.words)
    found = [row._asdict() for row in select_in_batches(connection, query, _entry.checkpoint_id, checkpoint_ids)]
    _forget(connection, [each for each in found if each["words"] is not None])
    _execute_each(connection, _DELETE_ENTRY, [{"entry": each["entry"]} for each in found])


def remove_messages(connection: sa.Connection, condition: sa.ColumnElement[bool]) -> None:
    """Remove the entries of messages that are about to be erased, while their files are there."""
    found = sa.select(_entry.number).join_from(schema.message, schema.search_entry, _OF_MESSAGE).where(condition)
    if connection.dialect.name == "sqlite":
        _forget_messages(connection, sorted(connection.scalars(found)))
    connection.execute(sa.delete(schema.search_entry).where(_entry.number.in_(found)))


def _forget_messages(connection: sa.Connection, entries: Sequence[int]) -> None:
    """Tell SQLite's index the words of entries, or empty it if these are unknown.

    They are if a message is damaged, or was indexed by other rules for words.
    """
    while entries:
        portion = make_portion(connection, _TEXTS_OF_ENTRIES, {"entries": entries[:_MAX_PORTION_ENTRIES]})
        indexed = [each for each in portion if each.stored is not None]
        if any(each.stored != each.expected for each in indexed):
            queue_everything(connection)
            return
        _forget(connection, [{"entry": each.entry, "words": " ".join(each.words)} for each in indexed])
        entries = entries[len(portion) :]


def _forget(connection: sa.Connection, values: Sequence[Json]) -> None:
    if connection.dialect.name == "sqlite":
        _execute_each(connection, _DELETE_WORDS, values)


def merge_words(connection: sa.Connection) -> None:
    """Rewrite SQLite's index without the words that it was told to forget: until then they are in its file."""
    if connection.dialect.name == "sqlite":
        connection.execute(_MERGE_WORDS)


def queue_everything(connection: sa.Connection) -> None:
    """Empty the index, and queue all messages and listed checkpoints, the oldest first."""
    if connection.dialect.name == "sqlite":
        connection.execute(_DELETE_ALL_WORDS)
    connection.execute(sa.delete(schema.search_entry))
    connection.execute(_QUEUE_EVERYTHING)
