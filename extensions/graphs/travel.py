"""Time travel in a run of a user graph: its tools ask here, and the driver makes the moves between two passes of the graph.

A tool that asks for a move stops the graph with an interrupt. So a move waits on disk, and no node runs while it is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage, ToolCall
from langgraph.types import interrupt

from agent.graph.approval import settle_call
from agent.graph.tool_calls import AFTER_MOVE_TEXT, SWITCHED_OFF_TEXT
from agent.preparation.questions import GraphQuestion
from agent.preparation.requests import NothingToDecideError
from agent.run.recorder import RunRecorder
from agent.subagents.delegation import load_last_turn
from agent.time_travel.executor import TimeTravelExecutor
from agent.time_travel.move_paths import StoredPath
from agent.time_travel.moves import Move, MoveRefused
from agent.time_travel.protocol import PathChanged
from agent.tools.decisions import Decision, find_unanswered_calls, make_refusal
from agent.tools.names import MOVE_NAMES, SAVE_CHECKPOINT
from checkpoints import MAIN, Store
from extensions.graphs.path import MAX_PATH_SECONDS

TRAVEL_KEY = "__waymark_travel"  # in a run's config; LangGraph writes keys of this form into no state
_CALL_KEY = "waymark_move"  # in the value of an interrupt: the id of the call that asks for a move
KEPT_WORK_TEXT = "Nothing after the replaced answer can stay here: leave out `keep_independent`. Nothing was changed."
NO_CALL_TEXT = "Only a call of your last answer can move through time. Nothing was changed."
OPEN_CALLS_TEXT = (
    "That message has calls whose results would leave: go back to one before or after them. Nothing was changed."
)


@dataclass(frozen=True, slots=True)
class MoveStep:
    """The decision about a call that waits: its move, or else its answers, by the ids of the graph's questions."""

    call: ToolCall
    move: Move | None = None
    answers: Mapping[str, str] = field(default_factory=dict)


def read_move_call(question: GraphQuestion) -> str | None:
    """Return the id of the call whose move a question waits for; None for a question of the graph's author."""
    value = question.value
    return str(value[_CALL_KEY]) if isinstance(value, dict) and _CALL_KEY in value else None


@dataclass(frozen=True, slots=True)
class GraphTravel:
    """The moves and checkpoints of one run of a user graph. Every method but `make_move` blocks."""

    store: Store
    thread_id: str
    executor: TimeTravelExecutor | None  # None: switched off

    def answer_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Answer a tool, on a thread of the graph. A move that is possible stops the graph with an interrupt."""
        if self.executor is None:
            return SWITCHED_OFF_TEXT
        if name == SAVE_CHECKPOINT:
            return self.executor.request_checkpoint(str(arguments["name"]), str(arguments.get("description", ""))).text
        if name not in MOVE_NAMES:
            return self.executor.describe_checkpoints()
        call = next((each for each in self._list_open_calls() if _is_meant(each, name, arguments)), None)
        if call is None:
            return NO_CALL_TEXT
        try:
            self._plan_call(self.executor, call, None)
        except MoveRefused as refused:
            return str(refused)
        return str(interrupt({_CALL_KEY: call["id"], "name": name, "args": dict(arguments)}))

    def settle(self, questions: Sequence[GraphQuestion], decision: Decision | None = None) -> MoveStep | None:
        """Return the next step of the first move that waits, or of the decided one; None where a person decides first.

        Raises `NothingToDecideError`.
        """
        wanted = [decision.call_id] if decision else [call["id"] for call in self._list_open_calls()]
        waiting = {call_id: question for question in questions if (call_id := read_move_call(question))}
        calls = [call for call in self._list_open_calls() if call["id"] in wanted and call["id"] in waiting]
        if not calls:
            if decision:
                raise NothingToDecideError
            return None
        call, text = calls[0], SWITCHED_OFF_TEXT
        if (settled := settle_call(decision)) is not None:
            text = settled.text
        elif self.executor is not None:
            if decision is None and self.executor.policy == "ask":
                return None
            try:
                return MoveStep(call, self._plan_call(self.executor, call, decision))
            except MoveRefused as refused:
                text = str(refused)
        asking = [each.id for each in questions if read_move_call(each) == call["id"]]
        return MoveStep(call, answers=dict.fromkeys(asking, text))

    async def make_move(self, step: MoveStep, decision: Decision | None, recorder: RunRecorder) -> PathChanged:
        """Refuse the later calls of the answer, as the built-in agent does, and make the move."""
        executor = self.executor
        assert executor is not None
        calls = await recorder.run_blocking(self._list_open_calls)
        for later in calls[calls.index(step.call) + 1 :]:
            await recorder.commit(make_refusal(later, AFTER_MOVE_TEXT))
        # Once more: it counts the results that were just written among the messages that leave.
        move = await recorder.run_blocking(partial(executor.plan_call, step.call, decision))
        changed = await executor.make_move(step.call, move, recorder)
        recorder.forget_open_calls()
        return changed

    def flush_checkpoints(self) -> None:
        """Save the checkpoints that were asked for: the results of their calls are on the path now."""
        if self.executor is not None:
            self.executor.flush_checkpoints()

    def _plan_call(self, executor: TimeTravelExecutor, call: ToolCall, decision: Decision | None) -> Move:
        """Return a move to a place where no call is open: a graph takes its messages as they are. Raises `MoveRefused`."""
        move = executor.plan_call(call, decision)
        if move.dropped_ids is not None:
            raise MoveRefused(KEPT_WORK_TEXT)
        if self._has_open_calls_at(move.kept_count):
            raise MoveRefused(OPEN_CALLS_TEXT)
        return move

    def _has_open_calls_at(self, length: int) -> bool:
        """Return whether calls have no result at the end of the path's first messages, of which only the last are read."""
        newest: list[BaseMessage] = []
        with self.store.database.begin_read(seconds=MAX_PATH_SECONDS):
            for message in StoredPath(self.store, self.thread_id).iterate_back(length):
                if message.agent == MAIN:
                    newest.append(message.langchain)
                    if message.type != "tool":
                        break
        return bool(find_unanswered_calls(newest[::-1]))

    def _list_open_calls(self) -> list[ToolCall]:
        return list_open_calls(self.store, self.thread_id)


def list_open_calls(store: Store, thread_id: str) -> list[ToolCall]:
    """Return the calls of the last answer of a conversation that have no result."""
    return find_unanswered_calls([each.langchain for each in load_last_turn(store, thread_id) if each.agent == MAIN])


def _is_meant(call: ToolCall, name: str, arguments: Mapping[str, Any]) -> bool:
    """Return whether a tool was called with the arguments of this call, and with its own defaults beside them."""
    given = call["args"]
    return call["name"] == name and all(key not in given or str(given[key]) == str(arguments[key]) for key in arguments)
