"""Six processes on one PostgreSQL under load, killed, frozen, restarted and replaced: nothing is lost or done twice.

Times are printed. What they are on a busy machine says nothing: the bounds are generous.
"""

import random
import signal
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from checkpoints import MessageStatus, RunState
from checkpoints.storage.postgresql import MAX_PAUSE_SECONDS
from tests.faults.busy_people import People, expect_whole, searched_results
from tests.faults.fleet import Fleet, Takeovers, wait_until
from tests.faults.stream_readers import Readers
from tests.postgres import Postgres
from tests.rounds import Rounds
from tests.servers import Command

MAX_SECONDS = 60.0  # of a machine however busy
MAX_BEATS = 10  # of the fleet's own clock, which has one a second: see Takeovers
READERS_AT_ONCE = 20
FROZEN_SECONDS = 60.0
MAX_SEARCH_SECONDS = 120.0  # for a moment in a transaction
MAX_ROUNDS = 500
POSTGRESQL_SHARE = 1 / 20  # of the kills in the long run
CUT_BY_DATABASE = (RunState.INTERRUPTED, RunState.FAILED)  # what is offered again


@pytest.fixture
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        postgres = Postgres(max_connections="150")
        stack.callback(postgres.close)
        settings: dict[str, str] = getattr(request, "param", {})
        yield Fleet(tmp_path, postgres, stack, **settings)


@contextmanager
def at_work(fleet: Fleet, chance: random.Random, *allowed: RunState) -> Iterator[tuple[People, Readers]]:
    """Let people ask and pages read; afterwards, everything is whole and every page was told what is stored."""
    people = People(fleet, chance)
    with Readers(fleet, people, chance) as readers, people:
        yield people, readers
    states = expect_whole(fleet, people, {RunState.DONE, *allowed})
    done = ", ".join(f"{count} {name}" for name, count in people.done.items())
    print(f"{len(people.asked)} questions: {states}; {done}; {readers.opened} pages, {len(readers.found)} readings")  # noqa: T201
    faults = readers.compare()
    assert not faults, "\n".join(faults)


def describe(seconds: Sequence[float]) -> str:
    if not seconds:
        return "none"
    return f"{len(seconds)}, median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s"


@pytest.mark.parametrize("fleet", [{}, {"TOOLS_APPROVAL": "web_search"}], indirect=True, ids=["tools", "approvals"])
@pytest.mark.parametrize(
    "count", [pytest.param(3, marks=pytest.mark.slow), pytest.param(MAX_ROUNDS, marks=pytest.mark.long)]
)
def test_no_kill_loses_or_repeats_anything(fleet: Fleet, count: int, rounds: Rounds) -> None:
    chance, kinds = random.Random(16), ["stops", "saves", "restores", *["approvals"] * fleet.asks_for_approval]
    with at_work(fleet, chance, *CUT_BY_DATABASE, RunState.WAITING) as (people, readers), Takeovers(fleet) as takeovers:
        for number in range(rounds(count, at_least=3)):
            readers.open(READERS_AT_ONCE)
            time.sleep(chance.uniform(0, 1.5))
            if count == MAX_ROUNDS and chance.random() < POSTGRESQL_SHARE:
                people.outages += 1
                fleet.postgres.kill()
                fleet.postgres.start()
                fleet.wait_for_database()
                takeovers.begin_again()
                continue
            killed = chance.choice(fleet.processes if number % 2 else fleet.workers)
            if killed in fleet.workers:
                wait_until(partial(fleet.list_driven, killed))
            driven = fleet.list_driven(killed)
            killed.kill()
            takeovers.watch(driven)
            killed.restart()
        wait_until(lambda: takeovers.is_done and all(people.done[each] for each in kinds))
    late = f"most heartbeats {max(takeovers.beats, default=0)}, late ones {takeovers.late_beats}"
    print(f"runs of killed processes that went on: {describe(takeovers.seconds)}, {late}")  # noqa: T201
    assert takeovers.beats, "no run of a killed process went on"
    assert max(takeovers.beats) <= MAX_BEATS


@pytest.mark.long
def test_a_frozen_worker_that_thaws_writes_nothing(fleet: Fleet, rounds: Rounds) -> None:
    chance = random.Random(60)
    with at_work(fleet, chance, RunState.INTERRUPTED) as (_, readers):
        for _ in range(rounds(20)):
            readers.open(READERS_AT_ONCE)
            frozen = chance.choice(fleet.workers)
            wait_until(partial(fleet.list_driven, frozen))
            with frozen.freeze():
                driven = fleet.list_driven(frozen)
                wait_until(lambda: all(map(fleet.is_at_rest, driven)), pause=0.2)  # noqa: B023  (it is called at once)
                before = fleet.read_runs(driven)
            fleet.wait_for_heartbeats(frozen, 3)
            assert fleet.read_runs(driven) == before


