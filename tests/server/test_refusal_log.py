"""The log of refused requests: enough to see them, never enough to fill the disk, and no secret in it."""

from collections.abc import Callable
from typing import Any

import pytest

from server.bounded_log import MAX_LINES
from server.guard import Guard
from server.refusal_log import RefusalLog
from tests.server.test_guard import HOST, Entrance


class Windows:
    """The windows of a log, each of which ends when a test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.refusals = RefusalLog(lambda _, function: self.waiting.append(function))

    def end(self) -> None:
        self.waiting.pop()()


@pytest.fixture
def windows() -> Windows:
    return Windows()


@pytest.fixture
def entrance(windows: Windows) -> Entrance:
    class Logging(Entrance):
        def guard(self) -> Guard:
            guard = super().guard()
            guard._refusals = windows.refusals
            return guard

    return Logging()


def test_a_refused_request_is_logged_without_its_query(entrance: Entrance, caplog: pytest.LogCaptureFixture) -> None:
    entrance.knock("/t/1\n?token=hidden", "POST", origin="http://evil.example")
    [line] = caplog.messages
    assert line == (
        f"refused from an unknown address: POST /t/1%0A: 403 Forbidden (Host {HOST!r}, Origin 'http://evil.example')"
    )


def test_many_refusals_are_few_lines_and_one_that_counts_the_rest(
    entrance: Entrance, windows: Windows, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(1000):
        entrance.knock("/", host="evil.example")
    assert len(caplog.messages) == MAX_LINES
    windows.end()
    assert caplog.messages[MAX_LINES:] == [f"refused {1000 - MAX_LINES} more requests within 60 seconds"]


def test_the_next_window_begins_with_the_next_refusal(
    entrance: Entrance, windows: Windows, caplog: pytest.LogCaptureFixture
) -> None:
    entrance.knock("/", host="evil.example")
    windows.end()
    assert (len(caplog.messages), windows.waiting) == (1, [])
    entrance.knock("/", host="evil.example")
    assert (len(caplog.messages), len(windows.waiting)) == (2, 1)


@pytest.mark.parametrize("headers", [{}, {"origin": f"http://{HOST}"}])
def test_a_request_that_is_let_in_is_not_logged(
    headers: dict[str, Any], entrance: Entrance, caplog: pytest.LogCaptureFixture
) -> None:
    entrance.knock("/", **headers)
    entrance.knock("/nothing", **headers)
    assert caplog.messages == []
