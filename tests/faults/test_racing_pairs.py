"""Two clients of one database want something at the same moment: it is as if one had come after the other.

The oracle is the plain model: of the two orders there must be one in which it accepts, refuses and ends as the store did.
So what was accepted is present exactly once, what was refused is absent, and nothing is lost.
"""

import copy
import multiprocessing
import random
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, permutations
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import pytest
import sqlalchemy as sa

from checkpoints import Caller, Database, StateError, Store
from checkpoints.rows import thread_rows
from tests.checkpoints.model import Conversation, Said
from tests.checkpoints.tables import Tables, View, equal
from tests.conftest import Clock
from tests.rounds import Rounds

pytestmark = pytest.mark.slow

Outcome = tuple[str, int | str]  # ("done", version), ("repeated", version) or ("refused", the error's name)
PAIRS_A_THREAD = 8
TIME = thread_rows.from_time(Clock().time)


@dataclass(frozen=True)
class Wish:
    """What a client asks of the store, in the model's words."""

    verb: str
    given: dict[str, Any]
    caller: Caller


@dataclass(frozen=True)
class Call:
    """The same in the store's words; can be sent to another process."""

    verb: str
    thread_id: str
    given: dict[str, Any]
    caller: Caller

    def carry_out(self, store: Store) -> Outcome:
        try:
            receipt = getattr(store, self.verb)(self.thread_id, **self.given, caller=self.caller)
        except StateError as error:
            return "refused", type(error).__name__
        return "repeated" if receipt.repeated else "done", receipt.version


class Clients(Protocol):
    """Two clients that begin at the same moment."""

    def together(self, one: Call, other: Call) -> list[Outcome]: ...


