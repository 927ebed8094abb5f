"""The limits of wrong passwords: by name and address together, by address, and by name.

Browsers in which somebody has signed in before have their own counters, so others cannot lock their person out. A counter is
the time at which it is clear. Each try moves it on by the seconds per try.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from extensions.people.sign_in_counters import Key, Moments, SignInCounters


@dataclass(frozen=True)
class Allowance:
    """So many wrong tries at once, and another after each `seconds_per_try`."""

    tries: int
    seconds_per_try: float

    @property
    def step(self) -> timedelta:
        return timedelta(seconds=self.seconds_per_try)


BY_NAME_AND_ADDRESS = Allowance(5, 60)
BY_ADDRESS = Allowance(30, 20)
BY_NAME = Allowance(50, 60)
BY_KNOWN_BROWSER = Allowance(10, 60)


@dataclass(frozen=True)
class Counter:
    """A key for counting tries, and its allowance."""

    allowance: Allowance
    key: Key


class SignInLimits:
    """Admit tries as long as each of their counters allows another. All processes count together."""

    def __init__(self, stored: SignInCounters) -> None:
        self._stored = stored

    def take(self, counters: Sequence[Counter]) -> float:
        """Take a try and return 0; if none is left, return the seconds until the next."""
        keys = [each.key for each in counters]
        now, stored = self._stored.read(keys)
        if wait := _find_wait(counters, stored, now):
            # Strangers without a try left write nothing.
            return wait
        waits: list[float] = []

        def take_one(now: datetime, moments: Moments) -> Moments:
            waits.append(_find_wait(counters, moments, now))
            return (
                {}
                if waits[-1]
                else {each.key: max(moments.get(each.key, now), now) + each.allowance.step for each in counters}
            )

        self._stored.change(keys, take_one)
        return waits[-1]

    def give_back(self, counters: Sequence[Counter]) -> None:
        """Give a try back, because the password was right."""

        def give_one(_: datetime, moments: Moments) -> Moments:
            return {each.key: moments[each.key] - each.allowance.step for each in counters if each.key in moments}

        self._stored.change([each.key for each in counters], give_one)


def _find_wait(counters: Sequence[Counter], moments: Moments, now: datetime) -> float:
    """Return the seconds until each counter allows another try."""
    waits = (
        (moments[each.key] + each.allowance.step - now).total_seconds()
        - each.allowance.tries * each.allowance.seconds_per_try
        for each in counters
        if each.key in moments
    )
    return max(0.0, *waits, 0.0)
