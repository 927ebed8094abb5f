"""The writes and states of a run that goes on with the answers that stand, see `checkpoints.values.standing_answers`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver, CheckpointTuple, PendingWrite

from checkpoints.values.standing_answers import ChosenWrites, replace_writes


@dataclass
class StepWrites:
    """The writes of tasks since a state, as a run has found and changed them. It has come to rest `rests` times before."""

    config: RunnableConfig
    rests: int = 0
    found: ChosenWrites = field(default_factory=ChosenWrites)
    written: dict[tuple[str, int], PendingWrite] = field(default_factory=dict)

    def add(self, task_id: str, writes: Sequence[tuple[str, Any]]) -> None:
        for position, (channel, value) in enumerate(writes):
            self.written[task_id, WRITES_IDX_MAP.get(channel, position)] = (task_id, channel, value)

    def list_all(self) -> list[PendingWrite]:
        return replace_writes(self.found.writes, self.written.values())

    def make_note(self, run_id: str, *, is_answer: bool) -> dict[str, Any]:
        """Make the note of a run that comes to rest; `is_answer`: it has taken an answer."""
        base = self.found.number
        writes = self.list_all() if base is None else self.written.values()
        return {
            "run_id": run_id,
            "number": self.rests,
            "is_answer": is_answer,
            "base": base,
            "writes": list(map(list, writes)),
        }


@dataclass(frozen=True, slots=True)
class TrustedRuns:
    """The runs whose states a subgraph goes on from: the one at work, and those that count below a state of the graph."""

    own_id: str
    below: dict[str, Collection[str | None]] = field(default_factory=dict)

    def find_state(
        self, saver: BaseCheckpointSaver[int], config: RunnableConfig, *, is_waiting: bool
    ) -> CheckpointTuple | None:
        """Return the latest state of a subgraph. Where the graph waits, undone runs may hide it from the saver.

        They hide all states of a subgraph that began in a run that took an answer.
        """
        latest = saver.get_tuple(config)
        if not is_waiting and (latest is None or self._is_trusted(latest)):
            return latest
        if latest is not None and self._is_own(latest):
            return latest
        for each in saver.list(config):
            if self._is_own(each) or (_read_root_id(each) in self.below and self._is_trusted(each)):
                return each
            if all(each.checkpoint["id"] < root_id for root_id in self.below):
                break
        return latest if latest is not None and _read_root_id(latest) not in self.below else None

    def _is_own(self, found: CheckpointTuple) -> bool:
        return found.metadata.get("run_id") == self.own_id

    def _is_trusted(self, found: CheckpointTuple) -> bool:
        root_id = _read_root_id(found)
        return root_id not in self.below or found.metadata.get("run_id") in self.below[root_id]


def _read_root_id(found: CheckpointTuple) -> str:
    return found.metadata.get("parents", {}).get("", "")
