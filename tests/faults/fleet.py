"""Three processes that serve the page, three that write answers, a PostgreSQL, and people who keep all of them busy."""

import json
import random
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Self

import httpx
from starlette.requests import Request

from agent.tools.decisions import STOPPED_TEXT
from checkpoints import Database, Message, Run, Runs, RunState, StateError, Store
from checkpoints.upkeep import verification
from tests.app_process import PATIENCE
from tests.fakes.answers import Call, Say
from tests.fakes.faults import Frame, Reply
from tests.fakes.openai import FakeOpenAI
from tests.fakes.server import JSON
from tests.fakes.tavily import FakeTavily
from tests.faults.page import NotAnswered, PageClient
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
    """A message that a process has acknowledged. The run that answers it has the id of the request."""

    thread_id: str
    run_id: str
    text: str


class Fleet:
    """The processes, and a look at their database."""

    def __init__(self, folder: Path, postgres: Postgres, stack: ExitStack) -> None:
        self.postgres = postgres
        self.model = stack.enter_context(CountingModel(token_delay=SECONDS_PER_WORD))
        self.search = stack.enter_context(FakeTavily(first_byte_delay=SEARCH_SECONDS))
        address = postgres.ordinary()  # row-level security binds it, as in compose.yaml
        how = {"DATABASE_URL": address, "AUTH": "none", "TIME_TRAVEL": "off", "MODEL": "openai:fake-model"}
        how |= {"OPENAI_API_KEY": "sk-fake", "OPENAI_BASE_URL": self.model.base_url}
        how |= {"TAVILY_API_KEY": "tvly-fake", "TAVILY_BASE_URL": self.search.base_url}
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
        return [each for each in self.store.list_messages(question.thread_id) if each.run_id == question.run_id]


class Takeovers(threading.Thread):
    """Measures the time from a kill until each run of the killed process goes on, or is at rest."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(daemon=True)
        self.seconds: list[float] = []
        self._fleet = fleet
        self._pending: dict[str, tuple[int, float]] = {}
        self._is_over = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self.join(PATIENCE)

    def watch(self, driven: dict[str, int]) -> None:
        now = time.monotonic()
        self._pending |= {run_id: (attempt, now) for run_id, attempt in driven.items()}

    @property
    def is_done(self) -> bool:
        return not self._pending

    def run(self) -> None:
        while not self._is_over.wait(0.05):
            for run_id, (attempt, since) in list(self._pending.items()):
                run = self._fleet.find_run(run_id)
                if run is None or (run.attempt == attempt and run.state is RunState.RUNNING):
                    continue
                if run.attempt > attempt:  # else it had ended before the kill
                    self.seconds.append(time.monotonic() - since)
                del self._pending[run_id]


@dataclass
class People:
    """People who ask one question after the other, each at whatever server answers, until the block ends."""

    fleet: Fleet
    chance: random.Random
    asked: list[Question] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)  # what a page was told instead
    outages: int = 0  # of the database: an answer may fail in one, and never without
    _open: dict[int, Question] = field(default_factory=dict)  # the last one of each person
    _threads: list[threading.Thread] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        for number in range(PEOPLE):
            chance = random.Random(self.chance.random())
            self._threads.append(threading.Thread(target=self._live, args=(number, chance), daemon=True))
            self._threads[-1].start()
        wait_until(lambda: len(self._open) == PEOPLE)
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until everybody has the answer to their last question."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def choose(self, chance: random.Random) -> Question:
        """One of the questions that were asked last."""
        return chance.choice([*self._open.values()])

    def _live(self, number: int, chance: random.Random) -> None:
        pages = [browser.tab() for browser in self.fleet.browsers]
        turns = 0
        while not self._is_over.is_set():
            thread_id = self._open[number].thread_id if turns % TURNS else None
            question = self._ask(pages, thread_id, self._write(number, turns, chance), chance)
            self._open[number] = question
            self.asked.append(question)
            wait_until(partial(self.fleet.is_at_rest, question.run_id), pause=0.2)
            turns += 1
        for page in pages:
            page.close()

    def _write(self, number: int, turn: int, chance: random.Random) -> str:
        return f"Search for q{number}t{turn}" if chance.random() < 0.4 else f"Go on, {number}.{turn}"

    def _ask(self, pages: list[PageClient], thread_id: str | None, text: str, chance: random.Random) -> Question:
        """Send until a server acknowledges, as a page does: the same request, at any server."""
        request_id, end = str(uuid.uuid4()), time.monotonic() + PATIENCE
        while time.monotonic() < end:
            page = chance.choice(pages)
            page.thread = thread_id
            with suppress(NotAnswered, httpx.HTTPError):
                page.look()
                reply = page.send(text, request_id=request_id)
                if reply["ok"] and page.thread is not None:
                    return Question(page.thread, request_id, text)
                self.refusals[str(reply.get("text"))] += 1
            time.sleep(0.05)
        raise AssertionError(f"no server has acknowledged “{text}”: {self.refusals}")


def wait_until(condition: Callable[[], object], *, pause: float = 0.02, seconds: float = PATIENCE) -> float:
    """Wait, and return the seconds that it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < seconds
        time.sleep(pause)
    return time.monotonic() - begin


def expect_whole(fleet: Fleet, people: People, allowed: Collection[RunState]) -> Counter[RunState]:
    """Every acknowledged question is there once and is answered, no tool ran twice, and the database is whole."""
    states: Counter[RunState] = Counter()
    for question in people.asked:
        run = fleet.runs.get_run(question.run_id)
        assert run is not None, question
        states[run.state] += 1
        path = fleet.store.list_messages(question.thread_id)
        assert [each.body["data"]["content"] for each in path].count(question.text) == 1
        results = [each.body["data"]["tool_call_id"] for each in path if each.type == "tool"]
        assert len(results) == len(set(results))
        if run.state is RunState.DONE:
            answer = [place for _, place in find_words(read_text(fleet.list_of_run(question)[-1]))]
            assert answer == list(range(WORDS)), question
    searched = Counter(request["query"] for request in fleet.search.requests)
    assert [query for query, count in searched.items() if count > 1] == []
    frozen = sum(each.log.count("this one was frozen") for each in fleet.processes)  # by a busy machine: its tools are lost
    late = {RunState.INTERRUPTED} if states[RunState.INTERRUPTED] <= frozen else set()
    assert states.keys() <= {*allowed, *late}, (states, [each.log[-6000:] for each in fleet.processes])
    assert states[RunState.FAILED] <= people.outages * PEOPLE, states
    lost = [each for each in searched_results(fleet, people) if each == STOPPED_TEXT]
    assert not lost or RunState.INTERRUPTED in states, "a tool was cut off, and its answer went on"
    assert verification.verify(fleet.store.database).damages == ()
    return states


def searched_results(fleet: Fleet, people: People) -> list[str]:
    """The results of all tools."""
    paths = (fleet.list_of_run(question) for question in people.asked)
    return [read_text(each) for path in paths for each in path if each.type == "tool"]


def read_text(message: Message) -> str:
    return str(message.langchain.text)
