"""The revisions of the schema: a database is recognised, and made, migrated or left unchanged.

A revision has a kind. Servers of the revision before may go on beside one that expands, and none beside one that contracts.
"""

import os
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from ...values.errors import StoreInUseError, StoreUnavailableError
from ...values.sentence import sentence
from .. import postgresql, schema, sqlite

if TYPE_CHECKING:
    from alembic.script import ScriptDirectory

FOLDER = Path(__file__).parent
MAX_WAIT_SECONDS = 600.0  # for another process that makes the same revision
LOCK_NOT_AVAILABLE = "55P03"
MAX_LOCK_SECONDS = 1.0  # that a migration beside servers waits for a lock of theirs
MAX_LOCK_TRIES = 30
_LOCK_PAUSE_SECONDS = 0.5
# Databases of the thirty-one revisions before it are refused: the last version that exports them is this commit.
FIRST_REVISION = "0032"
LAST_COMMIT_BEFORE = "b6739f2b"
# The newest file in versions/: a test compares the two.
NEWEST_REVISION = "0035"
_REVISION_TABLE = (
    "CREATE TABLE alembic_version "
    "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)) WITHOUT ROWID"
)


def upgrade_schema(engine: sa.Engine, path: Path | None = None) -> None:
    """Migrate a database to the newest schema. A file (at `path`) is backed up first, a new one is made.

    Raises `StoreUnavailableError` for a database that Waymark does not read, and leaves it unchanged.
    """
    name = str(path or f"The database {engine.url.database}")
    with engine.connect() as connection:
        # In this order: if another process makes the tables in between, the revision shows it.
        tables = sa.inspect(connection).get_table_names()
        found = read_revision(connection)
        if found is not None and is_usable(connection, found):
            return
        if found is None and tables:
            raise StoreUnavailableError(_describe_foreign(name))
        if found is not None:
            check_revision(found, name)
            if path is not None:
                _copy_before_upgrade(connection, path.with_name(f"{path.stem}-before-{NEWEST_REVISION}.db"))
    if path is not None and not tables:
        _create_newest(engine)
    else:
        run_migrations(engine)


def check_file(path: Path) -> None:
    """Refuse a file that Waymark does not read before any connection can change a byte of it.

    Raises `StoreUnavailableError`, and `sqlite3.Error` for a file that is no database.
    """
    if path.stat().st_size == 0 and not sqlite.has_log(path):
        return  # new
    tables, revision = sqlite.read_schema(path)
    if revision is None and tables:
        raise StoreUnavailableError(_describe_foreign(path))
    if revision is not None:
        check_revision(revision, path)


def _describe_foreign(name: object) -> str:
    return f"{name} is a database of something else; it was not used."


def read_revision(connection: sa.Connection) -> str | None:
    """Return the revision of the database's schema; None if it has no schema of Waymark."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return found


def is_usable(connection: sa.Connection, revision: str) -> bool:
    """Return whether this is the own revision, or a newer one beside which this version of Waymark may serve."""
    if revision <= NEWEST_REVISION or connection.dialect.name != "postgresql":
        return revision == NEWEST_REVISION
    oldest: str | None = connection.scalar(sa.text("SELECT oldest_beside FROM alembic_version"))
    return oldest is not None and oldest <= NEWEST_REVISION


def check_revision(revision: str, name: object) -> None:
    """Raise `StoreUnavailableError` for a revision from which no migration leads to the newest."""
    if revision < FIRST_REVISION:
        raise StoreUnavailableError(
            sentence(
                "{name} was written before Waymark's first release (schema {revision}) and was left untouched: export it "
                "with the last version that reads it (git checkout {commit}; python app.py export --all -o out/), and "
                "import the files here.",
                name=name,
                revision=revision,
                commit=LAST_COMMIT_BEFORE,
            )
        )
    if revision > NEWEST_REVISION:
        raise StoreUnavailableError(
            sentence(
                "{name} was written by a newer Waymark (schema {revision}); it was left untouched.",
                name=name,
                revision=revision,
            )
        )


def _create_newest(engine: sa.Engine) -> None:
    """Make the tables of the newest revision in a new file. A test compares them with those of the migrations."""
    with engine.connect().execution_options(writing=True) as connection, connection.begin():
        schema.metadata.create_all(connection)
        connection.exec_driver_sql(_REVISION_TABLE)
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (NEWEST_REVISION,))


def run_migrations(engine: sa.Engine) -> None:
    """Run the migrations that the database has not seen. Raises `StoreInUseError` where they need it alone.

    Beside servers they wait for no lock for long, since everybody else would wait behind them: they are tried again.
    """
    for number in range(1, MAX_LOCK_TRIES + 1):
        try:
            _migrate(engine)
        except sa.exc.OperationalError as error:
            if not _is_lock_timeout(error):
                raise
            if number == MAX_LOCK_TRIES:
                raise StoreUnavailableError(_describe_busy_tables(number)) from error
            time.sleep(_LOCK_PAUSE_SECONDS)
        else:
            return


def _describe_busy_tables(tries: int) -> str:
    return sentence(
        "The servers of this database keep its tables busy: the migration was tried {count} times. Start it again.",
        count=tries,
    )


def _is_lock_timeout(error: sa.exc.OperationalError) -> bool:
    return getattr(error.orig, "sqlstate", None) == LOCK_NOT_AVAILABLE


def _migrate(engine: sa.Engine) -> None:
    from alembic import command  # noqa: PLC0415  (0.4 s that only a migration pays)
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    with (
        engine.connect().execution_options(writing=True) as connection,
        _allow_rebuilds(connection),
        connection.begin(),
        _require_references(connection),
    ):
        if engine.dialect.name == "postgresql":  # of two processes that open an empty database, one makes the tables
            _take_turn(connection)
            found = read_revision(connection)
            script = ScriptDirectory.from_config(config)
            oldest = _find_oldest_beside(script)
            if found is not None and found < oldest:
                _keep_servers_out(connection)
            elif found is not None:
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {round(MAX_LOCK_SECONDS * 1000)}")
        config.attributes.update(connection=connection, metadata=schema.metadata)
        command.upgrade(config, "head")
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("UPDATE alembic_version SET oldest_beside = :oldest"), {"oldest": oldest})


@contextmanager
def _allow_rebuilds(connection: sa.Connection) -> Iterator[None]:
    """Let a migration replace a table of SQLite: to drop the old one would delete the rows that refer to it.

    SQLite takes the setting outside of transactions only.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    raw: Any = connection.connection.driver_connection
    raw.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        raw.execute("PRAGMA foreign_keys = ON")


