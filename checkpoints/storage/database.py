"""A database: its connections, transactions and outages. sqlite.py and postgresql.py contain the specific parts."""

import errno
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from ..values.errors import ContendedError, StoreBusyError, StoreUnavailableError
from ..values.sentence import sentence
from ..values.text import pluralize
from . import high_water_mark, migrations, postgresql, schema, sqlite
from .driver_errors import LOCKED, READ_ONLY_TEXT, read_driver_sentence, translate_errors, translate_opening_errors
from .ownership import EVERYBODY, OwnedDatabase, act_for, require_writer
from .sqlite_file import SqliteFile
from .statement_limits import limit_seconds, watch_statements
from .write_queue import WriteQueue

SQLITE_PREFIX = "sqlite:///"
# For a lock or a connection. The page reports an outage within 6 seconds.
MAX_LOCK_WAIT_SECONDS = 4
_TRIES = 4
P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger(__name__)


class Database(OwnedDatabase):
    """An engine with its locked file. Close it to release the file to another process."""

    def __init__(self, engine: sa.Engine, file: SqliteFile | None = None) -> None:
        self.engine = engine
        # The versions the database must have, by thread: see high_water_mark.
        self.marked_versions: Mapping[str, int] = {}
        self._file = file
        self._exclusive: AbstractContextManager[Any] = nullcontext()
        if isinstance(engine.pool, StaticPool):
            # In memory, all threads share a connection. Without the lock, a thread would end another's transaction.
            self._exclusive = threading.RLock()
            # The engine is disposed of with the object, so nobody has to close it.
            weakref.finalize(self, engine.dispose)
        self.write_queue = WriteQueue(MAX_LOCK_WAIT_SECONDS)
        self._view = threading.local()
        self._claims: list[postgresql.Claim] = []
        # This process, if several serve the database: see checkpoints.workers.
        self.worker_id: int | None = None
        self._count_lock = threading.Lock()
        self._open_writes = 0
        # The last error texts of "read" and "write", while they fail.
        self._failures: dict[str, str] = {}
        watch_statements(engine)
        self._read_engine = engine.execution_options(**postgresql.READ_OPTIONS) if self.kind == "postgresql" else engine

    @property
    def kind(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.engine.dialect.name

    @property
    def outage(self) -> str:
        """The error text of the last read or write if it failed, otherwise empty."""
        return next(iter(tuple(self._failures.values())), "")

    @classmethod
    def in_memory(cls) -> "Database":
        """Make a database in memory, for the library without an app and for tests. It ends with the object."""
        engine = sqlite.create_engine(
            "sqlite://", MAX_LOCK_WAIT_SECONDS, poolclass=StaticPool, connect_args={"check_same_thread": False}
        )
        schema.metadata.create_all(engine)
        return cls(engine)

    @classmethod
    def open_file(cls, path: Path) -> "Database":
        """Open the SQLite file at `path`, created or migrated as needed. Raises `StoreInUseError` if another process
        has it open, and `StoreUnavailableError` if it cannot be used."""
        try:
            # An existing folder keeps its mode.
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # SQLite also writes files beside the database.
            if not sqlite.can_write_in(path.parent):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            # SQLite's log is beside the target of a symbolic link.
            path = Path(os.path.realpath(path))
            file = SqliteFile(path)
        except OSError as error:
            raise StoreUnavailableError(
                sentence("The data folder {parent} cannot be used: {strerror}.", parent=path.parent, strerror=error.strerror)
            ) from error
        # Connections never create the file: after a deletion, a new file would be empty.
        database = cls(sqlite.create_engine(sqlite.make_address(path, mode="rw"), MAX_LOCK_WAIT_SECONDS), file)
        sa.event.listen(database.engine, "do_connect", lambda *_: file.check_identity())
        with database._close_if_refused(), translate_errors():
            migrations.check_file(path)
            migrations.upgrade_schema(database.engine, path)
            file.begin_keeping()
            database._find_lost_changes(file)
        return database

    @classmethod
    def open_url(cls, url: str) -> "Database":
        """Open the database at `sqlite:///…` or `postgresql+psycopg://…`, created or migrated as needed. Raises like
        `open_file`. Several processes can open a PostgreSQL database; a server also calls `share`."""
        if url.startswith(SQLITE_PREFIX):
            return cls.open_file(Path(url.removeprefix(SQLITE_PREFIX)))
        database = cls(postgresql.create_engine(url, MAX_LOCK_WAIT_SECONDS))
        with database._close_if_refused(), translate_opening_errors():
            postgresql.check_sessions(database.engine)
            migrations.upgrade_schema(database.engine)
        return database

    def claim(self) -> None:
        """Keep other processes out, as opening a SQLite file already does. Raises `StoreInUseError`."""
        if self.kind == "postgresql":
            self._hold_claim(postgresql.Claim(self.engine))

    def share(self) -> postgresql.Claim:
        """Serve this PostgreSQL database beside other processes of the same version. Raises `StoreInUseError`."""
        return self._hold_claim(postgresql.Claim(self.engine, is_shared=True))

    def _hold_claim(self, claim: postgresql.Claim) -> postgresql.Claim:
        self._claims.append(claim)

        def hold_again(connection: Any, _record: object) -> None:
            # A restart of the database ends the claim and every connection, so each new connection checks the claim.
            try:
                claim.hold()
            except BaseException:
                connection.close()
                raise

        with translate_errors():
            claim.hold()
        sa.event.listen(self.engine, "connect", hold_again)
        return claim

    @classmethod
    def open_read_only(cls, url: str) -> "Database":
        """Open the database at `url` for reading, without its lock, beside the process that has it open. It is never
        migrated. Raises `StoreUnavailableError` if it is missing or has another schema."""
        path = Path(url.removeprefix(SQLITE_PREFIX))
        if not url.startswith(SQLITE_PREFIX):
            database, name = cls(postgresql.create_engine(url, MAX_LOCK_WAIT_SECONDS)), "The database"
        elif path.is_file():
            path = Path(os.path.realpath(path))
            with translate_errors():
                migrations.check_file(path)
            database, name = cls(sqlite.create_read_only_engine(path, MAX_LOCK_WAIT_SECONDS)), str(path)
            database.marked_versions = high_water_mark.HighWaterMark(path).read()
        else:
            raise StoreUnavailableError(sentence("There is no database at {path}.", path=path))
        with database._close_if_refused():
            with database.begin_read() as connection:
                found = migrations.read_revision(connection)
                is_usable = found is not None and migrations.is_usable(connection, found)
            if found is None:
                raise StoreUnavailableError(sentence("{name} has no tables of Waymark; it was not used.", name=name))
            if not is_usable:
                migrations.check_revision(found, name)
                raise StoreUnavailableError(
                    sentence("{name} was written by an older Waymark: start this one on it once.", name=name)
                )
        return database

    @contextmanager
    def _close_if_refused(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise

    def _find_lost_changes(self, file: SqliteFile) -> None:
        """Log acknowledged changes of an earlier process that the file has lost, and keep them in the mark."""
        with self.begin_read() as connection:
            lost = high_water_mark.find_lost_versions(connection, file.mark.read())
        file.mark.keep_lost_versions(lost)
        self.marked_versions = lost
        if lost:
            _log.warning("%s lost saved changes of %s: `verify` names them", file.path, pluralize(len(lost), "conversation"))

    def close(self) -> None:
        self.engine.dispose()
        for claim in self._claims:
            claim.close()
        if self._file is not None:
            self._file.close()

    @contextmanager
    def begin_read(self, *, seconds: float | None = None) -> Iterator[sa.Connection]:
        """Open a snapshot for reading. Nested reads of the same thread share it. With `seconds`, all statements end
        within this time. Raises `TakesTooLongError`."""
        if (outer := getattr(self._view, "connection", None)) is not None:
            self.check_enclosing(outer)
            yield outer
            return
        access = self.open_access()
        with self._exclusive, self.track_failures("read"), self._read_engine.connect() as connection:
            self._view.connection = connection.execution_options(
                threads={}, forks={}, branch_heads={}, paths={}, ends={}, newest={}, **access
            )
            try:
                with limit_seconds(connection, seconds):
                    yield connection
            finally:
                self._view.connection = None

    @contextmanager
    def begin_write(self, lock_key: str = "") -> Iterator[sa.Connection]:
        """Open a transaction for writing. At the end of the block all of it is on disk, or nothing. SQLite allows a
        single writer: see `WriteQueue`. On PostgreSQL, `thread_rows.load_thread` locks the thread's row. `lock_key` is
        locked from the beginning, to protect rows that are looked up first or do not exist yet."""
        require_writer()
        # The versions of the threads changed by the block: see thread_rows.note_version.
        versions = dict[str, int]()
        access = self.open_access()
        with self._take_turn(), self.track_failures("write"), self._connect_to_write() as connection:
            connection.execution_options(writing=True, holding=self.kind == "postgresql", versions=versions, **access)
            with ExitStack() as ended, connection.begin():
                # The write counts until its commit has ended.
                ended.enter_context(self._count_write())
                if lock_key and self.kind == "postgresql":
                    connection.execute(postgresql.ADVISORY_LOCK, {"key": lock_key})
                yield connection
            if self._file is not None:
                self._file.acknowledge(versions)

    def _take_turn(self) -> AbstractContextManager[Any]:
        """Return a context for turns among this process's writing threads, where the database itself is not fair."""
        is_file = self.kind == "sqlite" and isinstance(self._exclusive, nullcontext)
        return self.write_queue.take_turn() if is_file else self._exclusive

    @contextmanager
    def _count_write(self) -> Iterator[None]:
        with self._count_lock:
            self._open_writes += 1
        try:
            yield
        finally:
            with self._count_lock:
                self._open_writes -= 1

    def _connect_to_write(self) -> sa.Connection:
        if self._file is not None:
            self._file.check_identity()
        return self.engine.connect()

    @act_for(EVERYBODY)
    def check_health(self) -> None:
        """Raise `StoreUnavailableError` if the database cannot be used. After a failed write, only another write can
        tell."""
        if "write" in self._failures:
            with self.begin_write() as connection:
                connection.execute(sa.text("UPDATE alembic_version SET version_num = version_num"))
                postgresql.require_room(connection)
        with self.begin_read() as connection:
            if self._file is not None:
                self._file.check_identity()
            connection.execute(sa.select(schema.thread.c.id).limit(1))

    @contextmanager
    def track_failures(self, verb: str) -> Iterator[None]:
        """Record whether reading and writing work. Log the first failure of each."""
        try:
            with translate_errors():
                yield
        except StoreUnavailableError as error:
            if str(error) == LOCKED and self._open_writes:
                # Another write of this process holds the lock, so the database itself works.
                raise StoreBusyError from error
            if verb not in self._failures:
                _log.warning("the database fails to %s: %s", verb, read_driver_sentence(error))
            self._failures[verb] = str(error)
            if self._failures[verb] == READ_ONLY_TEXT and self._file is not None:
                # A connection opened on a read-only file stays read-only.
                self.engine.dispose()
            raise
        if self._failures.pop(verb, None):
            _log.warning("the database can %s again", verb)


def retry_contended(change: Callable[P, T]) -> Callable[P, T]:
    """Retry a change the database gave up for another. Nothing of it was written."""

    @wraps(change)
    def run_with_retries(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(_TRIES - 1):
            with suppress(ContendedError):
                return change(*args, **kwargs)
        return change(*args, **kwargs)

    return run_with_retries
