"""The lock of a person. New work of theirs and their changes share it. Their erasure holds it exclusively.

A person with an account is also looked up in the transaction that begins something of theirs. Otherwise a request on
its way during their erasure would leave rows to nobody, and their name could not be used again. A person signed in by
a proxy has no row: their requests are refused during the erasure, and a later request begins as a new person's first.

No answer begins for a person who has just become a reader either, since nobody would stop it (see
extensions/people/running_answers.py).

A change takes the lock before it locks a row. A run's messages need no lock, because a person with a run in progress
is not erased.
"""

from typing import Final

import sqlalchemy as sa

from ..values.errors import PersonErasedError, ReadOnlyError
from . import row_security, schema
from .access import exempt_query, find_access
from .postgresql import PERSON_KEY

# A new row in these tables begins something.
BEGUN_TABLES: Final = {schema.thread, schema.saved_prompt, schema.default_instructions, schema.tag, schema.run}
_LOCK = exempt_query(sa.text(f"SELECT pg_advisory_xact_lock({PERSON_KEY}, hashtext(:name))"))
_TRY_SHARED_LOCK = exempt_query(sa.text(f"SELECT pg_try_advisory_xact_lock_shared({PERSON_KEY}, hashtext(:name))"))
_LOCKED_ROLE = exempt_query(
    sa.select(schema.person.c.role).where(schema.person.c.name == sa.bindparam("held_person")).with_for_update(read=True)
)
_account_query = exempt_query(sa.select(schema.person.c.name).where(schema.person.c.name == sa.bindparam("held_person")))


def hold_acting_person(connection: sa.Connection) -> None:
    """Hold the acting person, once per transaction. Raises `PersonErasedError`."""
    access = find_access(connection)
    if access is not None and not access.is_held:
        hold_person(connection, access.owner, has_account=access.has_account)
        access.is_held = True


def hold_acting_writer(connection: sa.Connection) -> None:
    """Hold the acting person and their account's role, which then changes only before or after this transaction.

    Raises `ReadOnlyError` for a reader, and `PersonErasedError`.
    """
    hold_acting_person(connection)
    access = find_access(connection)
    if access is None or not access.has_account:
        return
    with row_security.pass_policies(connection):
        if connection.scalar(_LOCKED_ROLE, {"held_person": access.owner}) == "reader":
            raise ReadOnlyError


def hold_person(connection: sa.Connection, name: str, *, has_account: bool) -> None:
    """Keep a person from being erased until the transaction ends. Their other transactions are not held up.

    Raises `PersonErasedError` during their erasure, and if they should have an account but no longer do. SQLite has a
    single writing transaction at a time, and needs no lock.
    """
    if not try_to_hold(connection, name):
        raise PersonErasedError
    # After the lock, an erasure has either ended or waits.
    if has_account and not account_exists(connection, name):
        raise PersonErasedError


def try_to_hold(connection: sa.Connection, name: str) -> bool:
    """Keep a person from being erased until the transaction ends. Return False at once if their erasure is in progress."""
    if connection.dialect.name != "postgresql":
        return True
    return bool(connection.execute(_TRY_SHARED_LOCK, {"name": name}).scalar_one())


def account_exists(connection: sa.Connection, name: str) -> bool:
    """Return whether there is an account of exactly this name."""
    with row_security.pass_policies(connection):
        return connection.scalar(_account_query, {"held_person": name}) is not None


def lock_person(connection: sa.Connection, name: str) -> None:
    """Prevent new work of a person until the transaction ends, after waiting for work that begins now."""
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK, {"name": name})
