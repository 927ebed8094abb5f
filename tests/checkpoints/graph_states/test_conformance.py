"""LangGraph's own conformance suite, in full, and the claims about DeltaChannels that its next version makes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import pytest
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from checkpoints import Store
from checkpoints.graph_states import WaymarkSaver
from tests.checkpoints.graph_states.graphs import make_config

TESTS = {
    "put": 17,
    "put_writes": 10,
    "get_tuple": 10,
    "list": 16,
    "delete_thread": 5,
    "delete_for_runs": 7,
    "copy_thread": 8,
    "prune": 8,
}


def test_the_saver_passes_langgraphs_conformance_suite(store: Store) -> None:
    @checkpointer_test(name="WaymarkSaver")
    async def make_saver() -> AsyncIterator[WaymarkSaver]:
        yield WaymarkSaver(store)

    report = asyncio.run(validate(make_saver))
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    assert {name: result.tests_passed for name, result in report.results.items()} == TESTS


class Steps:
    """States of one thread with a DeltaChannel `log`, each after the one before."""

    def __init__(self, saver: WaymarkSaver) -> None:
        self.saver = saver
        self._numbers = count()

    def put(self, parent: str | None, *, snapshot: list[str] | None = None, version: int = 1) -> str:
        values = {} if snapshot is None else {"log": _DeltaSnapshot(snapshot)}
        number = next(self._numbers)
        identifier = str(uuid6(clock_seq=number))
        checkpoint: Any = {
            "v": 4,
            "id": identifier,
            "ts": "2026-01-01T00:00:00+00:00",
            "channel_values": values,
            "channel_versions": {"log": version},
            "versions_seen": {},
            "updated_channels": ["log"],
        }
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": parent}}
        self.saver.put(config, checkpoint, {"source": "fork", "step": number, "parents": {}}, {"log": version})
        return identifier

    def write(self, state: str, *values: Any, task_id: str = "a", task_path: str = "") -> None:
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": state}}
        self.saver.put_writes(config, [("log", value) for value in values], task_id, task_path)

    def read(self, state: str) -> tuple[list[Any], Any]:
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": state}}
        found = self.saver.get_delta_channel_history(config=config, channels=["log"])["log"]
        return [value for _, _, value in found["writes"]], found.get("seed")


@pytest.fixture
def steps(store: Store) -> Steps:
    return Steps(WaymarkSaver(store))


def test_the_writes_of_all_ancestors_come_oldest_first_and_without_a_seed(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "a", "b")
    second = steps.put(first, version=2)
    steps.write(second, "c")
    assert steps.read(steps.put(second, version=3)) == (["a", "b", "c"], None)


def test_the_writes_at_the_state_itself_are_not_a_part_of_it(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "a")
    second = steps.put(first, version=2)
    steps.write(second, "pending")
    assert steps.read(second) == (["a"], None)


def test_the_nearest_snapshot_is_the_seed_and_what_is_older_is_left_out(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "old")
    second = steps.put(first, snapshot=["old"], version=2)
    steps.write(second, "new")
    writes, seed = steps.read(steps.put(second, version=3))
    assert (writes, seed.value) == (["new"], ["old"])


def test_a_fork_sees_the_writes_of_its_own_path_alone(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "shared")
    one = steps.put(first, version=2)
    steps.write(one, "left")
    other = steps.put(first, version=2)
    steps.write(other, "right")
    assert steps.read(steps.put(one, version=3))[0] == ["shared", "left"]
    assert steps.read(steps.put(other, version=3))[0] == ["shared", "right"]


def test_writes_of_one_step_come_by_path_then_task_then_position(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "third", task_id="a", task_path="~2")
    steps.write(first, "first", "second", task_id="b", task_path="~1")
    steps.write(first, "input", task_id="z")
    assert steps.read(steps.put(first, version=2))[0] == ["input", "first", "second", "third"]


@pytest.mark.parametrize("prune", [lambda saver: saver.prune(["t"]), lambda saver: saver.delete_for_runs(["none"])])
def test_pruning_keeps_what_a_channel_is_rebuilt_from(steps: Steps, prune: Callable[[WaymarkSaver], None]) -> None:
    first = steps.put(None)
    steps.write(first, "a")
    second = steps.put(first, version=2)
    prune(steps.saver)
    assert steps.saver.get_tuple(make_config("t")) is not None
    assert steps.read(second) == (["a"], None)


def test_a_copied_thread_has_the_writes(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "a", "b")
    steps.put(first, version=2)
    steps.saver.copy_thread("t", "copy")
    found = steps.saver.get_delta_channel_history(config=make_config("copy"), channels=["log"])["log"]
    assert [value for _, _, value in found["writes"]] == ["a", "b"]
