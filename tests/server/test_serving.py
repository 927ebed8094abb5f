"""The process that serves: its loop waits little for the threads beside it."""

import gc
import socket
import sys
from collections.abc import Iterator

import pytest

from server import serving


@pytest.fixture(autouse=True)
def settings_of_the_process() -> Iterator[None]:
    seconds = sys.getswitchinterval()
    yield
    sys.setswitchinterval(seconds)
    gc.unfreeze()


def test_while_it_serves_no_thread_keeps_the_lock_for_the_default_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    async def record(server: serving._AnnouncingServer, sockets: list[socket.socket]) -> None:
        seen.append(sys.getswitchinterval())

    async def answer(*_: object) -> None: ...

    monkeypatch.setattr(serving._AnnouncingServer, "serve", record)
    with serving.open_listener("127.0.0.1", 0) as listener:
        serving.serve_until_signal(answer, listener, lambda: None)
    assert seen == [pytest.approx(serving.MAX_LOOP_WAIT_SECONDS)]
    assert seen[0] <= 0.001
