"""A process that drives a graph until it kills itself in the middle of a write."""

import os
import random
import signal
from pathlib import Path
from typing import Any, NoReturn

from langgraph.types import Command

from checkpoints import Database, Store
from checkpoints.graph_states import WaymarkSaver
from checkpoints.storage import state_rows, write_rows
from tests.checkpoints.graph_states.graphs import ask, make_config, make_graph

QUESTIONS = ["hello", "tool", "mark", "approve", "forget"]


class DyingSaver(WaymarkSaver):
    """Notes in a file what was acknowledged, and dies before, in or after the write that is chosen."""

    def __init__(self, store: Store, notes: Path, writes: int, moment: str) -> None:
        super().__init__(store)
        self._notes = os.open(notes, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self.left, self.moment = writes, moment

    def put(self, *given: Any) -> Any:
        self._die("before")
        done = super().put(*given)
        os.write(self._notes, f"{given[1]['id']}\n".encode())
        self._die("after")
        return done

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._die("before")
        super().put_writes(config, writes, task_id, task_path)
        self._die("after")

    def _die(self, moment: str) -> None:
        self.left -= moment == "before"
        if self.left <= 0 and moment == self.moment:
            die()


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def drive(file: Path, notes: Path, seed: int) -> None:
    """Talk to a graph until death."""
    chance = random.Random(seed)
    saver = DyingSaver(
        Store(Database.open_file(file)), notes, chance.randint(1, 40), chance.choice(["before", "in", "after"])
    )
    for module, name in ((state_rows, "insert_state"), (write_rows, "insert_writes")):
        _die_after(module, name, saver)
    graph = make_graph(saver)
    while True:
        found = ask(graph, "t", chance.choice(QUESTIONS))
        if "__interrupt__" in found:
            graph.invoke(Command(resume="yes"), make_config("t"))


def _die_after(module: Any, name: str, saver: DyingSaver) -> None:
    """Die in a transaction, after one of its statements."""
    original = getattr(module, name)

    def write(*given: Any, **named: Any) -> Any:
        done = original(*given, **named)
        saver._die("in")
        return done

    setattr(module, name, write)
