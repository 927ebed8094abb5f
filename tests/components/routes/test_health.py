"""However many pages ask how the database is, one of them looks."""

import asyncio
from typing import Any

from checkpoints import StoreUnavailableError
from components.routes.health import HealthCheck


class Away:
    """Services whose database takes no part; counts how often that was found out."""

    def __init__(self) -> None:
        self.looks = 0

    async def check(self) -> None:
        self.looks += 1
        await asyncio.sleep(0)
        raise StoreUnavailableError("It is away.")


def test_all_who_ask_meanwhile_get_the_answer_to_one_look() -> None:
    away: Any = Away()

    async def story() -> list[str]:
        look = HealthCheck(away)
        return [*await asyncio.gather(*(look() for _ in range(8))), await look()]

    assert asyncio.run(story()) == ["It is away."] * 9
    assert away.looks == 2
