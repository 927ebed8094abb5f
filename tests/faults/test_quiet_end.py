"""A server that is asked to end while pages read and an answer is written says nothing and keeps what there was."""

import signal
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.faults.page import NotAnswered, PageClient
from tests.servers import Server


@pytest.mark.slow
@pytest.mark.parametrize("asked", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_quietly_and_keeps_what_was_written(tmp_path: Path, asked: signal.Signals) -> None:
    with Server(tmp_path / "data", DEMO_SECONDS_PER_TOKEN="0.01") as server:
        page = PageClient(server.link)
        page.say("hello")
        readers = [threading.Thread(target=_read_on, args=(page.tab(),)) for _ in range(3)]
        for reader in readers:
            reader.start()
        with page.following() as frames:
            page.send("Tell me something long")
            frames.wait_for(lambda seen: any(frame["kind"] == "delta" for frame in seen))
            server.stop(asked)
        for reader in readers:
            reader.join()
        assert "Traceback" not in server.log
        assert "ERROR" not in server.log
        server.restart()
        shown = page.look()
        assert (shown["run"] or {}).get("state") == "interrupted"
        assert shown["messages"][-1]["state"] == "partial"
        page.close()


def _read_on(tab: PageClient) -> None:
    with suppress(NotAnswered, AssertionError):
        while True:
            tab.look()
