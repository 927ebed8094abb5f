"""Uploaded files not yet used by an action, where several processes serve the page."""

from datetime import timedelta

import sqlalchemy as sa

from checkpoints.rows.thread_rows import from_time
from checkpoints.storage import person_locks, schema
from checkpoints.storage.database import retry_contended
from checkpoints.storage.ownership import EVERYBODY, act_for
from checkpoints.store import Store
from checkpoints.values.upload_room import KeptFile, choose_surplus

_upload = schema.upload.c


class KeptUploads:
    """The acting owner's uploads in a store's database, limited by bytes, count and age.

    New uploads displace the oldest uploads of the owner with the most room in use.
    """

    def __init__(self, store: Store, *, max_bytes: int, max_count: int, max_seconds: float) -> None:
        self._store = store
        self._max_bytes, self._max_count, self._max_seconds = max_bytes, max_count, max_seconds

    @retry_contended
    def keep(self, upload_id: str, data: bytes | bytearray) -> None:
        owner, now = self._store.database.name_owner(), from_time(self._store.now())
        row = {"id": upload_id, "owner": owner, "size": len(data), "bytes": bytes(data), "created_at": now}
        with act_for(EVERYBODY), self._store.database.begin_write("uploads") as connection:
            person_locks.hold_person(connection, owner, has_account=self._store.database.has_accounts)
            self._make_room(connection, KeptFile(upload_id, owner, len(data)))
            connection.execute(sa.insert(schema.upload).values(row))

    def find(self, upload_id: str) -> bytes | None:
        """Return a file, or None if it is not kept or belongs to another owner."""
        own = sa.and_(_upload.owner == self._store.database.name_owner(), _upload.id == upload_id)
        with self._store.database.begin_read() as connection:
            found = connection.scalar(sa.select(_upload.bytes).where(own, _upload.created_at > self._find_oldest()))
        return None if found is None else bytes(found)

    @retry_contended
    def forget(self, upload_id: str) -> None:
        """Drop a file of the acting owner."""
        own = sa.and_(_upload.owner == self._store.database.name_owner(), _upload.id == upload_id)
        with self._store.database.begin_write() as connection:
            connection.execute(sa.delete(schema.upload).where(own))

    def _make_room(self, connection: sa.Connection, new: KeptFile) -> None:
        """Drop expired uploads, and those beyond the limits."""
        connection.execute(sa.delete(schema.upload).where(_upload.created_at <= self._find_oldest()))
        oldest_first = sa.select(_upload.id, _upload.owner, _upload.size).order_by(_upload.created_at, _upload.id.desc())
        kept = [KeptFile(*row) for row in connection.execute(oldest_first)]
        dropped = choose_surplus(kept, new, max_bytes=self._max_bytes, max_count=self._max_count)
        connection.execute(sa.delete(schema.upload).where(_upload.id.in_(dropped)))

    def _find_oldest(self) -> int:
        return from_time(self._store.now() - timedelta(seconds=self._max_seconds))
