"""However many pages ask how the database is, one of them looks."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import httpx
from fastapi import FastAPI

from checkpoints import StoreUnavailableError
from components import trouble
from components.services import Services


class Held:
    """A database whose check takes until it is let go."""

    kind = "sqlite"

    def __init__(self) -> None:
        self.looks = 0
        self.let_go = threading.Event()

    def check(self) -> None:
        self.looks += 1
        self.let_go.wait(10)
        raise StoreUnavailableError("It is away.")


def test_all_who_ask_meanwhile_get_the_answer_to_one_look() -> None:
    async def story(database: Any, pool: ThreadPoolExecutor) -> list[httpx.Response]:
        parts: dict[str, Any] = dict.fromkeys(("runs", "runner", "hub"), None)
        server = FastAPI()
        services = Services(SimpleNamespace(database=database), pool=pool, model="", demo=None, **parts)  # type: ignore[arg-type]
        trouble.add_route(server, services)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(server), base_url="http://test") as browser:
            asked = [asyncio.create_task(browser.get("/healthz")) for _ in range(8)]
            while not database.looks:
                await asyncio.sleep(0)
            database.let_go.set()
            return await asyncio.gather(*asked)

    database = Held()
    with ThreadPoolExecutor(8) as pool:
        answers = asyncio.run(story(database, pool))
    assert {(answer.status_code, answer.json()["store"]) for answer in answers} == {(503, "It is away.")}
    assert database.looks == 1
