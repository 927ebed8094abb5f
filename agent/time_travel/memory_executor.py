"""A sub-agent's moves in a run, within its own memory: checked, written as the results of their calls, and announced."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from langchain_core.messages import ToolCall, ToolMessage

from agent.context.numbering import NumberStyle
from agent.context.subagent_memory import find_memory_checkpoints
from agent.marks import MemoryCheckpointMark
from agent.time_travel.made_moves import build_move_event, complete_mark, format_checkpoint_line
from agent.time_travel.move_paths import ListedPath
from agent.time_travel.moves import Move, MoveRefused, plan_move
from agent.time_travel.policy import MAX_LISTED_CHECKPOINTS, MAX_MOVES_PER_TURN, Policy, TimeTravelEvent
from agent.time_travel.protocol import MoveRecorder, PathChanged, SavedCheckpoint
from agent.time_travel.scopes import count_memory_moves, load_memory, load_scope
from agent.tools.decisions import Decision, apply_changes
from checkpoints import Message, Run, Store, pluralize
from checkpoints.values.limits import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS


@dataclass(frozen=True, slots=True)
class MemoryExecutor:
    """The executor of a sub-agent's moves in one run (see the protocol and `context.subagent_memory`).

    The path only grows by the result of the call, so other agents that work meanwhile notice nothing.
    """

    store: Store
    run: Run
    agent: str
    policy: Policy
    announce_move: Callable[[TimeTravelEvent], None]
    numbers: NumberStyle

    def for_agent(self, agent: str) -> "MemoryExecutor":
        return replace(self, agent=agent)

    def plan_call(self, call: ToolCall, decision: Decision | None) -> Move:
        """Return the move that a call requests, with a person's changes. It changes nothing. Raises `MoveRefused`."""
        if count_memory_moves(self.store, self.run.thread_id, self.agent) >= MAX_MOVES_PER_TURN:
            most = pluralize(MAX_MOVES_PER_TURN, "move")
            raise MoveRefused(f"No more than {most} before the next question. Go on from here without moving.")
        scope = load_scope(self.store, self.run.thread_id, self.agent, self.numbers)
        return plan_move(apply_changes(call, decision), scope)

    async def make_move(self, call: ToolCall, move: Move, recorder: MoveRecorder) -> PathChanged:
        """Write the note as the result of the call. The memory is read through its mark from now on."""
        memory = ListedPath(await recorder.run_blocking(self._load_memory))
        mark = replace(complete_mark(move, memory, self.agent), last=None, head=None)  # on the path they are not contiguous
        move = replace(move, mark=mark)
        result = ToolMessage(move.text, tool_call_id=call["id"] or "", name=call["name"], additional_kwargs=mark.to_kwargs())
        await recorder.commit(result)
        await recorder.run_blocking(partial(self.announce_move, build_move_event(self.run, move, self.agent)))
        return PathChanged(continues=True)

    def request_checkpoint(self, name: str, description: str) -> SavedCheckpoint:
        mark = MemoryCheckpointMark(name.strip()[:MAX_NAME_CHARS] or "Milestone", description[:MAX_DESCRIPTION_CHARS])
        return SavedCheckpoint(mark.name, mark)

    def flush_checkpoints(self) -> None:
        """Do nothing: the mark of the result is the checkpoint."""

    def describe_checkpoints(self) -> str:
        try:
            memory = self._load_memory()
        except MoveRefused as refused:
            return str(refused)
        checkpoints = list(find_memory_checkpoints(memory).items())[-MAX_LISTED_CHECKPOINTS:]
        lines = [format_checkpoint_line(name, at, mark.description, self.numbers) for name, (at, mark) in checkpoints]
        return "\n".join(lines) or "There is no checkpoint yet."

    def _load_memory(self) -> list[Message]:
        return load_memory(self.store, self.run.thread_id, self.agent)
