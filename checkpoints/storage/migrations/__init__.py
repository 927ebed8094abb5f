"""The schema over time: what a database holds is recognised, and brought up to date or left alone."""

import os
import sqlite3
from pathlib import Path

import sqlalchemy as sa

from checkpoints.errors import StoreUnavailableError
from checkpoints.storage import postgresql

FOLDER = Path(__file__).parent
NEWEST_REVISION = "0004"  # the newest file in versions/; a test holds the two together


def upgrade_schema(engine: sa.Engine, path: Path | None = None) -> None:
    """Bring a database to the newest schema: a file (at `path`) after a backup of what was there.

    Raises `StoreUnavailableError` for one of a newer Waymark or of something else, and leaves it as it was.
    """
    name = str(path or f"The database {engine.url.database}")
    with engine.connect() as connection:
        # In this order: tables that another process makes in between are known by their revision.
        tables = sa.inspect(connection).get_table_names()
        found = read_revision(connection)
        if found == NEWEST_REVISION:
            return
        if found is None and tables:
            raise StoreUnavailableError(f"{name} is a database of something else; it was not used.")
        if found is not None:
            check_revision(found, name)
            if path is not None:
                _copy_before_upgrade(connection, path.with_name(f"{path.stem}-before-{NEWEST_REVISION}.db"))
    _run_migrations(engine)


def read_revision(connection: sa.Connection) -> str | None:
    """The schema that is there; None where there is none of Waymark's."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return found


def check_revision(revision: str, name: object) -> None:
    if not (FOLDER / "versions" / f"{revision}.py").exists():
        raise StoreUnavailableError(f"{name} was written by a newer Waymark (schema {revision}); it was left untouched.")


def _run_migrations(engine: sa.Engine) -> None:
    from alembic import command  # noqa: PLC0415  (0.4 s that only a migration pays)
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    with engine.connect().execution_options(writing=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":  # of two that open an empty database at the same time, one makes the tables
            connection.execute(postgresql.ADVISORY_LOCK, {"key": "migration"})
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _copy_before_upgrade(connection: sa.Connection, target: Path) -> None:
    """By SQLite's own backup: a copy of the file would miss what is still in the log beside it."""
    raw = connection.connection.driver_connection
    assert isinstance(raw, sqlite3.Connection)
    os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    with sqlite3.connect(target) as copy:
        raw.backup(copy)
    copy.close()
