"""The statements that a database is sent, for tests that count them instead of the time."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from checkpoints import Database


@contextmanager
def record_statements(database: Database) -> Iterator[list[str]]:
    statements: list[str] = []

    def note(_: object, __: object, statement: str, *___: object) -> None:
        statements.append(statement)

    sa.event.listen(database.engine, "before_cursor_execute", note)
    yield statements
    sa.event.remove(database.engine, "before_cursor_execute", note)
