"""SQLite: the engines, the safety settings, and the locks that keep a file to a single process."""

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
# SQLite files never reach this byte, and SQLite never locks it.
_LOCKED_BYTE = 2**62
_MAX_CHECKPOINT_SECONDS = 5.0
_CHECKPOINT_PAUSE = 0.05


def create_engine(url: str | sa.URL, max_wait_seconds: int, **options: Any) -> sa.Engine:
    """Make an engine for a database owned by Waymark. Each connection sets the journal mode and safety settings."""
    return _create_engine(url, _make_session_setup(max_wait_seconds), **options)


def create_read_only_engine(path: Path, max_wait_seconds: int) -> sa.Engine:
    """Make an engine that changes nothing in the file and keeps its journal mode.

    It waits for a lock at most `max_wait_seconds`.
    """

    def forbid_writes(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        connection.text_factory = _decode_leniently
        connection.execute("PRAGMA query_only = ON")
        connection.execute(f"PRAGMA busy_timeout = {max_wait_seconds * 1000}")

    # SQLite writes beside a file with a log, and fails in a read-only folder. Without a log, the file was closed
    # cleanly and is complete.
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
    """Rewrite the file without freed pages, and empty its log. Raises `StoreUnavailableError`."""
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
    """Write the log back into the file. Return whether it is now empty, since readers may keep a part of it."""
    with engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert isinstance(raw, sqlite3.Connection)
        try:
            return _empty_log(raw)
        except sqlite3.Error:
            # The database is locked.
            return False


def _empty_log(connection: sqlite3.Connection) -> bool:
    """Return whether the log is empty. SQLite waits for readers, but not for another connection writing the log back."""
    begun = monotonic()
    while connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if monotonic() - begun > _MAX_CHECKPOINT_SECONDS:
            return False
        sleep(_CHECKPOINT_PAUSE)
    return True


def make_address(path: Path, **options: str) -> sa.URL:
    """Return a file's address as a URI. With `mode=rw`, SQLite does not create a missing file."""
    return sa.URL.create("sqlite", database=f"file:{quote(str(path.absolute()))}", query={**options, "uri": "true"})


def get_log_path(path: Path) -> Path:
    """Return the path of a file's log (WAL)."""
    return path.with_name(f"{path.name}-wal")


def has_log(path: Path) -> bool:
    """Return whether changes may be in a log beside the file, because it is open or was not closed cleanly."""
    return get_log_path(path).exists() or path.with_name(f"{path.name}-journal").exists()


def can_write_in(folder: Path) -> bool:
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def read_schema(path: Path) -> tuple[set[str], str | None]:
    """Return the table names, and Waymark's schema revision (None: not Waymark's). No byte is changed.

    Raises `sqlite3.Error` for a file that is no database or cannot be read.
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
        # The driver begins no transaction, because `_begin_statement` does.
        connection.isolation_level = None
        # The default refuses a whole result for a single byte that is not UTF-8.
        connection.text_factory = _decode_leniently
        for pragma in (
            # Each empty table and index takes a page. Existing files keep their size.
            "page_size = 4096",
            "journal_mode = WAL",
            # A commit is on disk before it is acknowledged.
            "synchronous = FULL",
            "foreign_keys = ON",
            # SQLite takes milliseconds.
            f"busy_timeout = {max_wait_seconds * 1000}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return set_pragmas


def _execute_statement(cursor: Any, statement: str, parameters: Sequence[Any], _context: object) -> bool:
    """Replace lone surrogates in query values, such as a typed address, so the query finds nothing instead of failing.

    Stored values lose them in `serde.sanitize_text`.
    """
    try:
        cursor.execute(statement, parameters)
    except UnicodeEncodeError:
        cursor.execute(statement, [serde.sanitize_text(each) if isinstance(each, str) else each for each in parameters])
    return True


def _begin_statement(connection: sa.Connection) -> None:
    # IMMEDIATE takes the write lock at once, so writers queue and none fails half-way.
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
    """Create the file if needed and lock it, so it is locked under other names (hard links) too.

    Return its descriptor, to be kept open until SQLite's connections are closed. Closing any descriptor of a file ends
    the process's locks on it, including SQLite's (fcntl(2)).
    """
    # SQLite gives the files beside it the same mode.
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    if not hasattr(fcntl, "F_OFD_SETLK"):
        # Outside of Linux, only the path is locked.
        return descriptor
    # An open file description lock survives the closing of other descriptors, and conflicts within a process.
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, _LOCKED_BYTE, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, lock)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            os.close(descriptor)
            raise StoreInUseError(str(path)) from error
        # Some network file systems have no such locks.
    return descriptor
