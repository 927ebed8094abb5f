"""A database that takes no part for a while: nothing is lost, the page is told, and it goes on without a restart."""

import resource
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.page import PageClient
from tests.postgres import Postgres
from tests.servers import Server

pytestmark = pytest.mark.slow

FULL = "The disk is full: nothing can be saved."
LOCKED = "The database is locked by another program."
AWAY = "The database server does not answer."


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "data", DEMO_SECONDS_PER_TOKEN="0") as server:
        yield server
        assert "Traceback" not in server.log


@pytest.fixture
def page(server: Server) -> Iterator[PageClient]:
    page = PageClient(server.link)
    page.say("what is 2+2?")
    yield page
    page.close()


@pytest.fixture
def postgres_server(tmp_path: Path, postgres_url: str) -> Iterator[Server]:
    with Server(tmp_path / "data", DATABASE_URL=postgres_url, DEMO_SECONDS_PER_TOKEN="0.01") as server:
        yield server
        assert "Traceback" not in server.log


@contextmanager
def full_disk(server: Server) -> Iterator[None]:
    """No file can be written: what a full disk says, but for this process alone, and until the end of the block."""
    before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    yield
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, before)


@contextmanager
def locked(tmp_path: Path) -> Iterator[None]:
    """Another program writes to the file and takes its time."""
    other = sqlite3.connect(tmp_path / "data" / "waymark.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    yield
    other.execute("ROLLBACK")
    other.close()


@contextmanager
def away(postgres: Postgres) -> Iterator[None]:
    postgres.stop()
    try:
        yield
    finally:
        postgres.start()


def until_logged(server: Server, text: str) -> None:
    end = time.monotonic() + 60
    while text not in server.log:
        assert time.monotonic() < end, server.log
        time.sleep(0.05)


def health(page: PageClient) -> tuple[int, Any]:
    answer = page.get("/healthz")
    return answer.status_code, answer.json()


def sent_again(page: PageClient, text: str, request_id: str) -> None:
    """The same wish once more, as "Try again" makes it: it is carried out once."""
    assert page.send(text, request_id=request_id)["ok"]
    shown = page.rest()
    assert [message["text"] for message in shown["messages"] if message["role"] == "user"].count(text) == 1
    assert page.trouble is None


def test_a_full_disk_is_said_and_what_was_typed_is_sent_when_there_is_room(server: Server, page: PageClient) -> None:
    request_id = str(uuid.uuid4())
    with full_disk(server):
        reply = page.send("are you there?", request_id=request_id)
        assert (reply["ok"], reply["text"], page.trouble) == (False, FULL, FULL)
        assert health(page) == (503, {"status": "degraded", "store": FULL})  # although reading goes on
        assert page.texts()[0] == "what is 2+2?"
        assert page.trouble == FULL
    assert health(page) == (200, {"status": "ok", "store": "sqlite"})
    sent_again(page, "are you there?", request_id)


def test_a_database_that_is_locked_for_a_second_is_waited_for(page: PageClient, tmp_path: Path) -> None:
    is_locked, may_end = threading.Event(), threading.Event()

    def other_program() -> None:
        with locked(tmp_path):
            is_locked.set()
            may_end.wait()
            time.sleep(1)  # of the four that are waited: the machine may be busy

    other = threading.Thread(target=other_program)
    other.start()
    is_locked.wait()
    may_end.set()
    assert page.send("are you there?")["ok"]
    other.join()
    assert page.trouble is None
    page.rest()


def test_a_database_that_is_locked_for_longer_is_said_and_recovers(page: PageClient, tmp_path: Path) -> None:
    request_id = str(uuid.uuid4())
    with locked(tmp_path):
        reply = page.send("are you there?", request_id=request_id)
        assert (reply["ok"], reply["text"], page.trouble) == (False, LOCKED, LOCKED)
        assert page.texts()[0] == "what is 2+2?"
    assert health(page) == (200, {"status": "ok", "store": "sqlite"})
    sent_again(page, "are you there?", request_id)


def test_a_save_that_the_database_refuses_is_said_as_well(server: Server, page: PageClient) -> None:
    request_id = str(uuid.uuid4())
    page.look()
    with full_disk(server):
        page.save("Kept", request_id=request_id)
        assert page.trouble == FULL
    page.save("Kept", request_id=request_id)
    assert [checkpoint["name"] for checkpoint in page.checkpoints()] == ["Kept"]


def test_postgresql_is_restarted_and_the_server_goes_on(postgres_server: Server, postgres: Postgres) -> None:
    page, request_id = PageClient(postgres_server.link), str(uuid.uuid4())
    page.say("what is 2+2?")
    with away(postgres):
        reply = page.send("are you there?", request_id=request_id)
        assert (reply["ok"], reply["text"], page.trouble) == (False, AWAY, AWAY)
        assert health(page) == (503, {"status": "degraded", "store": AWAY})
    assert health(page) == (200, {"status": "ok", "store": "postgresql"})
    sent_again(page, "are you there?", request_id)
    page.close()


def test_an_answer_during_which_postgresql_is_restarted_goes_on(postgres_server: Server, postgres: Postgres) -> None:
    page = PageClient(postgres_server.link)
    page.look()
    assert page.send("Tell me something long")["ok"]
    with away(postgres):
        assert health(page)[0] == 503
        until_logged(postgres_server, "failed in the answer")
    assert health(page)[0] == 200
    page.act("trouble", "recovered")  # as the banner does when it goes
    shown = page.rest()
    assert shown["run"] is None  # it has ended
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]
    assert shown["messages"][-1]["text"].endswith("Tell me something long")
    page.say("what is 2+2?")
    assert "4" in page.texts()[-1]
    page.close()
