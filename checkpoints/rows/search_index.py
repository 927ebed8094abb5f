"""The index of the search: its entries are written, and removed, in the transaction of the texts that they index.

A message is written once, so it is indexed once. A change that writes many messages queues their segments in the same
transaction; `index_portion` indexes them afterwards. An index without a text of its own needs the words to forget: SQLite's
words are computed again, and compared by their checksum.
"""

import zlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import sqlalchemy as sa

from ..search import content
from ..storage import schema
from ..storage.batches import select_at_places, select_in_batches
from ..storage.ownership import LOCAL_OWNER
from ..values import files
from ..values.history import Place
from ..values.operation import RowChange
from . import file_rows, search_queue
from .search_queue import QueuedRange
from .search_syntax import write_vector

MAX_ENTRIES_AT_ONCE = 20  # that a change writes itself
_MAX_CHARS_AT_ONCE = 1_000_000  # of several messages with their attached texts
_MAX_PORTION_MESSAGES = 200
_MAX_PORTION_CHARS = 500_000  # beyond it a portion ends
_INDEXED_COLUMNS = frozenset({"name", "description", "deleted_at"})  # of a checkpoint
_entry, _message, _checkpoint = schema.search_entry.c, schema.message.c, schema.checkpoint.c
_INSERT_ENTRIES = sa.insert(schema.search_entry)
_INSERT_ENTRY = _INSERT_ENTRIES.returning(_entry.number)
_INSERT_WORDS = sa.text("INSERT INTO search_words (rowid, words) VALUES (:number, :words)")
_DELETE_WORDS = sa.text("INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', :number, :words)")
_DELETE_ALL_WORDS = sa.text("INSERT INTO search_words (search_words) VALUES ('delete-all')")
_MERGE_WORDS = sa.text("INSERT INTO search_words (search_words) VALUES ('optimize')")
_LAST_NUMBER = sa.select(sa.func.coalesce(sa.func.max(_entry.number), 0))


def _select_owner(table: sa.Table) -> sa.Label[str]:
    """Return a column with the owner of the conversation of a row."""
    of_row = schema.thread.c.id == table.c.thread_id
    return sa.select(schema.thread.c.owner).where(of_row).correlate(table).scalar_subquery().label("owner")


MESSAGE_COLUMNS = (
    *(_message.segment, _message.depth, _message.thread_id, _message.body, _message.created_at),
    _select_owner(schema.message),
)
CHECKPOINT_COLUMNS = (
    *(_checkpoint.id, _checkpoint.thread_id, _checkpoint.name, _checkpoint.description),
    _select_owner(schema.checkpoint),
)


@dataclass(frozen=True, slots=True)
class IndexedMessage:
    """A stored message, as the index reads it."""

    segment: int
    depth: int
    thread_id: str
    body: str
    created_at: int  # microseconds since 1970
    owner: str | None  # of the conversation; None: the database has lost that

    @property
    def place(self) -> Place:
        return self.segment, self.depth


@dataclass(frozen=True, slots=True)
class Portion:
    """The first rows of a query, as many as the limits of a portion allow."""

    rows: Sequence[Any]
    is_cut: bool  # it ended at the limit of characters


def add_copies(connection: sa.Connection, places: Collection[Place]) -> None:
    """Index messages that this transaction has copied, as `add_messages` does."""
    if len(places) > MAX_ENTRIES_AT_ONCE:
        search_queue.add_places(connection, places)
        return
    rows = select_at_places(connection, sa.select(*MESSAGE_COLUMNS), _message.segment, _message.depth, places)
    add_messages(connection, sorted(map(_to_message, rows), key=attrgetter("place")))


def add_messages(connection: sa.Connection, messages: Sequence[IndexedMessage]) -> None:
    """Index messages that this transaction has written, with their files; queue them if they are many or long."""
    is_long = 1 < len(messages) <= MAX_ENTRIES_AT_ONCE and (
        sum(count_chars(connection, each) for each in messages) > _MAX_CHARS_AT_ONCE
    )
    if is_long or len(messages) > MAX_ENTRIES_AT_ONCE:
        search_queue.add_places(connection, [each.place for each in messages])
    else:
        _index_messages(connection, messages)


