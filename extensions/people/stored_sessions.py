"""Sessions, shared by all processes. A session's row refers to its person's row, and takes the role from there.

Secrets are given as hashes. Every method acts for everybody: its caller has checked who asks.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa

from checkpoints.rows.thread_rows import from_time
from checkpoints.storage import schema
from checkpoints.storage.database import retry_contended
from checkpoints.storage.ownership import EVERYBODY, act_for
from checkpoints.store import Store
from checkpoints.values.errors import StateError
from checkpoints.values.sentence import sentence

_session, _person = schema.session.c, schema.person.c
_MICROSECONDS = 1_000_000
_found = sa.select(
    *(_session.id, _session.cookie_hash, _session.page_key_hash, _session.browser, _session.signed_in_at, _session.seen_at),
    *(_session.person, _person.role),
).join_from(schema.session, schema.person)


class AccountChangedError(StateError):
    """The account's role or password has changed, or it was erased."""

    def __init__(self) -> None:
        super().__init__(sentence("This account was changed in this moment. Sign in again."))


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A signed-in browser. Times are seconds since 1970."""

    id: str
    cookie_hash: str
    page_key_hash: str
    browser: str
    signed_in_at: float
    seen_at: float
    person: str
    role: str


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """The limits of sessions in total seconds, idle seconds and number. Beyond `per_person`, the least used session ends."""

    max_seconds: float
    max_idle_seconds: float
    per_person: int
    # People signed in by a provider, not by passwords.
    are_of_provider: bool = False


class StoredSessions:
    """The open sessions in a store's database."""

    def __init__(self, store: Store, limits: SessionLimits, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._database = store.database
        self._limits = limits
        self._now = now

    @act_for(EVERYBODY)
    @retry_contended
    def begin(self, session: StoredSession, credential: str | None = None) -> list[StoredSession]:
        """Store a session, and return the sessions ended for it. A given `credential` must be the person's password hash.

        Raises `AccountChangedError`.
        """
        own = sa.and_(_person.name == session.person, _person.role == session.role)
        if credential is not None:
            own = sa.and_(own, _person.password_hash == credential)
        values = {name: getattr(session, name) for name in ("id", "cookie_hash", "page_key_hash", "person", "browser")}
        times = {name: _to_microseconds(getattr(session, name)) for name in ("signed_in_at", "seen_at")}
        with self._database.begin_write() as connection:
            # The row is locked, so the account cannot change in between.
            if connection.execute(sa.select(_person.name).where(own).with_for_update(read=True)).first() is None:
                raise AccountChangedError
            connection.execute(sa.delete(schema.session).where(sa.not_(self._is_open())))
            connection.execute(sa.insert(schema.session).values(**values, **times))
            surplus = self._select(connection, _session.person == session.person)[self._limits.per_person :]
            _delete(connection, [each.id for each in surplus])
        return surplus

    @act_for(EVERYBODY)
    def find(self, cookie_hashes: Collection[str]) -> list[StoredSession]:
        """Return the open sessions of these cookies."""
        with self._database.begin_read() as connection:
            return self._select(connection, _session.cookie_hash.in_(cookie_hashes))

    @act_for(EVERYBODY)
    def list_open(self, person: str) -> list[StoredSession]:
        """List a person's open sessions, last seen first."""
        with self._database.begin_read() as connection:
            return self._select(connection, _session.person == person)

    @act_for(EVERYBODY)
    def note_use(self, session_id: str) -> None:
        with self._database.begin_write() as connection:
            seen = sa.update(schema.session).where(_session.id == session_id).values(seen_at=from_time(self._now()))
            connection.execute(seen)

    @act_for(EVERYBODY)
    @retry_contended
    def end(self, session_ids: Collection[str]) -> list[StoredSession]:
        """End sessions, and return those that were open."""
        with self._database.begin_write() as connection:
            ended = self._select(connection, _session.id.in_(session_ids))
            _delete(connection, session_ids)
        return ended

    def _select(self, connection: sa.Connection, condition: sa.ColumnElement[bool]) -> list[StoredSession]:
        query = _found.where(condition, self._is_open(), self._is_of_this_way_in()).order_by(
            _session.seen_at.desc(), _session.id
        )
        return [_to_session(row._asdict()) for row in connection.execute(query)]

    def _is_of_this_way_in(self) -> sa.ColumnElement[bool]:
        """Leave out people of another AUTH setting, used earlier with this database."""
        if self._limits.are_of_provider:
            return sa.exists().where(schema.identity.c.person == _person.name)
        return _person.password_hash != ""

    def _is_open(self) -> sa.ColumnElement[bool]:
        now, limits = self._now(), self._limits
        return sa.and_(
            _session.signed_in_at > from_time(now - timedelta(seconds=limits.max_seconds)),
            _session.seen_at > from_time(now - timedelta(seconds=limits.max_idle_seconds)),
        )


def _delete(connection: sa.Connection, session_ids: Collection[str]) -> None:
    connection.execute(sa.delete(schema.session).where(_session.id.in_(session_ids)))


def _to_session(row: dict[str, Any]) -> StoredSession:
    times = {name: row[name] / _MICROSECONDS for name in ("signed_in_at", "seen_at")}
    return StoredSession(**{**row, **times})


def _to_microseconds(seconds: float) -> int:
    return round(seconds * _MICROSECONDS)
