"""What is tried each second tells the log of an outage once, and of each other failure."""

import asyncio
import logging

import pytest

from agent.run.attempts import Attempts
from checkpoints import StoreUnavailableError

AWAY = StoreUnavailableError("The database server does not answer.")
FULL = StoreUnavailableError("The disk is full: nothing can be saved.")


async def end(error: BaseException | None) -> None:
    if error is not None:
        raise error


def fail_with(caplog: pytest.LogCaptureFixture, *errors: BaseException | None) -> list[str]:
    async def story() -> None:
        attempts = Attempts(logging.getLogger("attempts"))
        for error in errors:
            assert await attempts.do(end(error), "nothing was done") == (error is None)

    asyncio.run(story())
    return [record.message.removeprefix("nothing was done: ").partition(" at ")[0] for record in caplog.records]


def test_an_outage_is_logged_once_until_it_is_another_or_has_ended(caplog: pytest.LogCaptureFixture) -> None:
    assert fail_with(caplog, AWAY, AWAY, FULL, FULL, None, FULL) == [str(AWAY), str(FULL), str(FULL)]


def test_every_other_failure_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    errors = (ValueError("a secret"), ValueError("a secret"), asyncio.CancelledError())
    assert fail_with(caplog, *errors) == ["ValueError", "ValueError", "CancelledError"]