@contextmanager
def _require_references(connection: sa.Connection) -> Iterator[None]:
    """Take a migration back if rows name rows that are gone after it: SQLite does not look for them meanwhile.

    Rows that did so before are damage, which keeps nobody out and which `verify` names. Raises `StoreUnavailableError`.
    """
    before = _count_dangling_rows(connection)
    yield
    if before is None:
        return
    lost = (_count_dangling_rows(connection) or Counter()) - before
    if lost:
        raise StoreUnavailableError(
            sentence(
                "The migration would leave rows that name missing ones ({tables}: {count:,}). It was taken back.",
                count=lost.total(),
                tables=", ".join(sorted({table for table, _ in lost})),
            )
        )


def _count_dangling_rows(connection: sa.Connection) -> Counter[tuple[str, str]] | None:
    """Count SQLite's rows that name a row which is not there, by their table and its; None where not all can be read."""
    if connection.dialect.name != "sqlite":
        return None
    try:
        found = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    except sa.exc.DatabaseError:  # a damaged page
        return None
    return Counter((table, parent) for table, _, parent, _ in found)


def _take_turn(connection: sa.Connection) -> None:
    """Wait for another process that migrates. Raises `StoreUnavailableError`: who waited so long waits no second time."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = {round(MAX_WAIT_SECONDS * 1000)}")
    postgresql.allow_long_pauses(connection)
    try:
        connection.execute(postgresql.ADVISORY_LOCK, {"key": "migration"})
    except sa.exc.OperationalError as error:
        if not _is_lock_timeout(error):
            raise
        raise StoreUnavailableError(
            sentence(
                "Another server has been migrating this database for {minutes} minutes. Start this one when it has ended.",
                minutes=round(MAX_WAIT_SECONDS / 60),
            )
        ) from error


def _find_oldest_beside(script: "ScriptDirectory") -> str:
    """Return the oldest revision whose servers may go on beside the newest: all after it expand."""
    newest_first = list(script.walk_revisions())
    return next(each.revision for each in newest_first if getattr(each.module, "kind", "") != "expand")


def _keep_servers_out(connection: sa.Connection) -> None:
    """Let no server of an earlier version serve the database while it changes. Raises `StoreInUseError`."""
    has_lock = connection.exec_driver_sql(f"SELECT pg_try_advisory_xact_lock({postgresql.CLAIM_KEY})").scalar()
    if not has_lock:
        raise StoreInUseError(f"The PostgreSQL database {connection.engine.url.database}", "DATABASE_URL")


def _copy_before_upgrade(connection: sa.Connection, target: Path) -> None:
    """Copy by SQLite's own backup: a copy of the file would miss the log beside it."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(target)) as copy:
        raw.backup(copy)
