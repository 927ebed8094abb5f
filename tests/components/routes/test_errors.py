"""An error of the store has one status code, whichever route meets it; a callback's error stays with Dash."""

import asyncio
from pathlib import Path

import httpx
import pytest

from checkpoints import CheckpointNotFoundError, NothingToSaveError, StateError, StoreInUseError, TakesTooLongError
from checkpoints.values.errors import DamagedFileError, DamagedMessageError
from tests.running_app import opened, request_panels

ROUTES = ("export", "usage", "growth", "agents/ann", "summaries/m")
ERRORS = [
    (CheckpointNotFoundError("c"), 404),
    (DamagedMessageError("t", "m", 0), 410),
    (DamagedFileError("a.png"), 410),
    (StoreInUseError("waymark.db"), 503),
    (TakesTooLongError(), 503),
    (NothingToSaveError(), 400),
]


def raise_error(error: StateError) -> object:
    def read(*_: object, **__: object) -> object:
        raise error

    return read


@pytest.mark.parametrize(("error", "status_code"), ERRORS, ids=lambda value: type(value).__name__)
def test_every_route_answers_an_error_with_its_code_and_its_sentence(
    tmp_path: Path, error: StateError, status_code: int
) -> None:
    async def story() -> list[httpx.Response]:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            app.services.store.database.begin_read = raise_error(error)  # type: ignore[method-assign,assignment]
            paths = [*(f"/api/threads/t/{route}" for route in ROUTES), "/files/t/m/0"]
            return [await browser.get(path) for path in paths]

    for answer in asyncio.run(story()):
        assert (answer.status_code, answer.text) == (status_code, str(error))
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_an_error_of_a_callback_stays_with_the_callback(tmp_path: Path) -> None:
    async def story() -> httpx.Response:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            app.services.store.database.begin_read = raise_error(TakesTooLongError())  # type: ignore[method-assign,assignment]
            return await request_panels(browser)

    answer = asyncio.run(story())
    assert (answer.status_code, "took too long" in answer.text) == (200, True)
