"""The interrupts of a state that no answer has followed yet: they are on disk, whichever process or page shows them.

`components.views.question_forms` makes forms of them.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, PendingWrite
from langgraph.types import Interrupt, StateSnapshot

from agent.preparation.questions import GraphQuestion
from checkpoints import StateError
from checkpoints.values.graph_state import INPUT_CHANNEL
from checkpoints.values.sentence import sentence
from extensions.graphs.adoption import adopt_graph, list_own_types
from extensions.graphs.message_channel import find_messages_channel
from extensions.graphs.opening import UserGraph
from extensions.graphs.savers import Savers

_CHANNEL, _RESUME = "__interrupt__", "__resume__"
_UNFINISHED = (_CHANNEL, _RESUME, "__error__", "__error_source_node__")  # other writes are a task's results


def collect_questions(written: Sequence[PendingWrite]) -> list[GraphQuestion]:
    """Return the questions of tasks, from their writes. An interrupt of a subgraph is its node's as well."""
    waiting = _list_open_tasks(written)
    asked = (value for task_id, channel, value in written if channel == _CHANNEL and task_id in waiting)
    found = (each for value in asked for each in _list_interrupts(value))
    questions = (GraphQuestion(each.id, to_plain(each.value), _read_schema(each)) for each in found)
    return list({question.id: question for question in questions}.values())


class QuestionGoneError(StateError):
    """The graph has no node any more that waits for an answer. LangGraph would drop it without a word."""

    def __init__(self) -> None:
        super().__init__(
            sentence("The graph was changed: the node that asked this is gone, and no answer reaches it. Send a message.")
        )


class InputMissingError(StateError):
    """A function with `@entrypoint` runs again for an answer, and the file of an import did not have its input."""

    def __init__(self) -> None:
        super().__init__(
            sentence("This question cannot be answered here: its input is not in the imported file. Send a message.")
        )


class AnswerUnusedError(StateError):
    """A graph has gone on without the answer that it got: its code asks for it no more, which only the run shows."""

    def __init__(self) -> None:
        super().__init__(
            sentence(
                "The graph was changed: nothing in it asks for this answer any more. "
                "It was not used. Undo takes back what the graph did since."
            )
        )


class AskedAgainError(StateError):
    """A graph asks again without having taken the answer: the node that asked is a subgraph now, or is none any more."""

    def __init__(self) -> None:
        super().__init__(sentence("The graph was changed, and asks again: your answer was not used."))


@dataclass
class AnswerUse:
    """Which questions the tasks of a run have asked, and which of their answers they have taken."""

    _tasks: dict[str, set[str]] = field(default_factory=dict)  # of the graph and its subgraphs, by question
    _counts: dict[str, int] = field(default_factory=dict)  # of the answers that a task had before
    _taken_ids: set[str] = field(default_factory=set)  # of tasks

    def note_questions(self, written: Sequence[PendingWrite]) -> None:
        for task_id, channel, value in written:
            if channel == _RESUME:
                self._counts.setdefault(task_id, _count_answers(value))
            for each in _list_interrupts(value) if channel == _CHANNEL else ():
                self._tasks.setdefault(each.id, set()).add(task_id)

    def note_writes(self, task_id: str, writes: Sequence[tuple[str, Any]]) -> None:
        """Note that a task has gone on with a new answer: it writes down all that it asked for, the earlier ones first."""
        counts = [_count_answers(value) for channel, value in writes if channel == _RESUME]
        if max(counts, default=0) > self._counts.get(task_id, 0):
            self._taken_ids.add(task_id)

    def find_problem(self, question_ids: Collection[str], written: Sequence[PendingWrite]) -> StateError | None:
        """Return why no task has taken one of the answers. To a question that is still in `written`, one may later.

        LangGraph gives a task one new answer. After an undo, what a task asked first may be unknown: it is not accused.
        """
        asked = {question.id for question in collect_questions(written)}
        known = [each for each in question_ids if each in self._tasks and each not in asked]
        unused = [self._tasks[each] for each in known if self._tasks[each].isdisjoint(self._taken_ids)]
        if not unused or len(self._taken_ids) >= len(known):
            return None
        open_ids = _list_open_tasks(written)
        return AnswerUnusedError() if all(task_ids.isdisjoint(open_ids) for task_ids in unused) else AskedAgainError()


async def require_nodes(
    user_graph: UserGraph, savers: Savers, thread_id: str, written: Sequence[PendingWrite], question_ids: Collection[str]
) -> None:
    """Raise `QuestionGoneError` where the node that asked one of the questions is not in the graph any more, and
    `InputMissingError` where it cannot run.

    `written` are the writes of tasks since the state where the conversation stands.
    """
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    async with user_graph.open_graph(config) as made:
        channel = find_messages_channel(made, user_graph.definition.messages_key)
        saver = savers.find_saver(channel).with_allowlist(list_own_types(made))
        reached = await adopt_graph(made, saver, user_graph.store).aget_state(config, subgraphs=True)
        await _require_tasks(saver, reached, written, question_ids)


async def _require_tasks(
    saver: BaseCheckpointSaver[int], reached: StateSnapshot, written: Sequence[PendingWrite], question_ids: Collection[str]
) -> None:
    asking: dict[str, set[str]] = {}
    for task_id, channel, value in written:
        for each in _list_interrupts(value) if channel == _CHANNEL else ():
            if each.id in question_ids:
                asking.setdefault(each.id, set()).add(task_id)
    # A function with `@task` asks for its entrypoint as well, and is no task of the state.
    if any(task_ids.isdisjoint(task.id for task in reached.tasks) for task_ids in asking.values()):
        raise InputMissingError if await _is_without_input(saver, reached) else QuestionGoneError
    for task in (task for task in reached.tasks if any(task.id in task_ids for task_ids in asking.values())):
        if isinstance(task.state, StateSnapshot):
            below = await saver.aget_tuple(task.state.config)
            await _require_tasks(saver, task.state, below.pending_writes or () if below else (), question_ids)


async def _is_without_input(saver: BaseCheckpointSaver[int], reached: StateSnapshot) -> bool:
    """Return whether tasks of a state take its input, which it does not have."""
    found = await saver.aget_tuple(reached.config)
    if found is None or found.metadata.get("source") != "input":
        return False
    return INPUT_CHANNEL in found.checkpoint["channel_versions"].keys() - found.checkpoint["channel_values"].keys()


def _list_open_tasks(written: Sequence[PendingWrite]) -> set[str]:
    """Return the tasks that wait: they have asked, and have no result."""
    done = {task_id for task_id, channel, _ in written if channel not in _UNFINISHED}
    return {task_id for task_id, channel, _ in written if channel == _CHANNEL} - done


def _count_answers(value: Any) -> int:
    return len(value) if isinstance(value, list) else 1


def to_plain(value: Any) -> Any:
    """Return a value as JSON. An object of the author's is shown as Python prints it."""
    return json.loads(json.dumps(value, default=dump_object, skipkeys=True))


def _list_interrupts(value: Any) -> list[Interrupt]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, Interrupt)]


def _read_schema(interrupt: Interrupt) -> dict[str, Any] | None:
    schema = getattr(interrupt, "response_schema", None)
    return to_plain(schema) if isinstance(schema, dict) else None


def dump_object(value: object) -> Any:
    """Return an object of the author's for JSON: its fields where Pydantic knows them, or as Python prints it.

    A set has no order of its own: each process would print another one.
    """
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    dump = getattr(value, "model_dump", None)  # of pydantic
    return dump(mode="json") if callable(dump) else str(value)
