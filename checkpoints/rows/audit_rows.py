"""Rows of the audit log. A change writes its entry in its own transaction.

A request already on its way may write an entry while its person is being erased, or after. Its entry gets a
replacement for the name.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ..storage import person_locks, schema
from ..storage.ownership import LOCAL_OWNER, get_acting_owner, pass_checks
from ..values.audit_entry import ERASED_PREFIX, THE_COMMAND_LINE, AuditKind
from ..values.operation import RowChange
from . import person_rows
from .thread_rows import from_time

_entry = schema.audit_entry.c
_NO_PERSON: Final = ("", LOCAL_OWNER, THE_COMMAND_LINE)


@dataclass(frozen=True, slots=True)
class Client:
    """The person and the address of a request. Either may be unknown."""

    person: str = ""
    address: str = ""


NO_CLIENT: Final = Client()
_client: ContextVar[Client] = ContextVar("client", default=NO_CLIENT)


@contextmanager
def note_client(client: Client) -> Iterator[None]:
    """Name a client in all entries written in the block, and in tasks started there."""
    token = _client.set(client)
    try:
        yield
    finally:
        _client.reset(token)


def insert_entry(
    connection: sa.Connection,
    time: datetime,
    kind: AuditKind,
    detail: Mapping[str, Any],
    *,
    person: str | None = None,
    about: str = "",
) -> None:
    """Write an entry. Without `person`, it names the client, or else the acting owner."""
    client = _client.get()
    if person is None:
        person = client.person or get_acting_owner() or ""
    named = {each: _make_replacement() for each in {person, about} if _is_erased(connection, each)}
    who = {"person": named.get(person, person), "about": named.get(about, about)}
    values = {"time": from_time(time), "kind": kind, "detail": {**detail}, "address": "" if named else client.address}
    # Inline means without RETURNING: a writer of entries may have no right to read them.
    connection.execute(sa.insert(schema.audit_entry).values(**who, **values).inline())


def insert_settings_entries(connection: sa.Connection, time: datetime, thread_id: str, changes: Iterable[RowChange]) -> None:
    """Log each change of a conversation's settings, including changes by an undo."""
    for change in changes:
        if change.table == "thread" and "settings" in change.after:
            before, after = change.before["settings"], change.after["settings"]
            keys = sorted(key for key in {**before, **after} if before.get(key, "") != after.get(key, ""))
            insert_entry(connection, time, AuditKind.SETTINGS, {"thread": thread_id, "keys": keys})


def _is_erased(connection: sa.Connection, name: str) -> bool:
    """Return whether a person is being erased, or was. If not, no erasure begins before the transaction ends.

    A person without an account, from before accounts existed, has left some rows. Behind a proxy nobody has an
    account, and an actor after an erasure is a new person.
    """
    if name in _NO_PERSON or name.startswith(ERASED_PREFIX):
        return False
    if not person_locks.try_to_hold(connection, name):
        return True
    if not connection.get_execution_options().get("has_accounts") or person_locks.account_exists(connection, name):
        return False
    with pass_checks(connection):
        return not person_rows.is_name_in_use(connection, name)


def _make_replacement() -> str:
    return f"{ERASED_PREFIX}{secrets.token_hex(4)}"


def replace_name(connection: sa.Connection, name: str) -> str:
    """Replace a person's name in all entries, clear the addresses there, and return the replacement."""
    replacement = _make_replacement()
    own = sa.update(schema.audit_entry).where(_entry.person == name)
    connection.execute(own.values(person=replacement, address=""))
    connection.execute(sa.update(schema.audit_entry).where(_entry.about == name).values(about=replacement, address=""))
    return replacement


def delete_older(connection: sa.Connection, time: datetime) -> None:
    connection.execute(sa.delete(schema.audit_entry).where(_entry.time < from_time(time)))
