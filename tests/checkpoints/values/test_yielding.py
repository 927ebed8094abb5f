"""Long work gives way to a thread that wants Python's lock, by clocks that these tests set."""

import threading
from dataclasses import dataclass, field

import pytest
import sqlalchemy as sa

from checkpoints import Database
from checkpoints.values import yielding
from checkpoints.values.progress import StepCounter, ignore_progress
from checkpoints.values.yielding import (
    MAX_EARNED_SECONDS,
    MIN_LOST_SECONDS,
    MIN_WORK_SECONDS,
    PAUSE_SECONDS,
    Yielder,
)

STEP = 0.001
LOST = 2 * MIN_LOST_SECONDS


@dataclass
class Machine:
    """The clock, the processor time of one thread, and the seconds for which others want the lock."""

    now: float = 0.0
    processor: float = 0.0
    others: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.yielder = Yielder(lambda: self.now, lambda: self.processor, self.sleep)

    def work(self, seconds: float, lost: float = 0.0) -> None:
        self.processor += seconds
        self.now += seconds + lost

    def sleep(self, seconds: float) -> None:
        self.pauses.append(self.now)
        self.others = max(0.0, self.others - seconds)
        self.now += seconds + min(self.others, LOST)  # it waits again where another one still works

    def run(self, steps: int, lost: float = 0.0) -> int:
        """Work so many steps, and return the number of pauses."""
        before = len(self.pauses)
        for _ in range(steps):
            self.work(STEP, lost)
            self.yielder.end_step()
        return len(self.pauses) - before


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_work_that_waits_for_nobody_does_not_pause(machine: Machine) -> None:
    assert machine.run(1_000) == 0


def test_work_pauses_until_the_other_thread_waits(machine: Machine) -> None:
    machine.run(100)
    machine.others = 4.5 * PAUSE_SECONDS
    assert machine.run(1, lost=LOST) == 5
    assert machine.run(100) == 0


def test_pauses_take_no_longer_than_the_work_before(machine: Machine) -> None:
    machine.others = 1e9
    pauses = machine.run(1_000, lost=LOST)
    assert pauses * PAUSE_SECONDS == pytest.approx(1_000 * STEP, rel=0.05)


def test_work_saves_few_pauses_and_a_short_work_has_none(machine: Machine) -> None:
    machine.others = 1e9
    assert machine.run(round((MIN_WORK_SECONDS + PAUSE_SECONDS) / STEP) - 1, lost=LOST) == 0
    machine.run(10_000)
    assert machine.run(1, lost=LOST) == round(MAX_EARNED_SECONDS / PAUSE_SECONDS)


def test_a_wait_before_the_first_step_does_not_count(machine: Machine) -> None:
    machine.run(100)
    with yielding.yielding_to_loop(machine.yielder):
        machine.work(0.0, lost=1.0)
        steps = StepCounter(ignore_progress, "Reading", 10, "messages")
        for _ in range(10):
            machine.work(STEP)
            steps.add()
    assert machine.pauses == []


def test_work_gives_way_within_its_block_and_never_while_it_writes(machine: Machine) -> None:
    database = Database.in_memory()

    def take_steps() -> int:
        before = len(machine.pauses)
        yielding.begin_step()
        machine.run(100)
        machine.work(STEP, lost=1.0)
        yielding.yield_to_loop()
        return len(machine.pauses) - before

    with yielding.yielding_to_loop(machine.yielder):
        assert take_steps() == 1
        with database.begin_write():
            assert take_steps() == 0
        with database.begin_read():
            assert take_steps() == 1
    assert take_steps() == 0


def test_statements_of_a_reading_are_ends_of_steps_and_the_wait_for_them_does_not_count(machine: Machine) -> None:
    database = Database.in_memory()
    waited = sa.text("SELECT 1")
    sa.event.listen(database.engine, "before_cursor_execute", lambda *_: machine.work(0.0, lost=1.0))
    machine.run(100)
    with yielding.yielding_to_loop(machine.yielder), database.begin_read() as connection:
        for _ in range(3):
            connection.execute(waited)
            machine.work(STEP)
        assert machine.pauses == []
        machine.work(STEP, lost=LOST)
        connection.execute(waited)
        assert len(machine.pauses) == 1


def test_the_work_of_one_thread_is_not_that_of_another(machine: Machine) -> None:
    machine.run(100)
    machine.work(STEP, lost=1.0)
    with yielding.yielding_to_loop(machine.yielder):
        other = threading.Thread(target=yielding.yield_to_loop)
        other.start()
        other.join()
        assert machine.pauses == []
        yielding.yield_to_loop()
    assert len(machine.pauses) == 1
