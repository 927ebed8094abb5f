"""Opening a database: the engine, its safety settings, the lock that keeps one process to a file, and migrations."""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from checkpoints import schema, serde
from checkpoints.errors import StoreInUseError, StoreUnavailableError

MIGRATIONS = Path(__file__).parent / "migrations"
HEAD = "0001"  # the newest file in migrations/versions; a test holds the two together


class Database:
    """An engine together with the lock on its file. Close it to let another process in."""

    def __init__(self, engine: sa.Engine, lock: IO[str] | None = None) -> None:
        self.engine = engine
        self._lock = lock
        # In memory there is one connection for all: a thread that came in between would end the other's transaction.
        self._alone = threading.RLock() if isinstance(engine.pool, StaticPool) else nullcontext()
        self._view = threading.local()

    @classmethod
    def in_memory(cls) -> "Database":
        """A database of its own that is gone with the object; for the library used without an app, and for tests."""
        engine = _engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
        schema.metadata.create_all(engine)
        return cls(engine)

    @classmethod
    def at(cls, path: Path) -> "Database":
        """The SQLite file at `path`, made or migrated as needed.

        Raises `StoreInUseError` when another process has it, `StoreUnavailableError` when it cannot be used.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # one that is there stays as its owner wants it
            lock = _lock(path)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))  # SQLite gives the files beside it the same mode
        except OSError as error:
            raise StoreUnavailableError(f"The data folder {path.parent} cannot be used: {error.strerror}.") from error
        database = cls(_engine(f"sqlite:///{path}"), lock)
        try:
            with translated():
                _migrate(database.engine, path)
        except BaseException:
            database.close()
            raise
        return database

    def close(self) -> None:
        self.engine.dispose()
        if self._lock is not None:
            self._lock.close()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent view; nothing is changed. Reads inside the block, by the same thread, see the same moment."""
        held: sa.Connection | None = getattr(self._view, "connection", None)
        if held is not None:
            yield held
            return
        with self._alone, translated(), self.engine.connect() as connection:
            self._view.connection = connection
            try:
                yield connection
            finally:
                self._view.connection = None

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction that is alone: all of it is on disk when the block has ended, or nothing."""
        with self._alone, translated(), self.engine.connect() as connection:
            connection.execution_options(writing=True)
            with connection.begin():
                yield connection


@contextmanager
def translated() -> Iterator[None]:
    """The one place where the driver's errors become ours."""
    try:
        yield
    except sa.exc.IntegrityError:
        raise  # the caller's mistake, not the database's
    except sa.exc.DatabaseError as error:  # also a file that is damaged, or that is no database
        raise StoreUnavailableError(f"The database did not answer: {error.orig}.") from error


def _engine(url: str, **options: Any) -> sa.Engine:
    engine = sa.create_engine(url, json_serializer=serde.canonical, hide_parameters=True, **options)
    sa.event.listen(engine, "connect", _on_connect)
    sa.event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself; _on_begin does
    for pragma in (
        "page_size = 8192",  # a message is 1-2 KB: larger pages waste less of themselves; before WAL, or it is ignored
        "journal_mode = WAL",
        "synchronous = FULL",  # a commit is on disk before it is acknowledged
        "foreign_keys = ON",
        "busy_timeout = 5000",  # milliseconds
    ):
        connection.execute(f"PRAGMA {pragma}")


def _on_begin(connection: sa.Connection) -> None:
    # IMMEDIATE takes the write lock at once: two writers queue, and neither fails half-way through.
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _lock(path: Path) -> IO[str]:
    """Hold the file for this process. The lock goes with the process, even after kill -9."""
    lock = open(path.with_suffix(".lock"), "a+")  # noqa: SIM115  (kept open for the life of the database)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise StoreInUseError(str(path)) from error
    return lock


def _migrate(engine: sa.Engine, path: Path) -> None:
    """Bring the file to the newest schema, after a backup of what was there."""
    with engine.connect() as connection:
        tables = sa.inspect(connection).get_table_names()
        found = (
            connection.scalar(sa.text("SELECT version_num FROM alembic_version")) if "alembic_version" in tables else None
        )
        if found == HEAD:
            return
        if found is None and tables:
            raise StoreUnavailableError(f"{path} is a database of something else; it was not used.")
        if found is not None:
            _known(found, path)
            _backup(connection, path.with_name(f"{path.stem}-before-{HEAD}.db"))
    _upgrade(engine)


def _upgrade(engine: sa.Engine) -> None:
    from alembic import command  # noqa: PLC0415  (0.4 s that only a migration pays)
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.connect().execution_options(writing=True) as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _known(revision: str, path: Path) -> None:
    if not (MIGRATIONS / "versions" / f"{revision}.py").exists():
        raise StoreUnavailableError(f"{path} was written by a newer Waymark (schema {revision}); it was left untouched.")


def _backup(connection: sa.Connection, target: Path) -> None:
    """By SQLite's own backup: a copy of the file would miss what is still in the log beside it."""
    import sqlite3  # noqa: PLC0415

    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    with sqlite3.connect(target) as copy:
        raw.backup(copy)
    copy.close()
