"""The people's answers in effect at a conversation's current state. A repeated question gets no answer an undo has reverted.

LangGraph keeps the answers of all runs together, beside the state that asked. So each run that rests with questions notes
what its tasks have written, and the run whose note it builds on. An undo finds the writes as that run left them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .operation import Operation
from .standing_runs import StandingRuns

# LangGraph's `PendingWrite`: a task's id, a channel and a value.
Written = tuple[str, str, Any]
# The channel of notes, which no graph has.
REST_CHANNEL = "waymark:rest"
# The notes of runs that came to rest at a state, by number.
Notes = Mapping[int, Mapping[str, Any]]
_INTERRUPT, _RESUME = "__interrupt__", "__resume__"
# The task id of writes that answer whichever task asks.
_NO_TASK = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class StandingAnswers:
    """The runs whose work at a state is in effect, newest first.

    `keeps_all` means the newest run waits, and nobody went back meanwhile.
    """

    run_ids: Sequence[str] = ()
    keeps_all: bool = False

    @classmethod
    def find(
        cls, list_last: Callable[[int], Sequence[Operation]], branch_id: str, waiting_id: str | None
    ) -> "StandingAnswers":
        """Find the answers in effect in the last operations. `waiting_id` is the newest run, if it waits."""
        found, operations = StandingRuns.find(list_last, branch_id)
        # A run that went on without a message, and came to rest at once, has no operation that could be undone.
        if waiting_id is not None and not any(each.undo_group == waiting_id for each in operations):
            return cls((*found.ids, waiting_id), keeps_all=True)
        return cls(found.ids, waiting_id in found.ids)

    def list_rested(self, written: Sequence[Written]) -> Sequence[str]:
        """Return the runs shown by the page: up to the newest that has come to rest with these writes."""
        notes = _read_notes(written)
        rested = {note["run_id"] for note in notes.values()}
        none = 0 if self.keeps_all else len(self.run_ids)
        newest = next((place for place, each in enumerate(self.run_ids) if each in rested), none)
        return [*self.run_ids[newest:], *self._list_noted(notes)]

    def list_trusted(self, written: Sequence[Written]) -> Sequence[str]:
        """Return the runs whose subgraph states count at a state with these writes."""
        return [*self.run_ids, *self._list_noted(_read_notes(written))]

    def choose_writes(self, written: Sequence[Written]) -> "ChosenWrites":
        """Return the tasks' writes at a state, as they were when the newest of the runs came to rest."""
        notes = _read_notes(written)
        numbers = self._find_notes(notes)
        plain = drop_notes(written)
        if not numbers:
            return ChosenWrites(plain if self.keeps_all else _drop_answers(plain))
        chosen = list[Written]()
        for number in numbers:
            # A note has what its run wrote. The rest is in the one that the run began with.
            own = [(task_id, channel, value) for task_id, channel, value in notes[number]["writes"]]
            chosen = replace_writes(own, chosen)
        return ChosenWrites(_sort_as_tasks(chosen, plain), numbers[0])

    def _list_noted(self, notes: Notes) -> Sequence[str]:
        return [notes[number]["run_id"] for number in self._find_notes(notes)]

    def _find_notes(self, notes: Notes) -> Sequence[int]:
        """Return the number of the note in effect, and of the notes it builds on."""
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
    """The tasks' writes at a state, and the number of their note, or None without a note."""

    writes: Sequence[Written] = ()
    number: int | None = None


def replace_writes(old: Iterable[Written], new: Collection[Written]) -> list[Written]:
    """Return the writes, with new writes in place of the task's earlier writes to the same channel."""
    replaced = {(task_id, channel) for task_id, channel, _ in new}
    return [*(each for each in old if each[:2] not in replaced), *new]


def _sort_as_tasks(chosen: Iterable[Written], stored: Sequence[Written]) -> list[Written]:
    """Return the writes in the order of the graph's tasks, taken from the stored writes. Notes are ordered by time."""
    places = {task_id: place for place, (task_id, _, _) in enumerate(stored)}
    return sorted(chosen, key=lambda each: places.get(each[0], len(places)))


def _read_notes(written: Iterable[Written]) -> Notes:
    return {note["number"]: note for _, channel, note in written if channel == REST_CHANNEL}


def drop_notes(written: Iterable[Written]) -> list[Written]:
    return [each for each in written if each[1] != REST_CHANNEL]


def _drop_answers(written: Sequence[Written]) -> list[Written]:
    """Drop the answers to questions, and the results of the tasks that asked."""
    asking = {task_id for task_id, channel, _ in written if channel == _INTERRUPT}
    return [
        each
        for each in written
        if each[1] == _INTERRUPT or (each[0] not in asking and (each[0], each[1]) != (_NO_TASK, _RESUME))
    ]
