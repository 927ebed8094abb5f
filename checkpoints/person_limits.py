"""Limits of a person: answers at once, tokens a day, and the room for their data.

The rows of the database are counted, so the limits hold for all processes that serve it. Storage alone is measured at most
once a minute for each person: it takes as long as reading the sizes of all their messages.
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

NOTICE_SHARE = 0.8  # of a limit, from which on the page says so
MEGABYTE = 1_000_000
_MEASURED_FOR = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class PersonLimits:
    """The limits of each person; None: there is none."""

    runs: int | None = None  # at once
    tokens_a_day: int | None = None  # days begin at midnight in UTC
    storage_bytes: int | None = None


NO_LIMITS = PersonLimits()


@dataclass(frozen=True, slots=True)
class PersonUse:
    """The use that a person has made of each limit; all of it is 0 without any limit."""

    runs: int = 0
    tokens_today: int = 0
    storage_bytes: int = 0


class LimitReachedError(StateError):
    """A person has as much as they may have; nothing was done. The text says when it goes on."""


class PersonMeter:
    """Counts the usage by the people of a database, and refuses requests beyond their limits."""

    def __init__(self, database: Database) -> None:
        self.limits = NO_LIMITS
        self._database = database
        self._measured: dict[str, tuple[datetime, int]] = {}  # the storage of owners, in bytes

    def count_use(self, owner: str, now: datetime) -> PersonUse:
        """Count the usage of an owner under each limit."""
        limits = self.limits
        if limits == NO_LIMITS:
            return PersonUse()
        with self._database.begin_read() as connection:
            tokens, runs = usage_rows.count_use(connection, owner, from_time(now))
            return PersonUse(runs, tokens, self._measure_storage(connection, owner, now) if limits.storage_bytes else 0)

    def check_start(
        self, connection: sa.Connection, person: str, owner: str, now: datetime, *, adds_run: bool = True
    ) -> None:
        """Refuse one more answer to a person, in the transaction that begins it; it takes room of the conversation's owner.

        With `adds_run`, it is one more at once. Raises `LimitReachedError`.
        """
        self.check_storage(connection, person, owner, now)
        max_runs, max_tokens = self.limits.runs if adds_run else None, self.limits.tokens_a_day
        if max_runs is None and max_tokens is None:
            return
        if max_runs is not None and connection.dialect.name == "postgresql":  # of two at once, the second one sees the first
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
        """Refuse a person a call of a model beside any answer. Raises `LimitReachedError`."""
        limit = self.limits.tokens_a_day
        if limit is not None and self.count_use(person, now).tokens_today >= limit:
            raise LimitReachedError(_describe_day(limit, now))

    @retry_contended
    def count_call(self, person: str, now: datetime, model: str, usage: Mapping[str, Any]) -> None:
        """Count a call of a model beside any answer. Raises `PersonErasedError`."""
        with self._database.begin_write() as connection:
            hold_acting_person(connection)
            usage_rows.add_call(connection, person, from_time(now), model, usage)

    def check_storage(self, connection: sa.Connection, person: str, owner: str, now: datetime) -> None:
        """Refuse a person to store more of an owner's, in the transaction that would. Raises `LimitReachedError`."""
        limit = self.limits.storage_bytes
        if limit is None or (used := self._measure_storage(connection, owner, now)) < limit:
            return
        if person != owner:  # the figures are nobody else's
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
        """Return whether little room is left to an owner, for whoever works in a conversation of theirs."""
        limit = self.limits.storage_bytes
        if limit is None:
            return False
        with self._database.begin_read() as connection:
            return self._measure_storage(connection, owner, now) >= NOTICE_SHARE * limit

    def _measure_storage(self, connection: sa.Connection, owner: str, now: datetime) -> int:
        measured = self._measured.get(owner)
        if measured is None or not timedelta() <= now - measured[0] < _MEASURED_FOR:
            with pass_checks(connection):  # a member's answer takes room of somebody else
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
