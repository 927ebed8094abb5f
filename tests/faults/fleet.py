"""Three processes that serve the page, three that write answers, and a PostgreSQL. The people are in `busy_people`."""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from starlette.requests import Request

from checkpoints import Database, Message, Run, Runs, RunState, StateError, Store
from checkpoints.rows.worker_rows import DEAD_SECONDS
from checkpoints.storage.driver_errors import translate_errors
from tests.app_process import PATIENCE
from tests.fakes.answers import Call, Say
from tests.fakes.faults import Frame, Reply
from tests.fakes.openai import FakeOpenAI
from tests.fakes.server import JSON
from tests.fakes.tavily import FakeTavily
from tests.faults.page import PageClient
from tests.postgres import Postgres
from tests.servers import Command, Server, Worker

COUNT = 3  # processes of each kind
PEOPLE = 8
TURNS = 4  # of a conversation, until its person begins another
WORDS, WORDS_BEFORE_CALL = 40, 8
SECONDS_PER_WORD = 0.05
SEARCH_SECONDS = 0.4
SEARCHED = re.compile(r"Search for (\w+)")
WORD = re.compile(r"(\d+)x(\d+)\.")  # the number of an answer, and the place in it


def find_words(text: str) -> list[tuple[int, int]]:
    return [(int(answer), int(place)) for answer, place in WORD.findall(text)]


class CountingModel(FakeOpenAI):
    """Answers in numbered words, of which no two are the same, and searches where it is asked to."""

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        last = body["messages"][-1]
        found = SEARCHED.search(json.dumps(last)) if last["role"] == "user" else None
        text = "".join(f"{number}x{place}. " for place in range(WORDS_BEFORE_CALL if found else WORDS))
        chosen = Call("web_search", {"query": found[1]}, text=text) if found else Say(text)
        return super().answer(request, body, reply or chosen, number)


@dataclass(frozen=True)
class Question:
    """A message, or a decision about a tool, that a process has acknowledged. Its run has the id of the request."""

    thread_id: str
    run_id: str
    text: str = ""  # of the message
    waited: str = ""  # the run that waited for the decision: the call that it made is shown anew


class Fleet:
    """The processes, and a look at their database."""

    def __init__(self, folder: Path, postgres: Postgres, stack: ExitStack, **settings: str) -> None:
        self.postgres = postgres
        self.asks_for_approval = "TOOLS_APPROVAL" in settings
        self._left: dict[str, str] = {}  # the last messages of runs: see note_left_messages
        self.model = stack.enter_context(CountingModel(token_delay=SECONDS_PER_WORD))
        self.search = stack.enter_context(FakeTavily(first_byte_delay=SEARCH_SECONDS))
        address = postgres.ordinary()  # row-level security binds it, as in compose.yaml
        how = {"DATABASE_URL": address, "AUTH": "none", "TIME_TRAVEL": "off", "MODEL": "openai:fake-model"}
        how |= {"OPENAI_API_KEY": "sk-fake", "OPENAI_BASE_URL": self.model.base_url}
        how |= {"TAVILY_API_KEY": "tvly-fake", "TAVILY_BASE_URL": self.search.base_url} | settings
        self.workers = [stack.enter_context(Worker(folder / f"worker-{number}", **how)) for number in range(COUNT)]
        self.servers = [
            stack.enter_context(Server(folder / f"web-{number}", "serve", "--web", **how)) for number in range(COUNT)
        ]
        self.store = Store(Database.open_url(address))
        stack.callback(self.store.database.close)
        self.runs = Runs(self.store)
        self.browsers = [PageClient(server.link) for server in self.servers]
        for browser in self.browsers:
            stack.callback(browser.close)

    @property
    def processes(self) -> list[Command]:
        return [*self.servers, *self.workers]

    def list_driven(self, process: Command) -> dict[str, int]:
        """The runs in progress of a process, and the attempt of each."""
        query = "SELECT run.id, run.attempt FROM run JOIN worker ON worker.id = run.worker WHERE run.state = 'running'"
        with self.store.database.begin_read() as connection:
            rows = connection.exec_driver_sql(f"{query} AND worker.name LIKE %(name)s", {"name": f"%:{process.pid}"})
            return {run_id: attempt for run_id, attempt in rows}  # noqa: C416  (rows are no pairs to `dict`)

    def read_runs(self, run_ids: Iterable[str]) -> list[Any]:
        """All that is stored of these runs, and of their messages."""
        given = {"run_ids": [*run_ids]}
        messages = "SELECT * FROM message WHERE run_id = ANY(%(run_ids)s) ORDER BY id"
        runs = "SELECT id, state, attempt, worker, draft, ended_at FROM run WHERE id = ANY(%(run_ids)s) ORDER BY id"
        with self.store.database.begin_read() as connection:
            return [connection.exec_driver_sql(query, given).fetchall() for query in (messages, runs)]

    def wait_for_heartbeats(self, process: Command, count: int) -> None:
        """Wait until a process has noted so often that it lives."""
        for _ in range(count):
            last = self._read_heartbeat(process)
            wait_until(lambda: self._read_heartbeat(process) != last)  # noqa: B023  (it is called at once)

    def _read_heartbeat(self, process: Command) -> Any:
        query = "SELECT heartbeat FROM worker WHERE name LIKE %(name)s"
        with self.store.database.begin_read() as connection:
            return connection.exec_driver_sql(query, {"name": f"%:{process.pid}"}).scalar_one()

    def read_heartbeats(self) -> dict[int, int]:
        """Return the last heartbeat of each process that drives runs."""
        names = [f"%:{each.pid}" for each in self.workers]
        query = "SELECT id, heartbeat FROM worker WHERE name LIKE ANY(%(names)s)"
        with translate_errors(), self.store.database.begin_read() as connection:
            return {int(row[0]): int(row[1]) for row in connection.exec_driver_sql(query, {"names": names})}

    def count_open_transactions(self, seconds: float) -> int:
        """Return the number of transactions that hold a lock and have waited so long for their process."""
        waiting = f"state = 'idle in transaction' AND clock_timestamp() - state_change > '{seconds} s'"
        query = f"SELECT count(*) FROM pg_stat_activity WHERE {waiting} AND backend_xid IS NOT NULL"
        return int(self.postgres.execute(query)[0][0])

    def find_run(self, run_id: str) -> Run | None:
        """The run; None for a moment in which the database does not answer."""
        with suppress(StateError):
            return self.runs.get_run(run_id)
        return None

    def wait_for_database(self) -> None:
        """Wait until the database can be read again."""

        def is_there() -> bool:
            with suppress(StateError):
                return self.runs.get_run("none") is None
            return False

        wait_until(is_there)

    def is_at_rest(self, run_id: str) -> bool:
        return (run := self.find_run(run_id)) is not None and run.state is not RunState.RUNNING

    def list_of_run(self, question: Question) -> list[Message]:
        """Return the messages of the run, also those that a restore has left: nothing is lost by one."""
        thread_id, last = question.thread_id, self._left.get(question.run_id)
        path = self.store.list_messages_to(thread_id, last) if last else self.store.list_messages(thread_id)
        return [each for each in path if each.run_id == question.run_id]

    def note_left_messages(self, thread_id: str) -> None:
        """Note the last messages of the runs in a conversation at rest, before a restore leaves them."""

        def note() -> bool:
            with suppress(StateError):  # the database may be killed meanwhile
                self._left |= {each.run_id: each.id for each in self.store.list_messages(thread_id) if each.run_id}
                return True
            return False

        wait_until(note)