def update_checkpoints(connection: sa.Connection, changes: Sequence[RowChange]) -> None:
    """Index the checkpoints that these changes have made, described, deleted or brought back; queue them if they are many.

    A deleted checkpoint has no entry.
    """
    changes = [each for each in changes if not _INDEXED_COLUMNS.isdisjoint(each.after)]
    if not changes:
        return
    listed_before = {each.id: each.before.get("deleted_at") is None for each in reversed(changes)}
    moved = {each.id: each.after["deleted_at"] for each in changes if "deleted_at" in each.after}
    remove_checkpoints(connection, [identifier for identifier, is_listed in listed_before.items() if is_listed])
    listed = [identifier for identifier in listed_before if moved.get(identifier) is None]
    if len(listed) > MAX_ENTRIES_AT_ONCE:
        query = sa.select(_checkpoint.segment, _checkpoint.depth)
        rows = select_in_batches(connection, query, _checkpoint.id, listed)
        search_queue.add_places(connection, {(row.segment, row.depth) for row in rows})
    else:
        _add_checkpoints(connection, listed)


def _index_messages(connection: sa.Connection, messages: Sequence[IndexedMessage]) -> None:
    words = make_words(connection, messages)
    rows = [
        {"segment": each.segment, "depth": each.depth, "checkpoint_id": None, "created_at": each.created_at}
        for each in messages
    ]
    _insert(connection, rows, words, [make_checksum(each) for each in words])


def _add_checkpoints(connection: sa.Connection, checkpoint_ids: Collection[str]) -> None:
    query = sa.select(*CHECKPOINT_COLUMNS, _checkpoint.created_at).where(_checkpoint.deleted_at.is_(None))
    found = list(select_in_batches(connection, query, _checkpoint.id, checkpoint_ids))
    words = [make_checkpoint_words(connection, row) for row in found]
    rows = [{"segment": None, "depth": None, "checkpoint_id": row.id, "created_at": row.created_at} for row in found]
    _insert(connection, rows, words, [" ".join(each) for each in words])


def _insert(connection: sa.Connection, rows: list[dict[str, Any]], words: Sequence[list[str]], kept: Sequence[str]) -> None:
    """Write entries with their words; `kept` are the texts that SQLite's entries keep of them."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        connection.execute(_INSERT_ENTRIES, [row | {"words": write_vector(w)} for row, w in zip(rows, words, strict=True)])
        return
    entries = [row | {"words": each} for row, each in zip(rows, kept, strict=True)]
    if len(entries) == 1:
        first = connection.execute(_INSERT_ENTRY, entries[0]).scalar_one()
    else:
        first = connection.execute(_LAST_NUMBER).scalar_one() + 1  # one transaction writes at a time
        connection.execute(_INSERT_ENTRIES, [each | {"number": n} for n, each in enumerate(entries, first)])
    connection.execute(_INSERT_WORDS, [{"number": n, "words": " ".join(w)} for n, w in enumerate(words, first)])


def _to_message(columns: Sequence[Any]) -> IndexedMessage:
    return IndexedMessage(*columns)


def make_words(connection: sa.Connection, messages: Sequence[IndexedMessage]) -> list[list[str]]:
    hashes = {hash_ for each in messages for hash_ in files.find_file_hashes(each.body)}
    contents = file_rows.select_texts(connection, hashes) if hashes else {}
    return [
        content.list_message_words(each.body, each.thread_id, find_marked_owner(connection, each.owner), contents)
        for each in messages
    ]


def make_checkpoint_words(connection: sa.Connection, row: sa.Row[Any]) -> list[str]:
    """Return the words of a row of `CHECKPOINT_COLUMNS`."""
    owner = find_marked_owner(connection, row.owner)
    return content.list_checkpoint_words(row.name, row.description, row.thread_id, owner)


def find_marked_owner(connection: sa.Connection, owner: str | None) -> str | None:
    """Return an owner whose mark the entries have: on SQLite, everybody who signs in; None for any other."""
    return owner if connection.dialect.name == "sqlite" and owner != LOCAL_OWNER else None


def count_chars(connection: sa.Connection, message: IndexedMessage) -> int:
    """Count the characters that indexing reads. Many messages may name one attached text, which each of them indexes."""
    hashes = files.find_file_hashes(message.body)
    return len(message.body) + (file_rows.sum_text_bytes(connection, hashes) if hashes else 0)


def take_portion(connection: sa.Connection, query: sa.Select[Any]) -> Portion:
    """Return the first rows of a query for `MESSAGE_COLUMNS` and others: so few that their words need little memory."""
    rows: list[Any] = []
    chars = 0
    with connection.execute(query.limit(_MAX_PORTION_MESSAGES), execution_options={"yield_per": 20}) as found:
        for row in found:
            rows.append(row)
            chars += count_chars(connection, _to_message(row[: len(MESSAGE_COLUMNS)]))
            if chars > _MAX_PORTION_CHARS:
                return Portion(rows, is_cut=True)
    return Portion(rows, is_cut=False)


def make_checksum(words: Iterable[str]) -> str:
    return f"{zlib.crc32(' '.join(words).encode()):08x}"


def remove_checkpoints(connection: sa.Connection, checkpoint_ids: Collection[str]) -> None:
    query = sa.select(_entry.number, _entry.words)
    found = list(select_in_batches(connection, query, _entry.checkpoint_id, checkpoint_ids))
    _remove(connection, [row.number for row in found], [row.words for row in found])


def remove_messages(connection: sa.Connection, messages: Sequence[IndexedMessage]) -> None:
    """Remove the entries of messages that are about to be erased, while their files are there.

    `take_portion` limits their number and size.
    """
    by_place = {(each.segment, each.depth): each for each in messages}
    columns = (_entry.segment, _entry.depth, _entry.number)
    if connection.dialect.name == "postgresql":
        found = select_at_places(connection, sa.select(*columns), _entry.segment, _entry.depth, by_place)
        _remove(connection, [row.number for row in found], [])
        return
    entries = list(select_at_places(connection, sa.select(*columns, _entry.words), _entry.segment, _entry.depth, by_place))
    words = make_words(connection, [by_place[row.segment, row.depth] for row in entries])
    if all(row.words == make_checksum(each) for row, each in zip(entries, words, strict=True)):
        _remove(connection, [row.number for row in entries], [" ".join(each) for each in words])
    else:  # a damaged message, or other rules for words: what is to be forgotten is not known
        queue_everything(connection)


def _remove(connection: sa.Connection, numbers: Sequence[int], words: Sequence[str]) -> None:
    if not numbers:
        return
    if connection.dialect.name == "sqlite":
        connection.execute(_DELETE_WORDS, [{"number": n, "words": w} for n, w in zip(numbers, words, strict=True)])
    connection.execute(
        sa.delete(schema.search_entry).where(_entry.number == sa.bindparam("of_number")), [{"of_number": n} for n in numbers]
    )


def merge_words(connection: sa.Connection) -> None:
    """Rewrite SQLite's index without the words that it was told to forget: until then they are in its file."""
    if connection.dialect.name == "sqlite":
        connection.execute(_MERGE_WORDS)


