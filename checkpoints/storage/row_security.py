"""PostgreSQL's row-level security, the second check behind the check of each statement (see ownership.py).

The tables' policies show a transaction only the rows of the owner named in its setting, and no rows without a setting.
Another setting marks a transaction for everybody. The policies (in the first schema revision) also bind the tables'
owner, but no superuser.
"""

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import sqlalchemy as sa

from .access import ACCESS, Access, exempt_query, find_access

_NAME_FILES: Final = exempt_query(sa.text("SELECT set_config('waymark.files', :hashes, true)"))
_PASSES_POLICIES: Final = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_log = logging.getLogger(__name__)


def separate_owners(engine: sa.Engine) -> None:
    """Make each transaction of an engine name its owner. A transaction begun without `Database` sees nothing."""
    with engine.connect() as connection:
        if connection.exec_driver_sql(_PASSES_POLICIES).scalar():
            _log.warning(
                "PostgreSQL's role %s passes row-level security, the second line between people: "
                "take a role that is no superuser",
                engine.url.username or "of this process",
            )
    sa.event.listen(engine, "connect", _act_for_nobody)
    sa.event.listen(engine, "begin", _begin_transaction)
    # Existing sessions act for everybody.
    engine.dispose()


def _act_for_nobody(connection: Any, _record: object) -> None:
    connection.autocommit = True
    connection.execute("SET waymark.everybody = ''")
    connection.autocommit = False


def _begin_transaction(connection: sa.Connection) -> None:
    """Begin a transaction and name its owner in a single message: a second message would cost a tenth of a list.

    The driver has no such call, and begins no transaction within another. Errors are left to the next statement, which
    finds the transaction or session broken, or begins a transaction without an owner.
    """
    options = connection.get_execution_options()
    if ACCESS not in options:
        return
    raw: Any = connection.connection.driver_connection
    access: Access | None = options[ACCESS]
    level = f" ISOLATION LEVEL {raw.isolation_level.name.replace('_', ' ')}" if raw.isolation_level else ""
    begin = f"BEGIN{level}{' READ ONLY' if raw.read_only else ''}; SET LOCAL waymark."
    raw.pgconn.exec_(begin.encode() + (b"everybody = 'on'" if access is None else b"owner = " + _quote(raw, access.owner)))


def _quote(raw: Any, text: str) -> bytes:
    from psycopg.pq import Escaping  # noqa: PLC0415  (not with SQLite)

    return bytes(Escaping(raw.pgconn).escape_literal(text.encode()))


def name_files(connection: sa.Connection, hashes: Iterable[str]) -> None:
    """Let later statements, until the next call, touch these files. Whoever knows a hash knows the bytes, and nobody
    lists them."""
    if connection.dialect.name == "postgresql" and find_access(connection) is not None:
        connection.execute(_NAME_FILES, {"hashes": ",".join(hashes)})


@contextmanager
def name_values(connection: sa.Connection, owner: str) -> Iterator[None]:
    """Let the block read and write state values of another owner. Afterwards, values belong to the acting owner again."""
    if connection.dialect.name != "postgresql":
        yield
        return
    raw: Any = connection.connection.driver_connection
    raw.pgconn.exec_(b"SET LOCAL waymark.values = " + _quote(raw, owner))
    try:
        yield
    finally:
        raw.pgconn.exec_(b"SET LOCAL waymark.values = ''")


@contextmanager
def pass_policies(connection: sa.Connection) -> Iterator[None]:
    """Let the block's statements, which name their owner, bypass the policies, which would look up each row's thread."""
    if connection.dialect.name != "postgresql" or find_access(connection) is None:
        yield
        return
    raw: Any = connection.connection.driver_connection
    raw.pgconn.exec_(b"SET LOCAL waymark.everybody = 'on'")
    try:
        yield
    finally:
        # After an error there is nothing left to read.
        raw.pgconn.exec_(b"SET LOCAL waymark.everybody = ''")
