"""Limits of statements: the number of values, and the time for a read."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from ..values.errors import StoreUnavailableError, TakesTooLongError
from .driver_errors import REFUSED

# The most values in a statement of a usual SQLite build. PostgreSQL takes twice as many, then closes the connection.
MAX_VALUES = 32_766
# Steps of SQLite's virtual machine between two reads of the clock, some tenths of a millisecond.
_STEPS = 20_000


@contextmanager
def limit_seconds(connection: sa.Connection, seconds: float | None) -> Iterator[None]:
    """End this connection's statements after so many seconds, and let no statement begin later."""
    if seconds is None:
        yield
        return
    end = time.monotonic() + seconds
    raw: Any = connection.connection.driver_connection
    connection.execution_options(until=end)
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
        yield
        return
    raw.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        yield
    finally:
        raw.set_progress_handler(None, _STEPS)


def watch_statements(engine: sa.Engine) -> None:
    sa.event.listen(engine, "before_cursor_execute", check_statement)


def check_statement(
    connection: sa.Connection, _cursor: object, _statement: str, parameters: Any, _context: object, executemany: bool
) -> None:
    """Refuse a statement with too many values, or after the time limit of its read."""
    if not executemany and len(parameters) > MAX_VALUES:
        raise StoreUnavailableError(REFUSED)
    until = connection.get_execution_options().get("until")
    if until is not None and time.monotonic() > until:
        raise TakesTooLongError
