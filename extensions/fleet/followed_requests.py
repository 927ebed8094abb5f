"""Progress and cancellation of long requests, where several processes serve the page."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from checkpoints.rows.thread_rows import from_time
from checkpoints.storage import schema
from checkpoints.storage.database import retry_contended
from checkpoints.storage.ownership import EVERYBODY, act_for
from checkpoints.store import Store
from checkpoints.values.progress import Progress

# A request unchanged for so long has lost its process.
MAX_UNCHANGED = timedelta(minutes=1)
_request = schema.long_request.c


class FollowedRequests:
    """The acting owner's requests in a store's database. Readers too may export, and follow the progress."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def note(self, request_id: str, progress: Progress | None) -> bool:
        """Store a request's progress. Return whether it was cancelled."""
        return self._put(request_id, progress=asdict(progress) if progress else None)

    def cancel(self, request_id: str) -> None:
        self._put(request_id, cancelled=True)

    def find_progress(self, request_id: str) -> Progress | None:
        """Return the last stored progress, or None for an unknown or ended request."""
        with self._store.database.begin_read() as connection:
            query = sa.select(_request.progress).where(self._is_own(request_id), _request.changed_at > self._find_oldest())
            found = connection.scalar(query)
        return _parse(found) if found else None

    @retry_contended
    def forget(self, request_id: str) -> None:
        own = self._is_own(request_id)
        with act_for(EVERYBODY), self._store.database.begin_write() as connection:
            connection.execute(sa.delete(schema.long_request).where(own))

    @retry_contended
    def _put(self, request_id: str, **values: object) -> bool:
        """Update or insert a request's row. Return whether it is cancelled."""
        own, oldest = self._is_own(request_id), self._find_oldest()
        key = {"owner": self._store.database.name_owner(), "id": request_id}
        values["changed_at"] = from_time(self._store.now())
        with act_for(EVERYBODY), self._store.database.begin_write("long requests") as connection:
            connection.execute(sa.delete(schema.long_request).where(_request.changed_at <= oldest))
            if not connection.execute(sa.update(schema.long_request).where(own).values(**values)).rowcount:
                connection.execute(sa.insert(schema.long_request).values(**key, **values))
            return bool(connection.scalar(sa.select(_request.cancelled).where(own)))

    def _is_own(self, request_id: str) -> sa.ColumnElement[bool]:
        return sa.and_(_request.owner == self._store.database.name_owner(), _request.id == request_id)

    def _find_oldest(self) -> int:
        return from_time(self._store.now() - MAX_UNCHANGED)


def _parse(stored: Mapping[str, Any]) -> Progress:
    detail = stored["detail"]
    return Progress(**{**stored, "detail": _parse(detail) if detail else None})
