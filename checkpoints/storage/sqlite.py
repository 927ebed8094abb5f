"""The parts for SQLite: its engines, its safety settings, and the locks that keep a file to one process."""

import errno
import fcntl
import os
import sqlite3
import struct
from collections.abc import Callable, Sequence
from operator import methodcaller
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any
from urllib.parse import quote

import sqlalchemy as sa

from ..values import serde
from ..values.errors import StoreInUseError, StoreUnavailableError
from ..values.sentence import sentence

_decode_leniently = methodcaller("decode", "utf-8", "replace")
# A byte that no SQLite file reaches, and that SQLite never locks itself.
_LOCKED_BYTE = 2**62
_MAX_CHECKPOINT_SECONDS = 5.0
_CHECKPOINT_PAUSE = 0.05


def create_engine(url: str | sa.URL, max_wait_seconds: int, **options: Any) -> sa.Engine:
    """Make an engine for a database that Waymark owns: each connection sets the journal mode and the safety settings."""
    return _create_engine(url, _make_session_setup(max_wait_seconds), **options)


def create_read_only_engine(path: Path, max_wait_seconds: int) -> sa.Engine:
    """Make an engine that changes nothing in the file, and does not switch its journal mode.

    It waits for no lock longer than `max_wait_seconds`.
    """

    def forbid_writes(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        connection.text_factory = _decode_leniently
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA busy_timeout = {max_wait_seconds * 1000}")

    # SQLite wants to write beside a file with a log, and cannot in a folder that is read-only. Without a log, the file
    # was closed cleanly, and is complete by itself.
    is_complete = not has_log(path) and not can_write_in(path.parent)
    return _create_engine(make_address(path, **({"immutable": "1"} if is_complete else {"mode": "rw"})), forbid_writes)


def _create_engine(url: str | sa.URL, set_up: Callable[[Any, object], None], **options: Any) -> sa.Engine:
    json = {"json_serializer": serde.to_canonical, "json_deserializer": serde.parse_leniently}
    engine = sa.create_engine(url, **json, hide_parameters=True, **options)
    sa.event.listen(engine, "connect", set_up)
    sa.event.listen(engine, "begin", _begin_statement)
    sa.event.listen(engine, "do_execute", _execute_statement)
    return engine


def vacuum_file(engine: sa.Engine) -> None:
    """Rewrite the file without its freed pages, and empty the log beside it. Raises `StoreUnavailableError`."""
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        try:
            raw.execute("VACUUM")
            is_empty = _empty_log(raw)
        except sqlite3.Error as error:
            raise StoreUnavailableError(
                sentence("What was erased may still be in the file: {error}. Erase again.", error=error)
            ) from error
    if not is_empty:
        raise StoreUnavailableError(
            sentence("What was erased is still in the log beside the file: another process is reading it.")
        )


def empty_log(engine: sa.Engine) -> bool:
    """Write the log beside the file back, and empty it. Return whether it is empty: readers may keep a part of it."""
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        try:
            return _empty_log(raw)
        except sqlite3.Error:  # locked
            return False


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Return whether the log is empty. SQLite waits for readers, but not for another connection that writes the log back."""
    begun = monotonic()
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if monotonic() - begun > _MAX_CHECKPOINT_SECONDS:
            return False
        sleep(_CHECKPOINT_PAUSE)
    return True


def make_address(path: Path, **options: str) -> sa.URL:
    """Return the address of a file as a URI: with `mode=rw`, SQLite does not make a missing file."""
    return sa.URL.create("sqlite", database=f"file:{quote(str(path.absolute()))}", query={**options, "uri": "true"})


def get_log_path(path: Path) -> Path:
    """Return the path of the log (WAL) beside a file."""
    return path.with_name(f"{path.name}-wal")


def has_log(path: Path) -> bool:
    """Return whether changes may be in a log beside the file: it is open, or was not closed cleanly."""
    return get_log_path(path).exists() or path.with_name(f"{path.name}-journal").exists()


def can_write_in(folder: Path) -> bool:
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def read_schema(path: Path) -> tuple[set[str], str | None]:
    """Return the names of the tables, and Waymark's revision of the schema (None: not Waymark's). Changes no byte.

    Raises `sqlite3.Error` for a file that is no database, or that cannot be read.
    """
    mode = "mode=ro" if has_log(path) else "immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True)
    try:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        found = connection.execute("SELECT version_num FROM alembic_version") if "alembic_version" in tables else ()
        return tables, next((str(revision) for (revision,) in found), None)
    finally:
        connection.close()


def _make_session_setup(max_wait_seconds: int) -> Callable[[Any, object], None]:
    def set_pragmas(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver begins no transaction; _begin_statement does
        connection.text_factory = _decode_leniently  # the default refuses the whole result for one byte that is not UTF-8
        for pragma in (
            "page_size = 4096",  # each empty table and index takes one; without effect on an older file
            "journal_mode = WAL",
            "synchronous = FULL",  # a commit is on disk before it is acknowledged
            "foreign_keys = ON",
            f"busy_timeout = {max_wait_seconds * 1000}",  # milliseconds
        ):
            connection.execute(f"PRAGMA {pragma}")

    return set_pragmas


def _execute_statement(cursor: Any, statement: str, parameters: Sequence[Any], _context: object) -> bool:
    """Replace lone surrogates in the values of queries, such as a typed address: they find nothing instead of failing.

    Values to be written lose them in `serde.sanitize_text`.
    """
    try:
        cursor.execute(statement, parameters)
    except UnicodeEncodeError:
        cursor.execute(statement, [serde.sanitize_text(each) if isinstance(each, str) else each for each in parameters])
    return True


def _begin_statement(connection: sa.Connection) -> None:
    # IMMEDIATE takes the write lock at once: two writers queue, and neither fails half-way through.
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def lock_path(path: Path) -> IO[str]:
    """Lock the path for this process. The lock ends with the process, even after kill -9."""
    lock = open(path.with_suffix(".lock"), "a+", encoding="utf-8")  # noqa: SIM115  (kept open for the life of the database)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise StoreInUseError(str(path)) from error
    return lock


def lock_file(path: Path) -> int:
    """Make the file if it is missing, and lock it itself: under another name (a hard link) it is locked as well.

    Return its descriptor. It must stay open until SQLite's connections are closed: closing any descriptor of a file
    ends the locks of the process on it, SQLite's included (fcntl(2)).
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)  # SQLite gives the files beside it the same mode
    if not hasattr(fcntl, "F_OFD_SETLK"):  # outside of Linux: the lock of the path remains
        return descriptor
    # An open file description's lock: closing another descriptor does not end it, and two of one process conflict.
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _LOCKED_BYTE, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            os.close(descriptor)
            raise StoreInUseError(str(path)) from error
        # Some network file systems have no such locks.
    return descriptor
