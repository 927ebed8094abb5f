"""The revisions of the schema: a database is recognised, and made, migrated or left unchanged."""

import os
import sqlite3
from pathlib import Path

import sqlalchemy as sa

from ...errors import StoreInUseError, StoreUnavailableError
from ...sentence import sentence
from .. import postgresql, schema, sqlite

FOLDER = Path(__file__).parent
_MAX_WAIT_SECONDS = 600  # for another process that makes the same revision
NEWEST_REVISION = "0023"  # the newest file in versions/; a test compares the two
_REVISION_TABLE = (  # as Alembic makes it
    "CREATE TABLE alembic_version "
    "(version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


def upgrade_schema(engine: sa.Engine, path: Path | None = None) -> None:
    """Migrate a database to the newest schema. A file (at `path`) is backed up first, a new one is made.

    Raises `StoreUnavailableError` for a database of a newer Waymark or of another program, and leaves it unchanged.
    """
    name = str(path or f"The database {engine.url.database}")
    with engine.connect() as connection:
        # In this order: if another process makes the tables in between, the revision shows it.
        tables = sa.inspect(connection).get_table_names()
        found = read_revision(connection)
        if found == NEWEST_REVISION:
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
    """Refuse a file of another program or of a newer Waymark before any connection can change a byte of it.

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


def check_revision(revision: str, name: object) -> None:
    if not (FOLDER / "versions" / f"{revision}.py").exists():
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
    """Run the migrations that the database has not seen."""
    from alembic import command  # noqa: PLC0415  (0.4 s that only a migration pays)
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    with engine.connect().execution_options(writing=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":  # of two processes that open an empty database, one makes the tables
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_MAX_WAIT_SECONDS}s'")
            connection.execute(postgresql.ADVISORY_LOCK, {"key": "migration"})
            if read_revision(connection) not in (None, NEWEST_REVISION):
                _keep_servers_out(connection)
        config.attributes.update(connection=connection, metadata=schema.metadata)
        command.upgrade(config, "head")


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
    with sqlite3.connect(target) as copy:
        raw.backup(copy)
    copy.close()
