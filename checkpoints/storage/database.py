"""Opening a database: the engine, its safety settings, the lock that keeps one process to a file, what it fails at.

SQLite stands here, PostgreSQL's own in postgresql.py; everything above them is the same code for both.
"""

import fcntl
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from operator import methodcaller
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from checkpoints import serde
from checkpoints.errors import StoreInUseError, StoreUnavailableError
from checkpoints.storage import migrations, postgresql, schema

_decode_leniently = methodcaller("decode", "utf-8", "replace")
SQLITE_PREFIX = "sqlite:///"
MAX_LOCK_WAIT_SECONDS = 4  # for a lock or a connection: the page says within 6 what is wrong
READ_ONLY_TEXT = "The database cannot be written: it is read-only."
_log = logging.getLogger(__name__)


class Database:
    """An engine together with the lock on its file. Close it to let another process in."""

    def __init__(self, engine: sa.Engine, lock: IO[str] | None = None) -> None:
        self.engine = engine
        self._lock = lock
        # In memory there is one connection for all: a thread that came in between would end the other's transaction.
        self._exclusive = threading.RLock() if isinstance(engine.pool, StaticPool) else nullcontext()
        self._view = threading.local()
        self._claim: postgresql.Claim | None = None
        self._failures: dict[str, str] = {}  # "read" and "write", as long as it fails: what was said last
        self._read_engine = engine.execution_options(**postgresql.READ_OPTIONS) if self.kind == "postgresql" else engine

    @property
    def kind(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.engine.dialect.name

    @property
    def outage(self) -> str:
        """The sentence about what went wrong, as long as the last write or the last read did; else nothing."""
        return next(iter(tuple(self._failures.values())), "")

    @classmethod
    def in_memory(cls) -> "Database":
        """A database of its own that is gone with the object; for the library used without an app, and for tests."""
        engine = _create_sqlite_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        schema.metadata.create_all(engine)
        return cls(engine)

    @classmethod
    def open_file(cls, path: Path) -> "Database":
        """The SQLite file at `path`, made or migrated as needed.

        Raises `StoreInUseError` when another process has it, `StoreUnavailableError` when it cannot be used.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # one that is there stays as its owner wants it
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
        """The database at `sqlite:///…` or `postgresql+psycopg://…`, made or migrated as needed; raises as `at` does.

        On PostgreSQL it is shared with whoever else opens it; a server also takes its `claim`.
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
        """Keep other servers out while this one lives: which answers are being written is known to one process alone.

        A SQLite file is claimed by being opened. Raises `StoreInUseError`.
        """
        if self.kind != "postgresql":
            return
        claim = self._claim = postgresql.Claim(self.engine)

        def hold_again(connection: Any, _record: object) -> None:
            # A restart of the database ends the claim and every connection: the next one to be made is when to look.
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
        """The database at `url`, only to read from, beside the process that has it: without its lock, and never migrated.

        Raises `StoreUnavailableError` when there is none, or none with this Waymark's schema.
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
    def begin_read(self) -> Iterator[sa.Connection]:
        """One consistent view; nothing is changed. Reads inside the block, by the same thread, see the same moment."""
        held: sa.Connection | None = getattr(self._view, "connection", None)
        if held is not None:
            yield held
            return
        with self._exclusive, self._track_failures("read"), self._read_engine.connect() as connection:
            self._view.connection = connection
            try:
                yield connection
            finally:
                self._view.connection = None

    @contextmanager
    def begin_write(self, lock_key: str = "") -> Iterator[sa.Connection]:
        """One transaction that is alone: all of it is on disk when the block has ended, or nothing.

        SQLite lets in one at a time. On PostgreSQL the row of the thread is held from when it is read (`rows.thread`) and,
        from the beginning, `key`: that of what is looked for before, or cannot be held since it is not there yet.
        """
        with self._exclusive, self._track_failures("write"), self.engine.connect() as connection:
            connection.execution_options(writing=True, holding=self.kind == "postgresql")
            with connection.begin():
                if lock_key and self.kind == "postgresql":
                    connection.execute(postgresql.ADVISORY_LOCK, {"key": lock_key})
                yield connection

    def check_health(self) -> None:
        """Raise `StoreUnavailableError` if the database does not take part. After a write that failed, only a write can
        tell: a full disk reads well.
        """
        if "write" in self._failures:
            with self.begin_write() as connection:
                connection.execute(sa.text("UPDATE alembic_version SET version_num = version_num"))
        with self.begin_read() as connection:
            connection.execute(sa.select(schema.thread.c.id).limit(1))

    @contextmanager
    def _track_failures(self, verb: str) -> Iterator[None]:
        """Remember whether reading and writing work, and say once in the log that one does not any more."""
        try:
            with translate_errors():
                yield
        except StoreUnavailableError as error:
            if verb not in self._failures:
                _log.warning("the database fails to %s: %s", verb, getattr(error.__cause__, "orig", None) or error)
            self._failures[verb] = str(error)
            if self._failures[verb] == READ_ONLY_TEXT and self._lock is not None:
                self.engine.dispose()  # what was opened while the file was read-only would stay so
            raise
        self._failures.pop(verb, None)


@contextmanager
def translate_errors() -> Iterator[None]:
    """The one place where the driver's errors become ours."""
    try:
        yield
    except sa.exc.IntegrityError:
        raise  # the caller's mistake, not the database's
    except (sa.exc.DBAPIError, sa.exc.TimeoutError) as error:  # also a file that is damaged, or that is no database
        raise StoreUnavailableError(_explain_driver_error(getattr(error, "orig", None))) from error


def _explain_driver_error(error: BaseException | None) -> str:
    """What is wrong, in words of ours: the driver's own may span lines and name what is nobody's business."""
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
    if state.startswith(("42", "22")):  # a statement or a value of ours: the server itself is well
        return "The database refused what it was asked."
    return "The database server does not answer."


def _create_sqlite_engine(url: str, **options: Any) -> sa.Engine:
    json = {"json_serializer": serde.to_canonical, "json_deserializer": serde.parse_leniently}
    engine = sa.create_engine(url, **json, hide_parameters=True, **options)
    sa.event.listen(engine, "connect", _set_pragmas)
    sa.event.listen(engine, "begin", _begin_statement)
    return engine


def _set_pragmas(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself; _on_begin does
    connection.text_factory = _decode_leniently  # by itself it refuses the whole answer when one flipped byte is no UTF-8
    for pragma in (
        "page_size = 8192",  # a message is 1-2 KB: larger pages waste less of themselves; before WAL, or it is ignored
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
    """Hold the file for this process. The lock goes with the process, even after kill -9."""
    lock = open(path.with_suffix(".lock"), "a+")  # noqa: SIM115  (kept open for the life of the database)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise StoreInUseError(str(path)) from error
    return lock
