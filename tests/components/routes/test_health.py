"""However many pages ask how the database is, one of them looks."""

import asyncio
from typing import Any

import pytest

from checkpoints import StateError, StoreUnavailableError, TakesTooLongError
from components.routes.health import HealthCheck


class Away:
    """Services whose database takes no part; counts how often that was found out."""

    def __init__(self, error: StateError) -> None:
        self.error = error
        self.looks = 0

    async def check(self) -> None:
        self.looks += 1
        await asyncio.sleep(0)
        raise self.error


def test_all_who_ask_meanwhile_get_the_answer_to_one_look() -> None:
    away: Any = Away(StoreUnavailableError("It is away."))

    async def story() -> list[str]:
        look = HealthCheck(away)
        return [*await asyncio.gather(*(look() for _ in range(8))), await look()]

    assert asyncio.run(story()) == ["It is away."] * 9
    assert away.looks == 2


@pytest.mark.parametrize("error", [StoreUnavailableError("It is away."), TakesTooLongError()])
def test_a_database_that_is_away_or_too_slow_is_a_problem_and_no_error_of_ours(error: StateError) -> None:
    away: Any = Away(error)
    assert asyncio.run(HealthCheck(away)()) == str(error)
