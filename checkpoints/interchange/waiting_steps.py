"""Steps that wait for a person, in an export: what their tasks have written, and the states of their subgraphs.

In the file, all of it is of the run that asked first: an import has no other runs, and goes on with nothing else.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import sqlalchemy as sa

from ..rows import run_rows, state_rows, write_rows
from ..rows.state_rows import StoredState
from ..rows.write_rows import Write
from ..store import Store
from ..values.model import Json, Thread
from ..values.operation import Operation
from ..values.run import RunState
from ..values.standing_answers import REST_CHANNEL, StandingAnswers
from ..values.standing_runs import StandingRuns
from .state_checks import NOTE_PREFIX, OWN_PREFIX, WAITING_CHANNELS
from .typed_values import dump_typed, load_typed, write_typed_text

_QUESTION = "__interrupt__"


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """A state of a graph whose step waits, the states of its open subgraphs with those above them, and all writes."""

    root: StoredState
    below: frozenset[int] = frozenset()
    writes: tuple[Json, ...] = ()


@dataclass(frozen=True)
class StepReader:
    """Reads steps. At the thread's current state, the `answers` that stand count; None of a program without known runs.

    At other states, it is as it was when the run that wrote the state came to rest.
    """

    connection: sa.Connection
    store: Store
    thread: Thread
    answers: StandingAnswers | None = None

    @classmethod
    def at_thread(cls, connection: sa.Connection, store: Store, thread: Thread) -> "StepReader":
        newest = run_rows.select_newest_run(connection, thread.id, other_than="") if thread.state_id is not None else None
        reader = cls(connection, store, thread)
        if newest is None and not reader._has_copied_runs():
            return reader
        is_waiting = newest is not None and newest.state is RunState.WAITING and newest.head_id == thread.head_id
        waiting_id = newest.id if newest is not None and is_waiting else None
        answers = StandingAnswers.find(
            lambda count: store.list_operations(thread.id, last=count), thread.branch_id, waiting_id
        )
        return replace(reader, answers=answers)

    def _has_copied_runs(self) -> bool:
        """Return whether runs have rested at the current state. A copy has their notes, and an import's is of no run."""
        root = state_rows.select_numbered_state(self.connection, self.thread.state_id)
        notes = [each for each in self._read_all(root) if each.channel == REST_CHANNEL] if root is not None else ()
        return any(load_typed(each)[2]["run_id"] for each in notes)

    def find_left_runs(self, run_id: str) -> Collection[str]:
        """Return the runs that an undo or a restore had left behind when a run began."""
        return StandingRuns.find_left(self._operations, self.thread.branch_id, run_id)

    @cached_property
    def _operations(self) -> Sequence[Operation]:
        return self.store.list_operations(self.thread.id)

    def read_step(self, root: StoredState) -> WaitingStep | None:
        """Return the step after a state as it waits; None where it does not, or has something that no text carries."""
        from ..langgraph.open_subgraphs import select_step_subgraphs  # noqa: PLC0415  (it needs LangGraph's checkpoints)

        is_standing, connection = root.number == self.thread.state_id, self.connection
        try:
            own = self._read_writes(root, is_standing=is_standing)
            if not any(each.channel == _QUESTION for each in own):
                return None
            below = select_step_subgraphs(connection, root, run_ids=self._list_runs(root, is_standing=is_standing))
            found = [(root, own), *((each, self._read_writes(each, is_standing=is_standing)) for each in below)]
        except (ValueError, TypeError):  # a damaged write
            return None
        parts = [_write_part(state, each) for state, writes in found for each in writes]
        if None in parts:
            return None
        numbers = {state.number for each in below for state in _iterate_path(connection, each)}
        return WaitingStep(root, frozenset(numbers), tuple(part for part in parts if part is not None))

    def _read_writes(self, state: StoredState, *, is_standing: bool) -> Sequence[Write]:
        if not is_standing:
            place = state.thread_id, state.namespace, state.checkpoint_id
            written: Sequence[Write] = write_rows.select_first_writes(self.connection, *place)
        elif self.answers is None:
            written = self._read_all(state)
        else:
            return _choose_writes(self.answers, self._read_all(state))
        return [each for each in written if not each.channel.startswith(NOTE_PREFIX)]

    def _list_runs(self, root: StoredState, *, is_standing: bool) -> Collection[str] | None:
        """Return the runs whose states of subgraphs count beside those of the run that wrote the state; None for all."""
        if not is_standing:
            return ()
        return None if self.answers is None else self.answers.list_rested([*map(load_typed, self._read_all(root))])

    def _read_all(self, state: StoredState) -> Sequence[Write]:
        found = write_rows.select_writes(self.connection, state.thread_id, state.namespace, [state.checkpoint_id])
        return found.get(state.checkpoint_id, [])


def _choose_writes(answers: StandingAnswers, stored: Sequence[Write]) -> Sequence[Write]:
    """Return the writes that stand. Those of a note have neither the path of their task nor their place any more."""
    paths = {each.task_id: each.task_path for each in stored}
    places: Counter[str] = Counter()
    chosen = list[Write]()
    for task_id, channel, value in answers.choose_writes([*map(load_typed, stored)]).writes:
        chosen.append(dump_typed(paths.get(task_id, ""), task_id, places[task_id], channel, value))
        places[task_id] += 1
    return chosen


def _write_part(state: StoredState, write: Write) -> Json | None:
    is_known = not write.channel.startswith(OWN_PREFIX) or write.channel in WAITING_CHANNELS
    text = write_typed_text(write.type, write.data) if is_known else None
    if text is None:
        return None
    place = {"namespace": state.namespace, "state": state.checkpoint_id, "task": write.task_id, "path": write.task_path}
    return {**place, "position": write.position, "channel": write.channel, "json": text}


def _iterate_path(connection: sa.Connection, state: StoredState | None) -> Iterator[StoredState]:
    while state is not None:
        yield state
        state = state_rows.select_numbered_state(connection, state.parent)
