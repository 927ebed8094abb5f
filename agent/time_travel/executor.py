"""Makes the main agent's moves in a run: checks them, makes them in the store, and announces them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from langchain_core.messages import ToolCall, ToolMessage

from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle
from agent.context.subagent_memory import find_memory_checkpoints
from agent.marks import MemoryCheckpointMark
from agent.time_travel.made_moves import build_move_event, complete_mark, format_checkpoint_line
from agent.time_travel.move_paths import ListedPath, StoredPath
from agent.time_travel.moves import Move, MoveRefused, plan_move
from agent.time_travel.policy import MAX_LISTED_CHECKPOINTS, MAX_MOVES_PER_TURN, Policy, TimeTravelEvent
from agent.time_travel.protocol import MoveRecorder, PathChanged, SavedCheckpoint
from agent.time_travel.scopes import count_memory_moves, load_memory, load_scope
from agent.tools.decisions import Decision, apply_changes
from checkpoints import MAIN, Message, NewMessage, OperationDetail, OperationKind, Run, Runs, Store, pluralize
from checkpoints.values import serde
from checkpoints.values.limits import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS


@dataclass(frozen=True, slots=True)
class MemoryExecutor:
    """Makes a sub-agent's moves in one run (see the protocol and `context.subagent_memory`).

    The path only grows by the result of the call, so other working agents notice nothing.
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
        """Return the move that a call requests, with a person's changes, but change nothing. Raises `MoveRefused`."""
        if count_memory_moves(self.store, self.run.thread_id, self.agent) >= MAX_MOVES_PER_TURN:
            most = pluralize(MAX_MOVES_PER_TURN, "move")
            raise MoveRefused(f"No more than {most} before the next question. Go on from here without moving.")
        scope = load_scope(self.store, self.run.thread_id, self.agent, self.numbers)
        return plan_move(apply_changes(call, decision), scope)

    async def make_move(self, call: ToolCall, move: Move, recorder: MoveRecorder) -> PathChanged:
        """Write the note as the result of the call. From now on, the memory is read through its mark."""
        memory = ListedPath(await recorder.run_blocking(self._load_memory))
        # On the path, the removed messages are not contiguous.
        mark = replace(complete_mark(move, memory, self.agent), last=None, head=None)
        move = replace(move, mark=mark)
        result = ToolMessage(move.text, tool_call_id=call["id"] or "", name=call["name"], additional_kwargs=mark.to_kwargs())
        await recorder.commit(result)
        await recorder.run_blocking(partial(self.announce_move, build_move_event(self.run, move, self.agent)))
        return PathChanged(continues=True)

    def request_checkpoint(self, name: str, description: str) -> SavedCheckpoint:
        mark = MemoryCheckpointMark(name.strip()[:MAX_NAME_CHARS] or "Milestone", description[:MAX_DESCRIPTION_CHARS])
        return SavedCheckpoint(mark.name, mark)

    def flush_checkpoints(self) -> None:
        """Do nothing, since the mark of the result is the checkpoint."""

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


@dataclass(frozen=True, slots=True)
class RequestedCheckpoint:
    """A checkpoint to save once the results of the answer are on the path."""

    name: str
    description: str


@dataclass(slots=True)
class TimeTravelExecutor:
    """Makes the moves of a run (see the protocol)."""

    store: Store
    runs: Runs
    run: Run
    policy: Policy
    announce_move: Callable[[TimeTravelEvent], None]
    # Counts the conversation's current tokens.
    count_tokens: Callable[[], int | None]
    # How the model sees the numbers of messages.
    numbers: NumberStyle = DEFAULT_NUMBERS
    requested_checkpoints: list[RequestedCheckpoint] = field(default_factory=list)

    def for_agent(self, agent: str) -> MemoryExecutor:
        return MemoryExecutor(self.store, self.run, agent, self.policy, self.announce_move, self.numbers)

    def plan_call(self, call: ToolCall, decision: Decision | None) -> Move:
        """Return the move that a call requests, with a person's changes, but change nothing. Raises `MoveRefused`."""
        if self.store.count_agent_moves(self.run.thread_id) >= MAX_MOVES_PER_TURN:
            most = pluralize(MAX_MOVES_PER_TURN, "move")
            raise MoveRefused(f"No more than {most} before the user says something again. Go on from here without moving.")
        # The transaction gives all reads the same state.
        with self.store.database.begin_read():
            scope = load_scope(self.store, self.run.thread_id, MAIN, self.numbers)
            return plan_move(apply_changes(call, decision), scope)

    async def make_move(self, call: ToolCall, move: Move, recorder: MoveRecorder) -> PathChanged:
        """Move the head and write the note. The later messages leave the conversation, and undo restores them."""
        # The call leaves the conversation.
        del call
        return await recorder.run_blocking(partial(self._write_move, move))

    def _write_move(self, move: Move) -> PathChanged:
        with self.store.database.begin_read():
            move = replace(move, mark=complete_mark(move, StoredPath(self.store, self.run.thread_id)))
        kind = OperationKind.GOTO if move.kind == "goto" else OperationKind.REWIND
        new = NewMessage(serde.to_body(move.build_message()), agent=move.agent)
        if move.dropped_ids is None:
            self.runs.record_move(self.run, kind, new, after=move.parent_id, detail=_make_detail(move))
        else:
            self.runs.replace_message(self.run, move.target.id, new, move.dropped_ids, detail=_make_detail(move))
        self.announce_move(build_move_event(self.run, move))
        return PathChanged(continues=move.kind == "goto")

    def request_checkpoint(self, name: str, description: str) -> SavedCheckpoint:
        name = name.strip() or "Milestone"
        checkpoints = self.store.list_checkpoints(self.run.thread_id)
        if any(checkpoint.name == name and checkpoint.created_by == "user" for checkpoint in checkpoints):
            # The user's checkpoint keeps its name.
            name = f"{name} · {self.store.count_messages(self.run.thread_id)}"
        self.requested_checkpoints.append(RequestedCheckpoint(name, description))
        return SavedCheckpoint(name)

    def flush_checkpoints(self) -> None:
        while self.requested_checkpoints:
            requested = self.requested_checkpoints.pop(0)
            self.runs.save_checkpoint(self.run, requested.name, requested.description, self.count_tokens())

    def describe_checkpoints(self) -> str:
        checkpoints = self.store.list_checkpoints(self.run.thread_id)[-MAX_LISTED_CHECKPOINTS:]
        descriptions = [
            format_checkpoint_line(c.name, c.message_count - 1, c.description, self.numbers) for c in checkpoints
        ]
        return "\n".join(descriptions) or "There is no checkpoint yet."


def _make_detail(move: Move) -> OperationDetail:
    return OperationDetail(
        depth=move.target.depth,
        messages=move.mark.removed,
        tokens_before=move.mark.before,
        tokens_after=move.mark.after,
    )