class Threads(Clients):
    """Of one process and one store, as SQLite allows no other."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(2)
        self._start = threading.Barrier(2)

    def together(self, one: Call, other: Call) -> list[Outcome]:
        return list(self._pool.map(self._carry_out, (one, other)))

    def _carry_out(self, call: Call) -> Outcome:
        self._start.wait(60)
        return call.carry_out(self._store)

    def close(self) -> None:
        self._pool.shutdown()


class Processes(Clients):
    """Each with a store of its own on the same PostgreSQL database."""

    def __init__(self, address: str) -> None:
        context = multiprocessing.get_context("forkserver")
        self._start = context.Barrier(2)  # kept here until both have it
        self._pipes, self._processes = [], []
        for _ in range(2):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, self._start, address), daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def together(self, one: Call, other: Call) -> list[Outcome]:
        for pipe, call in zip(self._pipes, (one, other), strict=True):
            pipe.send(call)
        return [pipe.recv() for pipe in self._pipes]

    def close(self) -> None:
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            pipe.send(None)
            process.join(60)
            pipe.close()


def _serve(pipe: Connection, start: Any, address: str) -> None:
    database = Database.open_url(address)
    store = Store(database, now=Clock())
    while (call := pipe.recv()) is not None:
        start.wait(60)
        pipe.send(call.carry_out(store))
    database.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def racing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, Clients]]:
    if request.param == "sqlite":
        database = Database.open_file(tmp_path / "waymark.db")
        sa.event.listen(database.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = OFF"))
        database.engine.dispose()
        store = Store(database, now=Clock())
        clients: Threads | Processes = Threads(store)
    else:
        address = request.getfixturevalue("postgres_url")
        database = Database.open_url(address)
        store, clients = Store(database, now=Clock()), Processes(address)
    yield store, clients
    clients.close()
    database.close()


class Race:
    """Pairs of wishes on one thread after another, each checked against the model."""

    def __init__(self, store: Store, clients: Clients, chance: random.Random) -> None:
        self.store, self.clients, self.chance = store, clients, chance
        self.numbers, self.view = count(), View()

    def expect_same_as_model(self, pairs: int) -> None:
        done = 0
        while done < pairs:
            thread_id, model = self.begun()
            for _ in range(min(PAIRS_A_THREAD, pairs - done)):
                model = self.pair(thread_id, model)
                done += 1

    def begun(self) -> tuple[str, Conversation]:
        """A thread with a way set aside, two checkpoints, another branch, and something to redo."""
        thread_id, model = self.store.create_thread().id, Conversation()
        for verb, given in (
            ("append", {"messages": self.fresh(4)}),
            ("save", {"time": TIME}),
            ("fork", {"message_id": (), "name": "way"}),
            ("append", {"messages": self.fresh(3)}),
            ("save", {"time": TIME}),
            ("append", {"messages": self.fresh(2), "after": ()}),
            ("rename_thread", {"title": "to be redone"}),
            ("undo", {}),
        ):
            wish = Wish(verb, given, Caller())
            assert self.call(thread_id, wish).carry_out(self.store)[0] == "done"
            self.expected(model, wish)
        return thread_id, model

    def pair(self, thread_id: str, before: Conversation) -> Conversation:
        one = self.wish(before)
        other = one if self.chance.random() < 0.1 else self.wish(before)  # at times one wish that was sent twice
        outcomes = self.clients.together(self.call(thread_id, one), self.call(thread_id, other))
        tables = self.view.look(self.store, thread_id)
        for order in permutations((0, 1)):
            model = copy.deepcopy(before)
            told = {index: self.expected(model, (one, other)[index]) for index in order}
            if [told[0], told[1]] == outcomes and self.fits(tables, thread_id, model):
                return model
        raise AssertionError(f"{one} and {other} on {before.rows}: {outcomes} fits no order")

    def fits(self, tables: Tables, thread_id: str, model: Conversation) -> bool:
        try:
            equal(self.view, tables, thread_id, model)
        except AssertionError:
            return False
        return True

    def call(self, thread_id: str, wish: Wish) -> Call:
        given = self.view.arguments(self.view.look(self.store, thread_id), thread_id, wish.given)
        return Call(wish.verb, thread_id, given, wish.caller)

    def expected(self, model: Conversation, wish: Wish) -> Outcome:
        done = model.requests.get(wish.caller.request_id or "")
        if done is not None:
            return "repeated", done
        try:
            getattr(model, wish.verb)(**wish.given, caller=wish.caller)
        except StateError as error:
            return "refused", type(error).__name__
        return "done", model.version

    # what is wished

    def fresh(self, number: int) -> list[Said]:
        return [Said(f"text {next(self.numbers)}", ("human", "ai")[index % 2]) for index in range(number)]

    def wish(self, model: Conversation) -> Wish:
        """Something that the model as it stands makes sense of, by somebody who says what they saw, or does not."""
        version = self.chance.choice([None, model.version, model.version, max(0, model.version - 2)])
        verb = self.chance.choice(list(WISHES))
        return Wish(
            verb, WISHES[verb](self, model), Caller(request_id=f"wish {next(self.numbers)}", expected_version=version)
        )

    def some(self, found: Any) -> Any:
        return self.chance.choice(list(found) or [0])

    def place(self, model: Conversation) -> tuple[Said, ...]:
        return model.head[: self.chance.randint(1, len(model.head))] if model.head else self.some(model.tree)


WISHES: dict[str, Callable[[Race, Conversation], dict[str, Any]]] = {
    "append": lambda race, model: (
        {"messages": race.fresh(2), "title": "titled"}
        | ({"after": race.place(model)[:-1] or None} if race.chance.random() < 0.4 else {})
    ),
    "save": lambda race, model: (
        {"time": TIME}
        | ({"keep": race.chance.randint(0, len(model.head)), "new": race.fresh(1)} if race.chance.random() < 0.3 else {})
    ),
    "restore": lambda race, model: {"checkpoint_id": race.some(model.shown()), "keep_future": race.chance.random() < 0.5},
    "replace": lambda race, model: {"message_id": race.place(model), "new": race.fresh(1)[0]},
    "choose": lambda race, model: {"message_id": race.some(model.tree)},
    "switch": lambda race, model: {"branch_id": race.some(model.branches())},
    "fork": lambda race, model: {"message_id": race.place(model), "name": race.some(["", "named"])},
    "rename_branch": lambda race, model: {"branch_id": race.some(model.branches()), "name": f"n {next(race.numbers)}"},
    "delete_branch": lambda race, model: {"branch_id": race.some(model.branches())},
    "prune_branches": lambda race, model: {},
    "delete_checkpoint": lambda race, model: {"checkpoint_id": race.some(model.listed())},
    "change_checkpoint": lambda race, model: {"checkpoint_id": race.some(model.listed()), "name": f"n {next(race.numbers)}"},
    "clear_checkpoints": lambda race, model: {},
    "clear": lambda race, model: {},
    "rename_thread": lambda race, model: {"title": f"n {next(race.numbers)}"},
    "delete_thread": lambda race, model: {},
    "undo": lambda race, model: {},
    "redo": lambda race, model: {},
}


def test_of_two_at_once_each_is_done_once_or_refused_whole(racing: tuple[Store, Clients]) -> None:
    Race(*racing, chance=random.Random(1)).expect_same_as_model(100)


@pytest.mark.long
def test_of_two_at_once_each_is_done_once_or_refused_whole_for_long(racing: tuple[Store, Clients], rounds: Rounds) -> None:
    Race(*racing, chance=random.Random()).expect_same_as_model(rounds(10_000))
