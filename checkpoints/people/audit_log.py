"""The audit log of people's actions beside the conversations. Changes write their own entries (rows.audit_rows).

Every method acts for everybody: its caller has checked who asks.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from ..rows import audit_rows
from ..rows.thread_rows import from_time, parse_object, to_time
from ..storage import schema
from ..storage.database import retry_contended
from ..storage.ownership import EVERYBODY, act_for
from ..store import Store
from ..values.audit_entry import AuditEntry, AuditKind

DEFAULT_AUDIT_DAYS = 365
_entry = schema.audit_entry.c


class AuditLog:
    """The log in a store's database. Entries older than `days` are neither shown nor kept. None keeps all."""

    def __init__(self, store: Store, days: int | None = None) -> None:
        self._store = store
        self._days = days

    @act_for(EVERYBODY)
    @retry_contended
    def record(self, kind: AuditKind, detail: Mapping[str, Any], *, person: str | None = None, about: str = "") -> None:
        """Write an entry for an event without its own transaction, and delete expired entries."""
        with self._store.database.begin_write() as connection:
            if self._oldest is not None:
                audit_rows.delete_older(connection, self._oldest)
            audit_rows.insert_entry(connection, self._store.now(), kind, detail, person=person, about=about)

    @act_for(EVERYBODY)
    def list_entries(
        self, limit: int, *, before: int | None = None, person: str | None = None, kind: AuditKind | None = None
    ) -> list[AuditEntry]:
        """List the newest entries before a number, optionally of a person (who acted, or is concerned) and of a kind."""
        query = sa.select(schema.audit_entry)
        if self._oldest is not None:
            query = query.where(_entry.time >= from_time(self._oldest))
        if before is not None:
            query = query.where(_entry.number < before)
        if person is not None:
            query = query.where(sa.or_(_entry.person == person, _entry.about == person))
        if kind is not None:
            query = query.where(_entry.kind == kind)
        with self._store.database.begin_read() as connection:
            rows = connection.execute(query.order_by(_entry.number.desc()).limit(limit))
            return [_to_entry(row) for row in rows]

    @act_for(EVERYBODY)
    def list_people(self) -> list[str]:
        names = sa.union(*(sa.select(column).where(column != "") for column in (_entry.person, _entry.about)))
        with self._store.database.begin_read() as connection:
            return sorted(connection.scalars(names), key=str.casefold)

    @property
    def _oldest(self) -> datetime | None:
        return None if self._days is None else self._store.now() - timedelta(days=self._days)


def _to_entry(row: sa.Row[tuple[object, ...]]) -> AuditEntry:
    described = AuditKind(row.kind), row.about, parse_object(row.detail), row.address
    return AuditEntry(row.number, to_time(row.time), row.person, *described)
