"""The rows of the audit log. A change writes its entry in its own transaction."""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from ..storage import schema
from ..storage.ownership import get_acting_owner
from ..values.audit_entry import ERASED_PREFIX, AuditKind
from .thread_rows import from_time

_entry = schema.audit_entry.c


@dataclass(frozen=True, slots=True)
class Client:
    """The person and the address of a request; both may be unknown."""

    person: str = ""
    address: str = ""


NO_CLIENT: Final = Client()
_client: ContextVar[Client] = ContextVar("client", default=NO_CLIENT)


@contextmanager
def note_client(client: Client) -> Iterator[None]:
    """Let the entries of the block, and of the tasks that it starts, name a client."""
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
    """Write an entry; without a `person`, of the client, or of the owner who acts."""
    client = _client.get()
    if person is None:
        person = client.person or get_acting_owner() or ""
    values = {"time": from_time(time), "person": person, "kind": kind, "about": about, "detail": {**detail}}
    # Inline: without RETURNING, because who writes an entry may read none.
    connection.execute(sa.insert(schema.audit_entry).values(**values, address=client.address).inline())


def replace_name(connection: sa.Connection, name: str) -> str:
    """Replace the name of a person in all entries, take the addresses out of these, and return the replacement."""
    replacement = f"{ERASED_PREFIX}{secrets.token_hex(4)}"
    own = sa.update(schema.audit_entry).where(_entry.person == name)
    connection.execute(own.values(person=replacement, address=""))
    connection.execute(sa.update(schema.audit_entry).where(_entry.about == name).values(about=replacement, address=""))
    return replacement


def delete_older(connection: sa.Connection, time: datetime) -> None:
    connection.execute(sa.delete(schema.audit_entry).where(_entry.time < from_time(time)))
