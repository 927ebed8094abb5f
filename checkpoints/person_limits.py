"""Limits of a person: answers at once, tokens a day, and stored data.

Database rows are counted, so the limits hold across all processes. Only storage is measured at most once a minute for
each person, because this reads the sizes of all their messages.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from .rows import usage_rows
from .rows.thread_rows import from_time
from .storage import postgresql
from .storage.database import Database, retry_contended
from .storage.ownership import pass_checks
from .storage.person_locks import hold_acting_person
from .values.errors import StateError
from .values.sentence import sentence

# The page warns from this share of a limit on.
NOTICE_SHARE = 0.8
MEGABYTE = 1_000_000
_MEASURED_FOR = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class PersonLimits:
    """The limits of each person. None means unlimited. `runs` counts answers at once. Days begin at midnight UTC."""

    runs: int | None = None
    tokens_a_day: int | None = None
    storage_bytes: int | None = None


NO_LIMITS = PersonLimits()


@dataclass(frozen=True, slots=True)
class PersonUse:
    """A person's use of each limit. Everything is 0 without any limit."""

    runs: int = 0
    tokens_today: int = 0
    storage_bytes: int = 0


class LimitReachedError(StateError):
    """A person has reached a limit. Nothing was done. The text says when they can continue."""


class PersonMeter:
    """Counts the usage of a database's people, and refuses requests beyond their limits."""

    def __init__(self, database: Database) -> None:
        self.limits = NO_LIMITS
        self._database = database
        # The measuring times and stored bytes, by owner.
        self._measured: dict[str, tuple[datetime, int]] = {}

    def count_use(self, owner: str, now: datetime) -> PersonUse:
        limits = self.limits
        if limits == NO_LIMITS:
            return PersonUse()
        with self._database.begin_read() as connection:
            tokens, runs = usage_rows.count_use(connection, owner, from_time(now))
            return PersonUse(runs, tokens, self._measure_storage(connection, owner, now) if limits.storage_bytes else 0)

    def check_start(
        self, connection: sa.Connection, person: str, owner: str, now: datetime, *, adds_run: bool = True
    ) -> None:
        """Refuse another answer to a person, in the transaction that begins it. Its storage counts for the
        conversation's owner.

        With `adds_run`, it also counts as another answer at once. Raises `LimitReachedError`.
        """
        self.check_storage(connection, person, owner, now)
        max_runs, max_tokens = self.limits.runs if adds_run else None, self.limits.tokens_a_day
        if max_runs is None and max_tokens is None:
            return
        # Of two simultaneous requests, the second must see the first.
        if max_runs is not None and connection.dialect.name == "postgresql":
            connection.execute(postgresql.ADVISORY_LOCK, {"key": f"runs of {person}"})
        tokens, runs = usage_rows.count_use(connection, person, from_time(now))
        if max_tokens is not None and tokens >= max_tokens:
            raise LimitReachedError(_describe_day(max_tokens, now))
        if max_runs is not None and runs >= max_runs:
            raise LimitReachedError(
                sentence(
                    "You have reached your limit of {count} answers at once. Send it again when one of them has ended.",
                    count=runs,
                )
            )

    def check_call(self, person: str, now: datetime) -> None:
        """Refuse a model call outside of answers. Raises `LimitReachedError`."""
        limit = self.limits.tokens_a_day
        if limit is not None and self.count_use(person, now).tokens_today >= limit:
            raise LimitReachedError(_describe_day(limit, now))

    @retry_contended
    def count_call(self, person: str, now: datetime, model: str, usage: Mapping[str, Any]) -> None:
        """Count a model call outside of answers. Raises `PersonErasedError`."""
        with self._database.begin_write() as connection:
            hold_acting_person(connection)
            usage_rows.add_call(connection, person, from_time(now), model, usage)

    def check_storage(self, connection: sa.Connection, person: str, owner: str, now: datetime) -> None:
        """Refuse to store more for an owner, in the storing transaction. Raises `LimitReachedError`."""
        limit = self.limits.storage_bytes
        if limit is None or (used := self._measure_storage(connection, owner, now)) < limit:
            return
        # Only the owner may see the figures.
        if person != owner:
            raise LimitReachedError(
                sentence("{name}, who owns this conversation, has no room left. Ask them to make some.", name=owner)
            )
        raise LimitReachedError(
            sentence(
                "Your conversations take {used:,} MB of the {limit:,} MB that you may store. "
                "Ask who runs this Waymark for more room, or to erase some of them.",
                used=used // MEGABYTE,
                limit=limit // MEGABYTE,
            )
        )

    def is_room_short(self, owner: str, now: datetime) -> bool:
        """Return whether an owner has little room left, for anyone working in their conversations."""
        limit = self.limits.storage_bytes
        if limit is None:
            return False
        with self._database.begin_read() as connection:
            return self._measure_storage(connection, owner, now) >= NOTICE_SHARE * limit

    def _measure_storage(self, connection: sa.Connection, owner: str, now: datetime) -> int:
        measured = self._measured.get(owner)
        if measured is None or not timedelta() <= now - measured[0] < _MEASURED_FOR:
            # A member's answer takes room of the conversation's owner.
            with pass_checks(connection):
                self._measured[owner] = measured = (now, usage_rows.measure_storage(connection, owner).get(owner, 0))
        return measured[1]


def _describe_day(limit: int, now: datetime) -> str:
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    hours, minutes = divmod(math.ceil((midnight - now).total_seconds() / 60), 60)
    return sentence(
        "You have used the {limit:,} tokens that you have for a day. It goes on at 00:00 UTC, in {hours} h {minutes} min.",
        limit=limit,
        hours=hours,
        minutes=minutes,
    )
