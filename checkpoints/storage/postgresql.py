"""PostgreSQL: the engine, its time limits, and the claim on a database, for a single process or for several.

The driver and SQLAlchemy's dialect are imported with the first engine. With SQLite they would take a tenth of the start.
"""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from ..values import serde
from ..values.errors import StoreInUseError, StoreUnavailableError
from ..values.sentence import sentence
from .access import exempt_query

T = TypeVar("T")
POOLER_TEXT = sentence(
    "A connection pooler in transaction mode stands before PostgreSQL: connect without it, or set it to session mode."
)
MAX_CHECK_SECONDS = 2.0
# Kept open. Twice as many connect when all are busy.
POOL_SIZE = 5
# The reads of a block share a snapshot and cannot write. Writers read committed rows, and lock the row they change.
READ_OPTIONS = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
# A session setting for the policies: see row_security.
ACT_FOR_EVERYBODY = "SET waymark.everybody = 'on'"
ADVISORY_LOCK = exempt_query(sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"))
# "Waym" in ASCII. The two-number form differs from the hash of any key.
CLAIM_KEY = "1466005869, 1"
# The worker's id is the second number.
WORKER_KEY = 1466005870
# The hash of a name is the second number: see person_locks.
PERSON_KEY = 1466005871
# Between two statements of a transaction. A frozen process loses its locks before it counts as dead, see worker_rows.
MAX_PAUSE_SECONDS = 5.0
# Only transactions with `allow_long_pauses` have this limit.
MAX_LONG_PAUSE_SECONDS = 600.0
# This exceeds `work_mem`, so the server writes a megabyte to a temporary file and drops it.
_TAKE_ROOM = "SET LOCAL work_mem = '64kB'; SELECT count(*) FROM generate_series(1, 40000)"
# The server releases a killed process's lock much sooner.
_MAX_CLAIM_WAIT_SECONDS = 1


def create_engine(url: str, max_wait_seconds: int) -> sa.Engine:
    """Make an engine whose pool survives a server restart, because each connection is tested before use.

    Raises `StoreUnavailableError` for an invalid address. It does not connect yet.
    """
    try:
        options = {
            "pool_size": POOL_SIZE,
            "max_overflow": POOL_SIZE,
            "pool_timeout": max_wait_seconds,
            "pool_pre_ping": True,
        }
        made = sa.create_engine(
            url,
            json_serializer=serde.to_canonical,
            json_deserializer=serde.parse_leniently,
            hide_parameters=True,
            connect_args=build_connect_options(max_wait_seconds),
            **options,
        )
    except (sa.exc.ArgumentError, ValueError):
        # "from None": the cause would show the address with its password.
        raise StoreUnavailableError(sentence("DATABASE_URL is not the address of a PostgreSQL database.")) from None
    sa.event.listen(made, "connect", _make_session_setup(max_wait_seconds))
    return made


def check_sessions(engine: sa.Engine) -> None:
    """Refuse a pooler with another session for each transaction, since locks and notifications would be lost silently.

    Also refuse a database that cannot hold every text. Raises `StoreUnavailableError`.
    """
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        # A pooler may not report the encoding.
        if (encoding := driver.info.parameter_status("server_encoding")) not in (None, "UTF8"):
            text = sentence("The PostgreSQL database has the encoding {encoding}: Waymark needs UTF8.", encoding=encoding)
            raise StoreUnavailableError(text)
        if driver.info.backend_pid == connection.exec_driver_sql("SELECT pg_backend_pid()").scalar():
            # A pooler would report itself as the server.
            return
    if not _delivers_notifications(engine):
        raise StoreUnavailableError(POOLER_TEXT)


def _delivers_notifications(engine: sa.Engine) -> bool:
    import psycopg  # noqa: PLC0415

    _, given = engine.dialect.create_connect_args(engine.url)
    options: dict[str, Any] = {**given, "autocommit": True, "prepare_threshold": None}
    with psycopg.connect(**options) as listener, psycopg.connect(**options) as sender:
        listener.execute("LISTEN waymark_check")
        sender.execute("NOTIFY waymark_check")
        return any(listener.notifies(timeout=MAX_CHECK_SECONDS, stop_after=1))


def build_connect_options(max_wait_seconds: int) -> dict[str, Any]:
    return {
        "connect_timeout": max_wait_seconds,
        # A cut network sends no answer, not even a refusal.
        "tcp_user_timeout": max_wait_seconds * 1000,
        "application_name": "waymark",
        # Without this, the driver returns bytes for texts of a database without an encoding.
        "client_encoding": "UTF8",
    }


def allow_long_pauses(connection: sa.Connection) -> None:
    """Allow this transaction long computations between statements, for exports, imports and migrations."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL {_limit_pauses(MAX_LONG_PAUSE_SECONDS)}")


def require_room(connection: sa.Connection) -> None:
    """Fail this transaction if the disk is full. PostgreSQL can still change small rows then, but saves no message."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_TAKE_ROOM)


def _limit_pauses(seconds: float) -> str:
    return f"idle_in_transaction_session_timeout = {round(seconds * 1000)}"


class Claim:
    """A process's claim on a database: an advisory lock on a separate connection. It ends with the process.

    Servers of the same version hold shared claims. A shared claim keeps out exclusive users of the database, such as a
    migration.
    """

    def __init__(self, source: sa.Engine, *, is_shared: bool = False) -> None:
        # Its lock tells other processes that this worker lives.
        self.worker_id: int | None = None
        self._lock = sa.text(f"SELECT pg_advisory_lock{'_shared' if is_shared else ''}({CLAIM_KEY})")
        self._name = source.url.database or ""
        self._engine = sa.create_engine(
            source.url, poolclass=NullPool, connect_args={"connect_timeout": _MAX_CLAIM_WAIT_SECONDS + 1}
        )
        self._connection: sa.Connection | None = None
        self._hold_lock = threading.Lock()

    def hold(self) -> None:
        """Take the lock, or take it again after a restart of the database. Raises `StoreInUseError`."""
        with self._hold_lock:
            if self._connection is not None and self._is_alive(self._connection):
                return
            connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            try:
                connection.exec_driver_sql(f"SET lock_timeout = '{_MAX_CLAIM_WAIT_SECONDS}s'; {ACT_FOR_EVERYBODY}")
                connection.execute(self._lock)
                if self.worker_id is not None:
                    self._hold_worker_lock(connection)
            except sa.exc.OperationalError as error:
                connection.close()
                if getattr(error.orig, "sqlstate", None) == "55P03":
                    raise StoreInUseError(f"The PostgreSQL database {self._name}", "DATABASE_URL") from error
                raise
            self._connection = connection

    def name_worker(self, worker_id: int) -> None:
        """Show other processes from now on that this worker lives."""
        self.worker_id = worker_id
        self.run(self._hold_worker_lock)

    def run(self, work: Callable[[sa.Connection], T]) -> T:
        """Run statements on the claim's own connection, which never waits for other work. Each is its own transaction."""
        self.hold()
        with self._hold_lock:
            assert self._connection is not None
            return work(self._connection)

    def _hold_worker_lock(self, connection: sa.Connection) -> None:
        # Shared: after a cut, the server may keep the lock of the previous connection for a while.
        connection.exec_driver_sql(f"SELECT pg_advisory_lock_shared({WORKER_KEY}, {self.worker_id})")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._engine.dispose()

    def _is_alive(self, connection: sa.Connection) -> bool:
        try:
            connection.exec_driver_sql("SELECT 1")
        except (sa.exc.DBAPIError, sa.exc.PendingRollbackError):
            # PendingRollbackError: the connection was cut during other work.
            connection.close()
            self._connection = None
            return False
        return True


def _make_session_setup(max_wait_seconds: int) -> Callable[[Any, object], None]:
    from .sanitizing_dumper import SanitizingDumper  # noqa: PLC0415

    def set_up_session(connection: Any, _record: object) -> None:
        connection.adapters.register_dumper(str, SanitizingDumper)
        connection.autocommit = True
        connection.execute(
            f"SET lock_timeout = '{max_wait_seconds}s'; SET {_limit_pauses(MAX_PAUSE_SECONDS)}; {ACT_FOR_EVERYBODY}"
        )
        connection.autocommit = False

    return set_up_session