class Takeovers(threading.Thread):
    """Measures the time from a kill until each run of the killed process goes on, or is at rest.

    `beats` is that time on the fleet's own clock: the heartbeats of the process that had most of them meanwhile. A process
    that a busy machine lets wait does not beat either. After a heartbeat that came late it takes no other for dead for some
    seconds, so its count begins anew.
    """

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(daemon=True)
        self.seconds: list[float] = []
        self.beats: list[int] = []
        self.late_beats = 0
        self._fleet = fleet
        self._pending: dict[str, tuple[int, float, Counter[int]]] = {}
        self._heartbeats: dict[int, int] = {}  # the last one of each process that drives runs
        self._counts = Counter[int]()  # of the heartbeats of each
        self._is_over = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.join(PATIENCE)

    def watch(self, driven: dict[str, int]) -> None:
        now, counts = time.monotonic(), Counter(self._counts)
        self._pending |= {run_id: (attempt, now, counts) for run_id, attempt in driven.items()}

    def begin_again(self) -> None:
        """Count anew for all runs that wait: after an outage of the database, every process is judged from its end on."""
        self.watch({run_id: attempt for run_id, (attempt, *_) in self._pending.items()})

    @property
    def is_done(self) -> bool:
        return not self._pending

    def run(self) -> None:
        while not self._is_over.wait(0.05):
            with suppress(StateError):
                self._count_heartbeats()
            for run_id, (attempt, since, before) in list(self._pending.items()):
                run = self._fleet.find_run(run_id)
                if run is None or (run.attempt == attempt and run.state is RunState.RUNNING):
                    continue
                if run.attempt > attempt:  # else it had ended before the kill
                    self.seconds.append(time.monotonic() - since)
                    self.beats.append(max((self._counts - before).values(), default=0))
                del self._pending[run_id]

    def _count_heartbeats(self) -> None:
        found = self._fleet.read_heartbeats()
        pauses = {each: beat - self._heartbeats.get(each, beat) for each, beat in found.items()}
        self._counts.update(each for each, pause in pauses.items() if pause)
        for each in [each for each, pause in pauses.items() if pause > DEAD_SECONDS * 1_000_000]:
            self.late_beats += 1
            for *_, before in list(self._pending.values()):
                before[each] = self._counts[each]
        self._heartbeats |= found


def wait_until(condition: Callable[[], object], *, pause: float = 0.02, seconds: float = PATIENCE) -> float:
    """Wait, and return the seconds that it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds
        time.sleep(pause)
    return time.monotonic() - begin
