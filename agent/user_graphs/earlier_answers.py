"""Answers of people that stand where a conversation stands. A question that is asked again gets none that was taken back.

LangGraph keeps the answers of all runs together, beside the state that asked. So each run that rests with questions notes
what its tasks have written, and on which run's note it builds: an undo finds the writes as that run had left them.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver, CheckpointTuple, PendingWrite

from checkpoints import Runs, Store
from checkpoints.values.standing_runs import StandingRuns

REST_CHANNEL = "waymark:rest"  # of notes; it is no channel of a graph
Notes = Mapping[int, Mapping[str, Any]]  # of runs that came to rest at a state, by number
_INTERRUPT, _RESUME = "__interrupt__", "__resume__"
_NO_TASK = "00000000-0000-0000-0000-000000000000"  # of writes that answer whichever task asks


@dataclass(frozen=True, slots=True)
class StandingAnswers:
    """The runs whose work at a state stands, the newest first.

    `keeps_all`: the newest run waits, and nobody went back meanwhile.
    """

    run_ids: Sequence[str] = ()
    keeps_all: bool = False

    @classmethod
    def load(cls, store: Store, runs: Runs, thread_id: str, *, other_than: str = "") -> "StandingAnswers":
        """Read the answers that stand, without those of a run that begins (`other_than`). Blocks."""
        branch_id = store.get_thread(thread_id).branch_id
        found, operations = StandingRuns.find(lambda count: store.list_operations(thread_id, last=count), branch_id)
        waiting = runs.find_waiting_run(thread_id, other_than=other_than)
        # A run that went on without a message, and came to rest at once, has no operation that could be undone.
        if waiting is not None and not any(each.undo_group == waiting.id for each in operations):
            return cls((*found.ids, waiting.id), keeps_all=True)
        return cls(found.ids, waiting is not None and waiting.id in found.ids)

    def list_rested(self, written: Sequence[PendingWrite]) -> Sequence[str]:
        """Return the runs that the page shows: up to the newest that has come to rest with these writes."""
        notes = _read_notes(written)
        rested = {note["run_id"] for note in notes.values()}
        none = 0 if self.keeps_all else len(self.run_ids)
        newest = next((place for place, each in enumerate(self.run_ids) if each in rested), none)
        return [*self.run_ids[newest:], *self._list_noted(notes)]

    def list_trusted(self, written: Sequence[PendingWrite]) -> Sequence[str]:
        """Return the runs whose states of subgraphs count at a state with these writes."""
        return [*self.run_ids, *self._list_noted(_read_notes(written))]

    def choose_writes(self, written: Sequence[PendingWrite]) -> "ChosenWrites":
        """Return the writes of tasks at a state, as they were when the newest of the runs came to rest."""
        notes = _read_notes(written)
        numbers = self._find_notes(notes)
        plain = drop_notes(written)
        if not numbers:
            return ChosenWrites(plain if self.keeps_all else _drop_answers(plain))
        chosen = list[PendingWrite]()
        for number in numbers:
            # A note has what its run wrote. The rest is in the one that the run began with.
            own = [(task_id, channel, value) for task_id, channel, value in notes[number]["writes"]]
            chosen = replace_writes(own, chosen)
        return ChosenWrites(_sort_as_tasks(chosen, plain), numbers[0])

    def _list_noted(self, notes: Notes) -> Sequence[str]:
        return [notes[number]["run_id"] for number in self._find_notes(notes)]

    def _find_notes(self, notes: Notes) -> Sequence[int]:
        """Return the number of the note that stands, and of those that it builds on."""
        by_run = {notes[number]["run_id"]: number for number in sorted(notes)}
        number = next((by_run[each] for each in self.run_ids if each in by_run), None)
        if number is None and not self.keeps_all:
            number = max((each for each, note in notes.items() if not note["is_answer"]), default=None)
        numbers = list[int]()
        while number is not None:
            numbers.append(number)
            number = notes[number]["base"]
        return numbers

    def after_rest(self, run_id: str) -> "StandingAnswers":
        """Return the answers for the next pass of a run that has come to rest."""
        return StandingAnswers((run_id, *self.run_ids))


@dataclass(frozen=True, slots=True)
class ChosenWrites:
    """The writes of tasks at a state, and the number of the note that has them; None where none has."""

    writes: Sequence[PendingWrite] = ()
    number: int | None = None


def replace_writes(old: Iterable[PendingWrite], new: Collection[PendingWrite]) -> list[PendingWrite]:
    """Return the writes; the new ones take the place of the task's earlier ones to the same channel."""
    replaced = {(task_id, channel) for task_id, channel, _ in new}
    return [*(each for each in old if each[:2] not in replaced), *new]


def _sort_as_tasks(chosen: Iterable[PendingWrite], stored: Sequence[PendingWrite]) -> list[PendingWrite]:
    """Return the writes in the order of the graph's tasks, which the stored ones have. Notes have that of the time."""
    places = {task_id: place for place, (task_id, _, _) in enumerate(stored)}
    return sorted(chosen, key=lambda each: places.get(each[0], len(places)))


def _read_notes(written: Iterable[PendingWrite]) -> Notes:
    return {note["number"]: note for _, channel, note in written if channel == REST_CHANNEL}


def drop_notes(written: Iterable[PendingWrite]) -> list[PendingWrite]:
    return [each for each in written if each[1] != REST_CHANNEL]


@dataclass
class StepWrites:
    """The writes of tasks since a state, as a run has found and changed them. It has come to rest `rests` times before."""

    config: RunnableConfig
    rests: int = 0
    found: ChosenWrites = ChosenWrites()
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


def _drop_answers(written: Sequence[PendingWrite]) -> list[PendingWrite]:
    """Return writes without the answers to questions, and without the results of the tasks that asked."""
    asking = {task_id for task_id, channel, _ in written if channel == _INTERRUPT}
    return [
        each
        for each in written
        if each[1] == _INTERRUPT or (each[0] not in asking and (each[0], each[1]) != (_NO_TASK, _RESUME))
    ]


@dataclass(frozen=True, slots=True)
class TrustedRuns:
    """The runs whose states a subgraph goes on from: the one at work, and those that count below a state of the graph."""

    own_id: str
    below: dict[str, Collection[str | None]] = field(default_factory=dict)

    def find_state(
        self, saver: BaseCheckpointSaver[int], config: RunnableConfig, *, is_waiting: bool
    ) -> CheckpointTuple | None:
        """Return the latest state of a subgraph. Where the graph waits, undone runs may hide it from the saver."""
        latest = saver.get_tuple(config)
        if latest is None or self._is_own(latest) or (not is_waiting and self._is_trusted(latest)):
            return latest
        for each in saver.list(config):
            if self._is_own(each) or (_read_root_id(each) in self.below and self._is_trusted(each)):
                return each
            if all(each.checkpoint["id"] < root_id for root_id in self.below):
                break
        return latest if _read_root_id(latest) not in self.below else None

    def _is_own(self, found: CheckpointTuple) -> bool:
        return found.metadata.get("run_id") == self.own_id

    def _is_trusted(self, found: CheckpointTuple) -> bool:
        root_id = _read_root_id(found)
        return root_id not in self.below or found.metadata.get("run_id") in self.below[root_id]


def _read_root_id(found: CheckpointTuple) -> str:
    return found.metadata.get("parents", {}).get("", "")
