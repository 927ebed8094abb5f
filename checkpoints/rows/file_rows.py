"""Rows of table `file`: the bytes of attached files, a row for each hash."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from ..storage import schema
from ..storage.access import exempt_query
from ..storage.batches import select_in_batches
from ..storage.row_security import name_files
from ..values.files import TEXT_TYPE, File, find_file_hashes, hash_bytes

# Within a text, JSON escapes the quotes.
REFERENCES_FILE = schema.message.c.body.contains('"file":"sha256:', autoescape=True)


def write_files(connection: sa.Connection, files: Iterable[File], now: int) -> None:
    """Write each file once. A damaged row with the same hash is repaired."""
    table = schema.file
    insert = load_insert(connection.dialect.name)
    by_hash = {file.hash: file for file in files}
    if by_hash:
        name_files(connection, by_hash)
    # A fixed order avoids deadlocks between transactions waiting for each other's rows.
    for _, file in sorted(by_hash.items()):
        row = {"hash": file.hash, "media_type": file.media_type, "size": len(file.data), "bytes": file.data}
        statement = insert(table).values(**row, created_at=now)
        new = statement.excluded
        differs = sa.or_(table.c.bytes != new.bytes, table.c.media_type != new.media_type)
        columns = {name: new[name] for name in ("media_type", "size", "bytes")}
        connection.execute(statement.on_conflict_do_update(index_elements=["hash"], set_=columns, where=differs))


def load_insert(dialect: str) -> Callable[[sa.Table], Any]:
    """Return the dialect's `insert`, with support for ON CONFLICT."""
    if dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert  # noqa: PLC0415  (not with SQLite, see postgresql.py)

        return insert
    return sqlite.insert


def select_files(connection: sa.Connection, hashes: Collection[str]) -> dict[str, bytes]:
    """Return files' bytes by hash, without missing and damaged files."""
    return {hash_: data for hash_, data in _select_file_rows(connection, hashes) if hash_bytes(data) == hash_}


def select_texts(connection: sa.Connection, hashes: Collection[str]) -> dict[str, bytes]:
    """Return the bytes of the texts among these files, like `select_files`."""
    is_text = schema.file.c.media_type == TEXT_TYPE
    return {hash_: data for hash_, data in _select_file_rows(connection, hashes, is_text) if hash_bytes(data) == hash_}


def sum_bytes(connection: sa.Connection, hashes: Collection[str]) -> int:
    """Return the total size of these files."""
    table = schema.file.c
    query = sa.select(table.size)
    name_files(connection, hashes)
    return sum(row.size for row in select_in_batches(connection, query, table.hash, hashes))


def _select_file_rows(
    connection: sa.Connection, hashes: Collection[str], *conditions: sa.ColumnElement[bool]
) -> Iterator[tuple[str, bytes]]:
    table = schema.file.c
    # Whoever knows a hash knows the bytes.
    query = exempt_query(sa.select(table.hash, table.bytes).where(*conditions))
    name_files(connection, hashes)
    for row in select_in_batches(connection, query, table.hash, hashes):
        yield row.hash, bytes(row.bytes)


def find_orphan_files(connection: sa.Connection, is_erased: Callable[[Any], bool]) -> list[str]:
    """Return the hashes of files no message names, ignoring messages to be erased.

    `is_erased` gets a row of thread_id, segment, depth and body.
    """
    hashes = set(connection.scalars(sa.select(schema.file.c.hash)))
    message = schema.message.c
    query = sa.select(message.thread_id, message.segment, message.depth, message.body).where(REFERENCES_FILE)
    for row in connection.execute(query, execution_options={"yield_per": 20}) if hashes else ():
        hashes -= set() if is_erased(row) else find_file_hashes(row.body)
    return sorted(hashes)


def delete_orphan_files(connection: sa.Connection, hashes: Sequence[str]) -> Sequence[str]:
    """Delete the files no message names, and return their hashes.

    On PostgreSQL, another transaction may have attached a file since. While the rows are locked, none can.
    """
    table = schema.file
    if hashes and connection.dialect.name == "postgresql":
        for hash_ in hashes:
            connection.execute(sa.select(table.c.hash).where(table.c.hash == hash_).with_for_update())
        orphans = set(find_orphan_files(connection, lambda _: False))
        hashes = [hash_ for hash_ in hashes if hash_ in orphans]
    for hash_ in hashes:
        connection.execute(sa.delete(table).where(table.c.hash == hash_))
    return hashes
