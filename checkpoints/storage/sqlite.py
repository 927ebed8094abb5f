"""The parts for SQLite: its engine, its safety settings, and the lock that keeps a file to one process."""

import fcntl
from collections.abc import Callable
from operator import methodcaller
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa

from checkpoints import serde
from checkpoints.errors import StoreInUseError

_decode_leniently = methodcaller("decode", "utf-8", "replace")


def create_engine(url: str, max_wait_seconds: int, **options: Any) -> sa.Engine:
    json = {"json_serializer": serde.to_canonical, "json_deserializer": serde.parse_leniently}
    engine = sa.create_engine(url, **json, hide_parameters=True, **options)
    sa.event.listen(engine, "connect", _make_session_setup(max_wait_seconds))
    sa.event.listen(engine, "begin", _begin_statement)
    return engine


def _make_session_setup(max_wait_seconds: int) -> Callable[[Any, object], None]:
    def set_pragmas(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # the driver begins no transaction; _begin_statement does
        connection.text_factory = _decode_leniently  # the default refuses the whole result for one byte that is not UTF-8
        for pragma in (
            "page_size = 8192",  # a message is 1-2 KB: larger pages waste less space; ignored if set after WAL
            "journal_mode = WAL",
            "synchronous = FULL",  # a commit is on disk before it is acknowledged
            "foreign_keys = ON",
            f"busy_timeout = {max_wait_seconds * 1000}",  # milliseconds
        ):
            connection.execute(f"PRAGMA {pragma}")

    return set_pragmas


def forbid_writes(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA query_only = ON")


def _begin_statement(connection: sa.Connection) -> None:
    # IMMEDIATE takes the write lock at once: two writers queue, and neither fails half-way through.
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def lock_file(path: Path) -> IO[str]:
    """Lock the file for this process. The lock ends with the process, even after kill -9."""
    lock = open(path.with_suffix(".lock"), "a+")  # noqa: SIM115  (kept open for the life of the database)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise StoreInUseError(str(path)) from error
    return lock
