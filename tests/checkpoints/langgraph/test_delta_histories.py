"""What DeltaChannels are rebuilt from: the claims of LangGraph's next conformance suite, and some more.

Each holds whether or not the versions of a state name the channel: LangGraph's graphs name it, its suite does not.
"""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import pytest
import sqlalchemy as sa
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.storage import schema
from tests.checkpoints.langgraph.graphs import make_config


class Steps:
    """States of one thread with the DeltaChannels `log` and `files`, each after the one before."""

    def __init__(self, saver: WaymarkSaver, names_versions: bool) -> None:
        self.saver, self._names_versions = saver, names_versions
        self._numbers = count()

    def put(self, parent: str | None, **values: Any) -> str:
        """Write a state with these values. The others are left out, as LangGraph does."""
        number = next(self._numbers)
        identifier = str(uuid6(clock_seq=number))
        named = ("log", "files") if self._names_versions else values
        checkpoint: Any = {
            "v": 4,
            "id": identifier,
            "ts": "2026-01-01T00:00:00+00:00",
            "channel_values": values,
            "channel_versions": dict.fromkeys(named, number + 1),
            "versions_seen": {},
            "updated_channels": None,
        }
        metadata: Any = {"source": "fork", "step": number, "parents": {}, "run_id": "run"}
        self.saver.put(_name_state(parent), checkpoint, metadata, checkpoint["channel_versions"])
        return identifier

    def write(self, state: str, *values: Any, task_id: str = "a", task_path: str = "", channel: str = "log") -> None:
        self.saver.put_writes(_name_state(state), [(channel, value) for value in values], task_id, task_path)

    def read(self, state: str, channel: str = "log") -> tuple[list[Any], Any]:
        """Return the writes of a channel and its seed, read together with another channel's."""
        found = self.saver.get_delta_channel_history(config=_name_state(state), channels=["log", "files"])[channel]
        return [value for _, _, value in found["writes"]], _unwrap(found)


def _name_state(checkpoint_id: str | None) -> Any:
    return {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": checkpoint_id}}


def _unwrap(history: Mapping[str, Any]) -> Any:
    seed = history.get("seed")
    return seed.value if isinstance(seed, _DeltaSnapshot) else seed


@pytest.fixture(params=[True, False], ids=["versions named", "versions not named"])
def steps(store_on_both: Store, request: pytest.FixtureRequest) -> Steps:
    return Steps(WaymarkSaver(store_on_both), request.param)


def test_the_writes_of_all_ancestors_come_oldest_first_and_without_a_seed(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "a", "b")
    second = steps.put(first)
    steps.write(second, "c")
    assert steps.read(steps.put(second)) == (["a", "b", "c"], None)


def test_the_writes_at_the_state_itself_are_not_a_part_of_it(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "a")
    second = steps.put(first)
    steps.write(second, "pending")
    assert steps.read(second) == (["a"], None)


def test_the_nearest_snapshot_is_the_seed_and_what_is_older_is_left_out(steps: Steps) -> None:
    first = steps.put(None, log=_DeltaSnapshot(["oldest"]))
    steps.write(first, "older")
    second = steps.put(first)
    steps.write(second, "old")
    third = steps.put(second, log=_DeltaSnapshot(["old"]))
    steps.write(third, "new")
    fourth = steps.put(third)
    steps.write(fourth, "newest")
    assert steps.read(steps.put(fourth)) == (["new", "newest"], ["old"])


@pytest.mark.parametrize("keep", [_DeltaSnapshot, list], ids=["snapshot", "plain"])
def test_the_writes_at_the_seed_follow_it_also_where_it_is_a_plain_value(steps: Steps, keep: Callable[..., Any]) -> None:
    """A channel that was no DeltaChannel once has plain values in the states of that time."""
    first = steps.put(None, log=keep([10]))
    steps.write(first, "before the seed")
    second = steps.put(first, log=keep([10, 20]))
    steps.write(second, "at the seed")
    third = steps.put(second)
    steps.write(third, "after the seed")
    fourth = steps.put(third)
    steps.write(fourth, "pending")
    assert steps.read(fourth) == (["at the seed", "after the seed"], [10, 20])


def test_each_channel_is_followed_to_a_seed_of_its_own(steps: Steps) -> None:
    state = steps.put(None)
    for number, values in enumerate([{"log": _DeltaSnapshot("a log")}, {}, {"files": _DeltaSnapshot("a file")}, {}]):
        for channel in ("log", "files"):
            steps.write(state, number, task_id=channel, channel=channel)
        state = steps.put(state, **values)
    assert steps.read(state) == ([1, 2, 3], "a log")
    assert steps.read(state, "files") == ([3], "a file")


def test_no_channel_has_no_history(steps: Steps) -> None:
    state = steps.put(None, log=_DeltaSnapshot([1]))
    assert steps.saver.get_delta_channel_history(config=_name_state(steps.put(state)), channels=[]) == {}


def test_a_fork_sees_the_writes_of_its_own_path_alone(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "shared")
    one = steps.put(first)
    steps.write(one, "left")
    other = steps.put(first)
    steps.write(other, "right")
    assert steps.read(steps.put(one))[0] == ["shared", "left"]
    assert steps.read(steps.put(other))[0] == ["shared", "right"]


def test_writes_of_one_step_come_by_path_then_task_then_position(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "third", task_id="a", task_path="~2")
    steps.write(first, "first", "second", task_id="b", task_path="~1")
    steps.write(first, "input", task_id="z")
    assert steps.read(steps.put(first))[0] == ["input", "first", "second", "third"]


def test_a_write_that_comes_after_the_next_state_is_kept_if_that_has_no_value(steps: Steps) -> None:
    first = steps.put(None)
    second = steps.put(first)
    steps.write(first, "late")
    assert steps.read(second)[0] == ["late"]


@pytest.mark.parametrize("channel", ["log", "branch:to:node", "join:a+b:c", "__pregel_tasks"])
def test_writes_that_no_channel_is_rebuilt_from_are_of_the_next_state(steps: Steps, channel: str) -> None:
    """Most writes are: the next state has the value, or the channel is LangGraph's own."""
    first = steps.put(None)
    steps.write(first, "early", channel=channel)
    second = steps.put(first, log=["early"])
    steps.write(first, "late", task_id="b", channel=channel)
    with steps.saver.store.database.begin_read() as connection:
        written = connection.execute(sa.select(schema.state_write.c["checkpoint_id", "late"])).all()
    assert written == [(second, True)]


@pytest.mark.parametrize("prune", [lambda saver: saver.prune(["t"]), lambda saver: saver.delete_for_runs(["none"])])
def test_pruning_keeps_what_a_channel_is_rebuilt_from(steps: Steps, prune: Callable[[WaymarkSaver], None]) -> None:
    first = steps.put(None)
    steps.write(first, "a")
    second = steps.put(first)
    prune(steps.saver)
    assert steps.saver.get_tuple(make_config("t")) is not None
    assert steps.read(second) == (["a"], None)


def test_a_copied_thread_has_the_writes(steps: Steps) -> None:
    first = steps.put(None)
    steps.write(first, "a", "b")
    steps.put(first)
    steps.saver.copy_thread("t", "copy")
    found = steps.saver.get_delta_channel_history(config=make_config("copy"), channels=["log"])["log"]
    assert [value for _, _, value in found["writes"]] == ["a", "b"]
