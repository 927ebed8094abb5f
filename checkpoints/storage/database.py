"""A database: its engine, its safety settings, the lock that keeps a file to one process, and its errors.

This module contains the parts for SQLite, postgresql.py those for PostgreSQL. All code above is the same for both.
"""

import fcntl
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from operator import methodcaller
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from checkpoints import serde
from checkpoints.errors import ContendedError, StoreInUseError, StoreUnavailableError, TakesTooLongError
from checkpoints.storage import migrations, postgresql, schema

_decode_leniently = methodcaller("decode", "utf-8", "replace")
SQLITE_PREFIX = "sqlite:///"
MAX_LOCK_WAIT_SECONDS = 4  # for a lock or a connection: the page reports an outage within 6
REFUSED = "The database refused what it was asked."
MAX_VALUES = (
    32_766  # of one statement, as SQLite is usually built; PostgreSQL takes twice as many, and closes the connection
)
READ_ONLY_TEXT = "The database cannot be written: it is read-only."
_CONTENDED = ("40P01", "40001")  # a deadlock that the server resolved, and changes that cannot be put in an order
_CANCELLED = "57014"
_TRIES = 4
_STEPS = 20_000  # of SQLite's virtual machine between two reads of the clock: some tenths of a millisecond
P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Database:
    """An engine together with the lock on its file. Close it to release the file to another process."""

    def __init__(self, engine: sa.Engine, lock: IO[str] | None = None) -> None:
        self.engine = engine
        self._lock = lock
        # In memory, all threads share one connection: without the lock, one thread would end another's transaction.
        self._exclusive = threading.RLock() if isinstance(engine.pool, StaticPool) else nullcontext()
        self._view = threading.local()
        self._claim: postgresql.Claim | None = None
        self._failures: dict[str, str] = {}  # "read" and "write", while they fail: the last error text
        sa.event.listen(engine, "before_cursor_execute", _check_statement)
        self._read_engine = engine.execution_options(**postgresql.READ_OPTIONS) if self.kind == "postgresql" else engine

    @property
    def kind(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.engine.dialect.name

    @property
    def outage(self) -> str:
        """The error text of the last write or read, if it failed; otherwise empty."""
        return next(iter(tuple(self._failures.values())), "")

    @classmethod
    def in_memory(cls) -> "Database":
        """Make a database in memory, for the library without an app and for tests. It ends with the object."""
        engine = _create_sqlite_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        schema.metadata.create_all(engine)
        return cls(engine)

    @classmethod
    def open_file(cls, path: Path) -> "Database":
        """Open the SQLite file at `path`, made or migrated as needed.

        Raises `StoreInUseError` when another process has it open, `StoreUnavailableError` when it cannot be used.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # an existing folder keeps its mode
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # SQLite gives the files beside it the same mode
            lock = _lock_file(path)
        except OSError as error:
            raise StoreUnavailableError(f"The data folder {path.parent} cannot be used: {error.strerror}.") from error
        database = cls(_create_sqlite_engine(f"sqlite:///{path}"), lock)
        try:
            with translate_errors():
                migrations.upgrade_schema(database.engine, path)
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def open_url(cls, url: str) -> "Database":
        """Open the database at `sqlite:///…` or `postgresql+psycopg://…`, made or migrated as needed.

        Raises as `open_file` does. Several processes can open a PostgreSQL database; a server also calls `claim`.
        """
        if url.startswith(SQLITE_PREFIX):
            return cls.open_file(Path(url.removeprefix(SQLITE_PREFIX)))
        database = cls(postgresql.create_engine(url, MAX_LOCK_WAIT_SECONDS))
        try:
            with translate_errors():
                migrations.upgrade_schema(database.engine)
        except BaseException:
            database.close()
            raise
        return database

    def claim(self) -> None:
        """Keep other servers out of this database: only one process can know which answers are being written.

        Opening a SQLite file claims it already. Raises `StoreInUseError`.
        """
        if self.kind != "postgresql":
            return
        claim = self._claim = postgresql.Claim(self.engine)

        def hold_again(connection: Any, _record: object) -> None:
            # A restart of the database ends the claim and every connection: each new connection checks the claim.
            try:
                claim.hold()
            except BaseException:
                connection.close()
                raise

        with translate_errors():
            claim.hold()
        sa.event.listen(self.engine, "connect", hold_again)

    @classmethod
    def open_read_only(cls, url: str) -> "Database":
        """Open the database at `url` for reading, without its lock and beside the process that has it open.

        It is never migrated. Raises `StoreUnavailableError` when it is missing or has another schema.
        """
        path = Path(url.removeprefix(SQLITE_PREFIX))
        if not url.startswith(SQLITE_PREFIX):
            database, name = cls(postgresql.create_engine(url, MAX_LOCK_WAIT_SECONDS)), "The database"
        elif path.is_file():
            database, name = cls(_create_sqlite_engine(f"{SQLITE_PREFIX}{path}")), str(path)
            sa.event.listen(database.engine, "connect", _forbid_writes, insert=True)
        else:
            raise StoreUnavailableError(f"There is no database at {path}.")
        try:
            with database.begin_read() as connection:
                found = migrations.read_revision(connection)
            if found is None:
                raise StoreUnavailableError(f"{name} is a database of something else; it was not used.")
            if found != migrations.NEWEST_REVISION:
                migrations.check_revision(found, name)
                raise StoreUnavailableError(f"{name} was written by an older Waymark: start this one on it once.")
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        self.engine.dispose()
        if self._claim is not None:
            self._claim.close()
        if self._lock is not None:
            self._lock.close()

    @contextmanager
    def begin_read(self, *, seconds: float | None = None) -> Iterator[sa.Connection]:
        """Open one snapshot for reading. Nested reads of the same thread share it.

        With `seconds`, no statement runs later than that after the beginning. Raises `TakesTooLongError`.
        """
        outer: sa.Connection | None = getattr(self._view, "connection", None)
        if outer is not None:
            yield outer
            return
        with self._exclusive, self._track_failures("read"), self._read_engine.connect() as connection:
            self._view.connection = connection.execution_options(forks={})
            try:
                with _limit_seconds(connection, seconds):
                    yield connection
            finally:
                self._view.connection = None

    @contextmanager
    def begin_write(self, lock_key: str = "") -> Iterator[sa.Connection]:
        """Open a transaction for writing: at the end of the block all of it is on disk, or nothing.

        SQLite allows one at a time. On PostgreSQL, reading the row of the thread locks it (`rows.select_thread`).
        `lock_key` is locked from the beginning: it protects rows that are searched for first or do not exist yet.
        """
        with self._exclusive, self._track_failures("write"), self.engine.connect() as connection:
            connection.execution_options(writing=True, holding=self.kind == "postgresql")
            with connection.begin():
                if lock_key and self.kind == "postgresql":
                    connection.execute(postgresql.ADVISORY_LOCK, {"key": lock_key})
                yield connection

    def check_health(self) -> None:
        """Raise `StoreUnavailableError` if the database cannot be used.

        After a failed write only another write can tell: a full disk can still be read.
        """
        if "write" in self._failures:
            with self.begin_write() as connection:
                connection.execute(sa.text("UPDATE alembic_version SET version_num = version_num"))
        with self.begin_read() as connection:
            connection.execute(sa.select(schema.thread.c.id).limit(1))

    @contextmanager
    def _track_failures(self, verb: str) -> Iterator[None]:
        """Record whether reading and writing work, and log the first failure of each."""
        try:
            with translate_errors():
                yield
        except StoreUnavailableError as error:
            if verb not in self._failures:
                _log.warning("the database fails to %s: %s", verb, getattr(error.__cause__, "orig", None) or error)
            self._failures[verb] = str(error)
            if self._failures[verb] == READ_ONLY_TEXT and self._lock is not None:
                self.engine.dispose()  # a connection that was opened on a read-only file stays read-only
            raise
        self._failures.pop(verb, None)


@contextmanager
def _limit_seconds(connection: sa.Connection, seconds: float | None) -> Iterator[None]:
    """End the statements of this connection after so many seconds, and let none begin later."""
    if seconds is None:
        yield
        return
    end = time.monotonic() + seconds
    raw: Any = connection.connection.driver_connection
    connection.execution_options(until=end)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
        yield
        return
    raw.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        yield
    finally:
        raw.set_progress_handler(None, _STEPS)


def tried_again(change: Callable[P, T]) -> Callable[P, T]:
    """Retry a change that the database gave up in favour of another. Nothing of it was written."""

    @wraps(change)
    def run_with_retries(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(_TRIES - 1):
            with suppress(ContendedError):
                return change(*args, **kwargs)
        return change(*args, **kwargs)

    return run_with_retries


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn the driver's errors into the errors of this package."""
    try:
        yield
    except sa.exc.IntegrityError:
        raise  # a mistake of the caller, not of the database
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:  # also for a damaged file, or a file that is no database
        driver = getattr(error, "orig", None)
        state = getattr(driver, "sqlstate", None)
        if state in _CONTENDED:
            raise ContendedError from error
        if state == _CANCELLED or getattr(driver, "sqlite_errorname", "") == "SQLITE_INTERRUPT":
            raise TakesTooLongError from error
        raise StoreUnavailableError(_explain_driver_error(getattr(error, "orig", None))) from error


def _explain_driver_error(error: BaseException | None) -> str:
    """Describe an error in one sentence: the driver's own text may span lines and contain private data."""
    sqlite = getattr(error, "sqlite_errorname", "")
    state = getattr(error, "sqlstate", None) or ""
    if sqlite == "SQLITE_FULL" or sqlite.startswith("SQLITE_IOERR_WRITE") or state == "53100":
        return "The disk is full: nothing can be saved."
    if sqlite.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or state == "55P03":
        return "The database is locked by another program."
    if sqlite.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")) or state == "25006":
        return READ_ONLY_TEXT
    if sqlite:
        return f"The database did not answer: {error}."
    if state.startswith(("42", "22", "54")):  # a statement or a value of Waymark: the server itself works
        return REFUSED
    return "The database server does not answer."


def _check_statement(
    connection: sa.Connection, _cursor: object, _statement: str, parameters: Any, _context: object, executemany: bool
) -> None:
    """Refuse a statement with too many values, or one that begins after the time limit of its read."""
    if not executemany and len(parameters) > MAX_VALUES:
        raise StoreUnavailableError(REFUSED)
    until = connection.get_execution_options().get("until")
    if until is not None and time.monotonic() > until:
        raise TakesTooLongError


def _create_sqlite_engine(url: str, **options: Any) -> sa.Engine:
    json = {"json_serializer": serde.to_canonical, "json_deserializer": serde.parse_leniently}
    engine = sa.create_engine(url, **json, hide_parameters=True, **options)
    sa.event.listen(engine, "connect", _set_pragmas)
    sa.event.listen(engine, "begin", _begin_statement)
    return engine


def _set_pragmas(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins no transaction; _begin_statement does
    connection.text_factory = _decode_leniently  # the default refuses the whole result for one byte that is not UTF-8
    for pragma in (
        "page_size = 8192",  # a message is 1-2 KB: larger pages waste less space; ignored if set after WAL
        "journal_mode = WAL",
        "synchronous = FULL",  # a commit is on disk before it is acknowledged
        "foreign_keys = ON",
        f"busy_timeout = {MAX_LOCK_WAIT_SECONDS * 1000}",  # milliseconds
    ):
        connection.execute(f"PRAGMA {pragma}")


def _forbid_writes(connection: Any, _record: object) -> None:
    connection.execute("PRAGMA query_only = ON")


def _begin_statement(connection: sa.Connection) -> None:
    # IMMEDIATE takes the write lock at once: two writers queue, and neither fails half-way through.
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _lock_file(path: Path) -> IO[str]:
    """Lock the file for this process. The lock ends with the process, even after kill -9."""
    lock = open(path.with_suffix(".lock"), "a+")  # noqa: SIM115  (kept open for the life of the database)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise StoreInUseError(str(path)) from error
    return lock