def queue_everything(connection: sa.Connection) -> None:
    """Empty the index, and queue all segments."""
    if connection.dialect.name == "sqlite":
        connection.execute(_DELETE_ALL_WORDS)
    connection.execute(sa.delete(schema.search_entry))
    search_queue.add_every_segment(connection)


def index_portion(connection: sa.Connection) -> bool:
    """Index some of the queued messages, with the checkpoints on them; return whether any were queued.

    The oldest are first: the numbers of the entries ascend with time.
    """
    ranges = search_queue.select_ranges(connection, _MAX_PORTION_MESSAGES)
    if not ranges:
        return False
    of_message = sa.and_(_entry.segment == _message.segment, _entry.depth == _message.depth)
    query = sa.select(*MESSAGE_COLUMNS).join_from(schema.message, schema.search_entry, of_message, isouter=True)
    query = query.where(search_queue.is_in(ranges), _entry.number.is_(None)).order_by(_message.segment, _message.depth)
    portion = take_portion(connection, query)
    messages = list(map(_to_message, portion.rows))
    _index_messages(connection, messages)
    indexed = search_queue.cut_ranges(ranges, (messages[-1].segment, messages[-1].depth)) if portion.is_cut else ranges
    checkpoint_ids = _select_checkpoint_portion(connection, indexed)
    if checkpoint_ids:  # there may be more of them
        _add_checkpoints(connection, checkpoint_ids)
    else:
        search_queue.remove_ranges(connection, indexed)
    return True


def _select_checkpoint_portion(connection: sa.Connection, ranges: Iterable[QueuedRange]) -> list[str]:
    """Return some of the listed checkpoints on these messages that have no entry."""
    on_message = sa.and_(_checkpoint.thread_id == _message.thread_id, _checkpoint.message_id == _message.id)
    joined = schema.message.join(schema.checkpoint, on_message)
    joined = joined.outerjoin(schema.search_entry, _entry.checkpoint_id == _checkpoint.id)
    query = sa.select(_checkpoint.id, sa.func.length(_checkpoint.description)).select_from(joined)
    query = query.where(search_queue.is_in(ranges), _entry.number.is_(None), _checkpoint.deleted_at.is_(None))
    portion: list[str] = []
    chars = 0
    for checkpoint_id, size in connection.execute(query.order_by(_checkpoint.position).limit(_MAX_PORTION_MESSAGES)):
        portion.append(checkpoint_id)
        chars += size
        if chars > _MAX_PORTION_CHARS:
            break
    return portion
