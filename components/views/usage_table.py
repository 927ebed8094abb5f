"""The usage of people as JSON: tokens and costs of today, 7 and 30 days, and stored bytes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from agent.context.prices import Prices, Usage, price_tokens
from checkpoints.people.usage import USAGE_DAYS, PeopleUsage

# The periods are in days, today included.
PERIODS = (1, 7, USAGE_DAYS)


def describe_usage(found: PeopleUsage, prices: Prices) -> list[dict[str, Any]]:
    """Describe each person with their periods, the largest usage first."""
    sums: dict[str, dict[int, Usage]] = {owner: _start_sums() for owner in found.threads}
    for row in found.rows:
        usage = price_tokens(row.tokens, row.model, prices, row.answers)
        of_owner = sums.setdefault(row.owner, _start_sums())
        for days in PERIODS:
            if row.day > found.today - days:
                of_owner[days] += usage
    people = [_describe_usage_of(found, owner, periods) for owner, periods in sums.items()]
    return sorted(people, key=lambda each: (-each["periods"][-1]["input"] - each["periods"][-1]["output"], each["name"]))


def _start_sums() -> dict[int, Usage]:
    return dict.fromkeys(PERIODS, Usage())


def _describe_usage_of(found: PeopleUsage, owner: str, periods: Mapping[int, Usage]) -> dict[str, Any]:
    return {
        "name": owner,
        "conversations": found.threads.get(owner, 0),
        "storage": None if found.storage is None else found.storage.get(owner, 0),
        "periods": [{"days": days, **asdict(usage)} for days, usage in periods.items()],
    }
