"""Several real processes on one PostgreSQL, of which some are killed or frozen: no answer ends with its process."""

import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from checkpoints import Database, Run, Runs, RunState, Store
from checkpoints.upkeep import verification
from tests.app_process import PATIENCE, AppProcess, read_environment
from tests.checkpoints import tables
from tests.checkpoints.tables import Tables
from tests.faults.page import PageClient
from tests.rounds import Rounds
from tests.servers import Server

pytestmark = pytest.mark.slow

LONG, TOOL = "Tell me something long", "What is 12 * (3 + 4)?"


class Fleet:
    """Servers with a page each, and a look at their database."""

    def __init__(self, folder: Path, address: str, count: int, stack: ExitStack, *arguments: str) -> None:
        self.how = {"DATABASE_URL": address, "DEMO_SECONDS_PER_TOKEN": "0.02", "TIME_TRAVEL": "off", "AUTH": "none"}
        self.how |= {"MODEL": "demo", "TITLES": "off"}
        folders = [folder / str(number) for number in range(count)]
        self.servers = [stack.enter_context(Server(each, *arguments, **self.how)) for each in folders]
        self.store = Store(Database.open_url(address))
        self.runs = Runs(self.store)
        stack.callback(self.store.database.close)

    def ask(self, server: Server, text: str) -> str:
        """Send a first message; the conversation."""
        page = PageClient(server.link)
        try:
            page.look()
            assert page.send(text)["ok"]
            assert page.thread is not None
            return page.thread
        finally:
            page.close()

    def run_of(self, thread_id: str) -> Run:
        run = self.runs.get_latest_run(thread_id)
        assert run is not None
        return run

    def texts(self, thread_id: str) -> list[tuple[str, str]]:
        return [(each.type, each.status.value) for each in self.store.list_messages(thread_id)]

    def read(self) -> Tables:
        """All rows but those that live by beating."""
        found = tables.read(self.store)
        del found["worker"]
        return found


def until(condition: Callable[[], object], seconds: float = PATIENCE) -> float:
    """Wait, and return the seconds that it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds
        time.sleep(0.02)
    return time.monotonic() - begin


@pytest.fixture
def fleet(tmp_path: Path, postgres_url: str) -> Iterator[Fleet]:
    with ExitStack() as stack:
        yield Fleet(tmp_path, postgres_url, 2, stack)


def test_another_process_goes_on_with_the_answer_of_a_killed_one(
    fleet: Fleet, record_property: Callable[[str, object], None]
) -> None:
    thread_id = fleet.ask(fleet.servers[0], LONG)
    run = fleet.run_of(thread_id)
    until(lambda: fleet.run_of(thread_id).draft.text)
    page = PageClient(fleet.servers[1].link)
    page.thread = thread_id
    with page.following() as frames:
        fleet.servers[0].kill()
        record_property("seconds", until(lambda: fleet.run_of(thread_id).attempt == 2))
        frames.wait_for(lambda _: frames.ended() is not None)
    kinds = [kind for kind in frames.kinds() if kind not in ("delta", "beat")]
    assert kinds == ["hello", "start", "message", "message", "end"]  # at the page of another process
    page.close()
    ended = fleet.run_of(thread_id)
    assert (ended.id, ended.state, ended.attempt) == (run.id, RunState.DONE, 2)
    assert fleet.texts(thread_id) == [("human", "done"), ("ai", "partial"), ("ai", "done")]


def test_a_frozen_process_that_thaws_writes_nothing(fleet: Fleet) -> None:
    frozen = fleet.servers[0]
    thread_id = fleet.ask(frozen, LONG)
    until(lambda: fleet.run_of(thread_id).draft.text)
    frozen._process.send_signal(signal.SIGSTOP)
    until(lambda: fleet.run_of(thread_id).state is RunState.DONE)
    before = fleet.read()
    frozen._process.send_signal(signal.SIGCONT)
    until(lambda: "taken by another process" in frozen.log or "another process has taken it" in frozen.log)
    page = PageClient(frozen.link)
    page.thread = thread_id
    page.look()
    page.close()
    assert fleet.read() == before


def test_a_deployment_cuts_no_answer(fleet: Fleet) -> None:
    thread_id = fleet.ask(fleet.servers[0], LONG)
    until(lambda: fleet.run_of(thread_id).draft.text)
    assert fleet.servers[0].stop() in (0, -signal.SIGTERM)
    until(lambda: fleet.run_of(thread_id).state is not RunState.RUNNING)
    assert fleet.run_of(thread_id).state is RunState.DONE


def test_a_process_without_a_page_writes_the_answers_of_one_that_only_serves_it(tmp_path: Path, postgres_url: str) -> None:
    with ExitStack() as stack:
        fleet = Fleet(tmp_path, postgres_url, 1, stack, "serve", "--web")
        thread_id = fleet.ask(fleet.servers[0], TOOL)
        assert (fleet.run_of(thread_id).worker, fleet.run_of(thread_id).attempt) == (None, 0)
        errors = tmp_path / "errors"
        worker = AppProcess(tmp_path, fleet.how | read_environment(), "work", errors=errors)
        stack.callback(worker.stdout.close)
        stack.callback(worker.kill)
        until(lambda: fleet.run_of(thread_id).state is RunState.DONE)
        assert fleet.texts(thread_id) == [("human", "done"), ("ai", "done"), ("tool", "done"), ("ai", "done")]
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(PATIENCE) == 0
        assert errors.read_text() == ""


@pytest.mark.long
def test_no_kill_loses_what_was_acknowledged_or_runs_a_tool_twice(fleet: Fleet, rounds: Rounds) -> None:
    chance, asked = random.Random(16), list[str]()
    for _ in range(rounds(500)):
        for _ in range(3):
            asked.append(fleet.ask(chance.choice(fleet.servers), chance.choice([LONG, TOOL])))
        time.sleep(chance.uniform(0, 1.5))
        killed = chance.choice(fleet.servers)
        killed.kill()
        killed.restart()
    for thread_id in asked:
        until(lambda thread_id=thread_id: fleet.run_of(thread_id).state is not RunState.RUNNING)  # type: ignore[misc]
        assert fleet.run_of(thread_id).state in (RunState.DONE, RunState.INTERRUPTED)
        assert fleet.texts(thread_id)[0] == ("human", "done")
        answers = [each.body["data"]["tool_call_id"] for each in fleet.store.list_messages(thread_id) if each.type == "tool"]
        assert len(answers) == len(set(answers)) <= 1
    assert verification.verify(fleet.store.database).damages == ()