def freeze(fleet: Fleet, process: Command, stack: ExitStack, *, in_transaction: bool) -> None:
    """Freeze a process that drives runs until the stack is unwound, if wanted in the middle of a transaction."""
    end = time.monotonic() + MAX_SEARCH_SECONDS
    while time.monotonic() < end:
        wait_until(partial(fleet.list_driven, process))
        with ExitStack() as trying:
            trying.enter_context(process.freeze())
            if in_transaction:
                time.sleep(0.2)
            if not in_transaction or fleet.count_open_transactions(0.15):
                stack.push(trying.pop_all())
                return
        time.sleep(0.05)
    raise AssertionError("the process was never frozen in a transaction")


@pytest.mark.long
@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_worker_that_is_frozen_for_a_minute_keeps_no_lock_and_writes_nothing(fleet: Fleet, in_transaction: bool) -> None:
    chance = random.Random(61)
    with at_work(fleet, chance, RunState.INTERRUPTED) as (_, readers):
        readers.open(READERS_AT_ONCE)
        frozen = chance.choice(fleet.workers)
        with ExitStack() as stack:
            freeze(fleet, frozen, stack, in_transaction=in_transaction)
            begin, driven = time.monotonic(), fleet.list_driven(frozen)
            wait_until(lambda: all(map(fleet.is_at_rest, driven)), pause=0.2, seconds=MAX_SECONDS)
            print(f"{len(driven)} runs of a frozen process at rest: {time.monotonic() - begin:.2f} s")  # noqa: T201
            assert not fleet.count_open_transactions(2 * MAX_PAUSE_SECONDS)
            before = fleet.read_runs(driven)
            time.sleep(max(0.0, FROZEN_SECONDS - (time.monotonic() - begin)))
        fleet.wait_for_heartbeats(frozen, 3)
        assert fleet.read_runs(driven) == before


@pytest.mark.long
def test_a_restart_of_postgresql_loses_nothing_and_is_told(fleet: Fleet, rounds: Rounds) -> None:
    chance, healed = random.Random(5), list[float]()
    with at_work(fleet, chance, *CUT_BY_DATABASE) as (people, readers):
        for _ in range(rounds(20)):
            page = chance.choice(fleet.browsers).tab()
            page.thread = people.choose(chance).thread_id
            people.outages += 1
            with page.following() as frames:
                chance.choice((fleet.postgres.stop, fleet.postgres.kill))()
                frames.wait_for(lambda seen: any(frame["kind"] in ("late", "outage") for frame in seen))
                fleet.postgres.start()
            page.close()
            begin, asked, deltas = time.monotonic(), len(people.asked), readers.kinds["delta"]
            readers.open(READERS_AT_ONCE)
            wait_until(lambda: len(people.asked) > asked and readers.kinds["delta"] > deltas)  # noqa: B023  (as above)
            healed.append(time.monotonic() - begin)
    print(f"restarts of PostgreSQL until questions are taken and text arrives: {describe(healed)}")  # noqa: T201
    assert max(healed) < MAX_SECONDS


@pytest.mark.long
def test_a_deployment_cuts_no_run(fleet: Fleet, rounds: Rounds) -> None:
    chance = random.Random(4)
    with at_work(fleet, chance) as (people, readers):
        for _ in range(rounds(20)):
            for process in fleet.processes:
                readers.open(READERS_AT_ONCE)
                assert process.stop() in (0, -signal.SIGTERM)
                process.restart()
    kept = [each for each in people.asked if each.run_id not in people.stopped]
    statuses = Counter(each.status for question in kept for each in fleet.list_of_run(question))
    assert statuses.keys() == {MessageStatus.DONE}, statuses


@pytest.mark.long
def test_a_deployment_cuts_no_long_tool_and_no_long_answer(fleet: Fleet, rounds: Rounds) -> None:
    """Tools of 15 seconds, and answers of 25: these are handed over after 10, and written on by whoever lives longer."""
    fleet.model.token_delay, fleet.search.first_byte_delay = 0.6, 15.0
    chance = random.Random(15)
    with at_work(fleet, chance) as (people, _):
        for _ in range(rounds(6)):
            for process in fleet.workers:
                wait_until(partial(fleet.list_driven, process))
                assert process.stop() in (0, -signal.SIGTERM)
                process.restart()
            people.wait_for_answers()
    tools = len(searched_results(fleet, people.asked))
    print(f"tools of 15 s: {tools}")  # noqa: T201
    assert tools
