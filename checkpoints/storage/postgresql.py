"""The parts for PostgreSQL: its engine, its time limits, and the claim on a database, for one process or for several.

The driver and SQLAlchemy's dialect are imported with the first engine: with SQLite they would be a tenth of the start.
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
POOL_SIZE = 5  # kept open; twice as many when all of them are busy
# The reads of a block share one snapshot, and cannot write. Writers read committed rows: they lock the row that they change.
READ_OPTIONS = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
ACT_FOR_EVERYBODY = "SET waymark.everybody = 'on'"  # of a session, for the policies: see row_security
ADVISORY_LOCK = exempt_query(sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"))
# "Waym" in ASCII. Two numbers, so that the hash of no key can equal it.
CLAIM_KEY = "1466005869, 1"
WORKER_KEY = 1466005870  # with the worker's id
PERSON_KEY = 1466005871  # with the hash of a name: see person_locks
# Between two statements of a transaction: a frozen process gives its locks back before it counts as dead, see worker_rows.
MAX_PAUSE_SECONDS = 5.0
MAX_LONG_PAUSE_SECONDS = 600.0  # see allow_long_pauses
# More than `work_mem`: the server puts a megabyte into a temporary file, and drops it.
_TAKE_ROOM = "SET LOCAL work_mem = '64kB'; SELECT count(*) FROM generate_series(1, 40000)"
_MAX_CLAIM_WAIT_SECONDS = 1  # the server ends the lock of a killed process much sooner


def create_engine(url: str, max_wait_seconds: int) -> sa.Engine:
    """Make an engine whose pool survives a restart of the server: each connection is tested before use.

    Raises `StoreUnavailableError` for an invalid address. Nothing connects yet.
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
        # "from None": the cause would show the address, which contains the password.
        raise StoreUnavailableError(sentence("DATABASE_URL is not the address of a PostgreSQL database.")) from None
    sa.event.listen(made, "connect", _make_session_setup(max_wait_seconds))
    return made


def check_sessions(engine: sa.Engine) -> None:
    """Refuse a pooler that gives each transaction another session: locks and notifications would be lost silently.

    Refuse also a database that cannot hold every text. Raises `StoreUnavailableError`.
    """
    with engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        if (encoding := driver.info.parameter_status("server_encoding")) not in (None, "UTF8"):  # a pooler may not tell
            text = sentence("The PostgreSQL database has the encoding {encoding}: Waymark needs UTF8.", encoding=encoding)
            raise StoreUnavailableError(text)
        if driver.info.backend_pid == connection.exec_driver_sql("SELECT pg_backend_pid()").scalar():
            return  # a pooler gives itself as the server
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
    """Return libpq's options of every connection."""
    return {
        "connect_timeout": max_wait_seconds,
        "tcp_user_timeout": max_wait_seconds * 1000,  # a cut network gives no answer, not even a refusal
        "application_name": "waymark",
        "client_encoding": "UTF8",  # else the driver gives bytes for the texts of a database without an encoding
    }


def allow_long_pauses(connection: sa.Connection) -> None:
    """Let this transaction compute for long between two statements, as exports, imports and migrations do."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL {_limit_pauses(MAX_LONG_PAUSE_SECONDS)}")


def require_room(connection: sa.Connection) -> None:
    """Let a full disk fail this transaction: PostgreSQL changes small rows in pages that it has, and saves no message."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_TAKE_ROOM)


def _limit_pauses(seconds: float) -> str:
    return f"idle_in_transaction_session_timeout = {round(seconds * 1000)}"


class Claim:
    """A process's claim on a database: an advisory lock on a separate connection. It ends with the process.

    A shared one keeps out who needs the database alone, such as a migration; servers of one version share it.
    """

    def __init__(self, source: sa.Engine, *, is_shared: bool = False) -> None:
        self.worker_id: int | None = None  # whose lock tells the others that its process lives
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
        """Show the other processes from now on that this worker lives."""
        self.worker_id = worker_id
        self.run(self._hold_worker_lock)

    def run(self, work: Callable[[sa.Connection], T]) -> T:
        """Run statements on the claim's own connection, which waits for no other work. Each is a transaction of its own."""
        self.hold()
        with self._hold_lock:
            assert self._connection is not None
            return work(self._connection)

    def _hold_worker_lock(self, connection: sa.Connection) -> None:
        # Shared: after a cut, the server may keep the lock of the connection before for a while.
        connection.exec_driver_sql(f"SELECT pg_advisory_lock_shared({WORKER_KEY}, {self.worker_id})")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._engine.dispose()

    def _is_alive(self, connection: sa.Connection) -> bool:
        try:
            connection.exec_driver_sql("SELECT 1")
        except (sa.exc.DBAPIError, sa.exc.PendingRollbackError):  # the second: it was cut in the middle of other work
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
