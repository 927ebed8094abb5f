"""The lock of a person: what begins for them, and what they change, holds it with others. Their erasure holds it alone.

A person with an account is also looked up, in the transaction in which something of theirs begins. A request that was on its
way when they were erased would leave it to nobody, and their name could not be given again. A person whom a proxy signs in
has no row: a request of theirs is refused while they are erased, and a later one begins as the first of a new person.

An answer begins for nobody who has just become a reader, either: nobody would stop it (see people/running_answers.py).

A change takes the lock before it locks a row. The messages of a run need none: nobody is erased who has one in progress.
"""

from typing import Final

import sqlalchemy as sa

from ..values.errors import PersonErasedError, ReadOnlyError
from . import row_security, schema
from .access import exempt_query, find_access
from .postgresql import PERSON_KEY

BEGUN_TABLES: Final = {schema.thread, schema.saved_prompt, schema.tag, schema.run}  # a row in them begins something
_LOCK = exempt_query(sa.text(f"SELECT pg_advisory_xact_lock({PERSON_KEY}, hashtext(:name))"))
_TRY_SHARED_LOCK = exempt_query(sa.text(f"SELECT pg_try_advisory_xact_lock_shared({PERSON_KEY}, hashtext(:name))"))
_LOCKED_ROLE = exempt_query(
    sa.select(schema.person.c.role).where(schema.person.c.name == sa.bindparam("held_person")).with_for_update(read=True)
)
_account_query = exempt_query(sa.select(schema.person.c.name).where(schema.person.c.name == sa.bindparam("held_person")))


def hold_acting_person(connection: sa.Connection) -> None:
    """Hold the person who acts, once in a transaction. Raises `PersonErasedError`."""
    access = find_access(connection)
    if access is not None and not access.is_held:
        hold_person(connection, access.owner, has_account=access.has_account)
        access.is_held = True


def hold_acting_writer(connection: sa.Connection) -> None:
    """Hold the person who acts, and the role of their account: it changes after the transaction, or has changed before it.

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

    Raises `PersonErasedError` while they are erased, and for somebody who should have an account and has none any more.
    SQLite has one transaction that writes at a time, and needs no lock.
    """
    if not try_to_hold(connection, name):
        raise PersonErasedError
    if has_account and not account_exists(connection, name):  # after the lock: an erasure has ended, or waits
        raise PersonErasedError


def try_to_hold(connection: sa.Connection, name: str) -> bool:
    """Keep a person from being erased until the transaction ends. Return False, without a wait, if they are erased now."""
    if connection.dialect.name != "postgresql":
        return True
    return bool(connection.execute(_TRY_SHARED_LOCK, {"name": name}).scalar_one())


def account_exists(connection: sa.Connection, name: str) -> bool:
    """Return whether there is an account of exactly this name."""
    with row_security.pass_policies(connection):
        return connection.scalar(_account_query, {"held_person": name}) is not None


def lock_person(connection: sa.Connection, name: str) -> None:
    """Let nothing begin for a person until the transaction ends. Wait for the end of what begins at this moment."""
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK, {"name": name})
