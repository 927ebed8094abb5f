"""Counters of sign-in attempts, shared by all processes. A counter is a moment: see `extensions.people.sign_in_limits`.

Names and addresses are stored as hashes, until no attempt counts any more.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from checkpoints.rows.thread_rows import from_time, to_time
from checkpoints.storage import schema
from checkpoints.storage.database import retry_contended
from checkpoints.storage.ownership import EVERYBODY, act_for
from checkpoints.store import Store

# The names and addresses a counter counts by.
Key = tuple[str, ...]
# The moment when each counter is clear.
Moments = Mapping[Key, datetime]
_counter = schema.sign_in_counter.c


class SignInCounters:
    """The counters in a store's database. Every method acts for everybody.

    All processes use the same clock, which is PostgreSQL's on PostgreSQL. Tests pass another.
    """

    def __init__(self, store: Store, clock: Callable[[], datetime] | None = None) -> None:
        self._database, self._clock = store.database, clock or (store.now if store.database.kind == "sqlite" else None)

    @act_for(EVERYBODY)
    def read(self, keys: Sequence[Key]) -> tuple[datetime, Moments]:
        """Return the time, and the counters not yet clear."""
        with self._database.begin_read() as connection:
            return self._read_clock(connection), self._select(connection, keys)

    @act_for(EVERYBODY)
    @retry_contended
    def change(self, keys: Sequence[Key], change: Callable[[datetime, Moments], Moments]) -> None:
        """Replace counters by the result of `change`. Other processes change no counter meanwhile."""
        with self._database.begin_write("sign-in counters") as connection:
            now = self._read_clock(connection)
            changed = change(now, self._select(connection, keys))
            replaced = _counter.key_hash.in_([_hash(key) for key in changed])
            old = sa.or_(replaced, _counter.clear_at <= from_time(now))
            connection.execute(sa.delete(schema.sign_in_counter).where(old))
            rows = [{"key_hash": _hash(key), "clear_at": from_time(moment)} for key, moment in changed.items()]
            if rows:
                connection.execute(sa.insert(schema.sign_in_counter), rows)

    def _read_clock(self, connection: sa.Connection) -> datetime:
        if self._clock is not None:
            return self._clock()
        now: datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        return now

    def _select(self, connection: sa.Connection, keys: Sequence[Key]) -> Moments:
        by_hash = {_hash(key): key for key in keys}
        rows = connection.execute(sa.select(schema.sign_in_counter).where(_counter.key_hash.in_(by_hash)))
        return {by_hash[row.key_hash]: to_time(row.clear_at) for row in rows}


def _hash(key: Key) -> str:
    return hashlib.sha256("\0".join(key).encode("utf-8", "replace")).hexdigest()
