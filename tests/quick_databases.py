"""Databases of tests: each test has one of its own, and all share what is the same about them."""

import sqlite3
from typing import Any
from unittest.mock import patch

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.pool import StaticPool
from sqlalchemy.util import LRUCache

from checkpoints import Database
from checkpoints.storage import schema, sqlite
from checkpoints.storage.database import MAX_LOCK_WAIT_SECONDS

_MAX_STATEMENTS = 2_000
_statements: LRUCache[Any, Any] = LRUCache(_MAX_STATEMENTS)


def share_statements() -> None:
    """Compile a statement once a process. The dialect is a part of each key, and those of all engines are alike."""
    for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):
        dialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]
        dialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]
    sa.Engine._compiled_cache = property(lambda _: _statements, lambda *_: None)  # type: ignore[assignment]


def copy_empty_database() -> None:
    """Make each database in memory a copy of an empty one, in a tenth of the time that its tables take."""
    empty = sqlite3.connect(":memory:", check_same_thread=False)
    schema.metadata.create_all(sa.create_engine("sqlite://", poolclass=StaticPool, creator=lambda: empty))

    def copy() -> Database:
        options: dict[str, Any] = {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
        engine = sqlite.create_engine("sqlite://", MAX_LOCK_WAIT_SECONDS, **options)
        with engine.connect() as connection:
            empty.backup(connection.connection.driver_connection)
        return Database(engine)

    Database.in_memory = copy  # type: ignore[method-assign]


def replay_tables() -> None:
    """Make the tables of a file by the statements that were compiled for the first one, which takes half the time."""
    statements: list[str] = []
    engine, create_all = sa.create_engine("sqlite://"), schema.metadata.create_all
    sa.event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    create_all(engine)
    engine.dispose()
    created = [each for each in statements if each.lstrip().startswith("CREATE")]

    def create_tables(bind: sa.Engine | sa.Connection, **options: Any) -> None:
        if isinstance(bind, sa.Connection) and bind.dialect.name == "sqlite":
            for statement in created:
                bind.exec_driver_sql(statement)
        else:
            create_all(bind, **options)

    patch.object(schema.metadata, "create_all", create_tables).start()
