"""The moves of a run: checked, made in the store, and announced."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import time_ns

from langchain_core.messages import ToolCall

from agent.context.numbering import DEFAULT_NUMBERS, NumberStyle, format_number
from agent.context.tokens import estimate_content, estimate_stored_tokens
from agent.marks import MoveMark
from agent.time_travel.moves import Move, MoveRefused, plan_move
from agent.time_travel.policy import Policy, TimeTravelEvent
from agent.time_travel.protocol import PathChanged
from agent.tools.approval import Decision
from checkpoints import (
    Checkpoint,
    Message,
    NewMessage,
    OperationDetail,
    OperationKind,
    Run,
    Runs,
    Store,
    pluralize,
    serde,
)

MAX_MOVES_PER_TURN = 5  # between two messages of the user, over all runs: a run that waited is continued by another
ORIGIN_LABELS = {OperationKind.IMPORT: "an import", OperationKind.FORK: "another conversation"}
MAX_LISTED_CHECKPOINTS = 50


@dataclass(frozen=True, slots=True)
class RequestedCheckpoint:
    """A checkpoint to save once the results of the answer are on the path."""

    name: str
    description: str


@dataclass(slots=True)
class TimeTravelExecutor:
    """The executor of one run's moves (see the protocol)."""

    store: Store
    runs: Runs
    run: Run
    policy: Policy
    announce_move: Callable[[TimeTravelEvent], None]
    count_tokens: Callable[[], int | None]  # of the conversation now
    numbers: NumberStyle = DEFAULT_NUMBERS  # of messages, as the model sees them
    requested_checkpoints: list[RequestedCheckpoint] = field(default_factory=list)

    def plan_call(self, call: ToolCall, decision: Decision | None) -> Move:
        """Return the move that a call requests, with a person's changes. It changes nothing. Raises `MoveRefused`."""
        if self.store.count_agent_moves(self.run.thread_id) >= MAX_MOVES_PER_TURN:
            most = pluralize(MAX_MOVES_PER_TURN, "move")
            raise MoveRefused(f"No more than {most} before the user says something again. Go on from here without moving.")
        arguments = decision.arguments if decision and decision.arguments is not None else call["args"]
        path = self.store.list_messages(self.run.thread_id)
        checkpoint_depths = self.store.map_checkpoint_depths(self.run.thread_id)
        origins = describe_origins(self.store, self.run.thread_id)
        return plan_move({**call, "args": arguments}, path, checkpoint_depths, origins, self.numbers)

    def make_move(self, move: Move) -> PathChanged:
        """Move the head and write the note. The later messages leave the conversation, and an undo brings them back."""
        later = self.store.list_messages(self.run.thread_id)[move.kept_count :]
        move = replace(move, mark=_complete_mark(move, later))
        kind = OperationKind.GOTO if move.kind == "goto" else OperationKind.REWIND
        new = NewMessage(serde.to_body(move.build_message()), agent=move.agent)
        if move.dropped_ids is None:
            self.runs.record_move(self.run, kind, new, after=move.parent_id, detail=_make_detail(move))
        else:
            self.runs.replace_message(self.run, move.target.id, new, move.dropped_ids, detail=_make_detail(move))
        self.announce_move(_build_move_event(self.run, move))
        return PathChanged(continues=move.kind == "goto")

    def request_checkpoint(self, name: str, description: str) -> str:
        name = name.strip() or "Milestone"
        checkpoints = self.store.list_checkpoints(self.run.thread_id)
        if any(checkpoint.name == name and checkpoint.created_by == "user" for checkpoint in checkpoints):
            name = f"{name} · {self.store.count_messages(self.run.thread_id)}"  # the user's checkpoint keeps its name
        self.requested_checkpoints.append(RequestedCheckpoint(name, description))
        return f"Saved {name!r}. You can come back with goto(position={name!r}, …)."

    def flush_checkpoints(self) -> None:
        while self.requested_checkpoints:
            requested = self.requested_checkpoints.pop(0)
            self.runs.save_checkpoint(self.run, requested.name, requested.description, self.count_tokens())

    def describe_checkpoints(self) -> str:
        checkpoints = self.store.list_checkpoints(self.run.thread_id)[-MAX_LISTED_CHECKPOINTS:]
        descriptions = [_describe_checkpoint(checkpoint, self.numbers) for checkpoint in checkpoints]
        return "\n".join(descriptions) or "There is no checkpoint yet."


def describe_origins(store: Store, thread_id: str) -> list[str]:
    """Return the origins of a thread's messages that were not written in it."""
    return [ORIGIN_LABELS[kind] for kind in sorted(store.list_origins(thread_id))]


def _describe_checkpoint(checkpoint: Checkpoint, numbers: NumberStyle) -> str:
    place = "" if numbers == "off" else f" ({format_number(checkpoint.message_count - 1, numbers)})"
    return f"{checkpoint.name}{place}: {checkpoint.description or 'no description'}"


def _complete_mark(move: Move, later: Sequence[Message]) -> MoveMark:
    """Return a move's mark with its sizes, given the messages after the kept ones. Contiguous ones get their place."""
    mark = replace(move.mark, after=estimate_content(move.text))
    if move.dropped_ids is None:
        return replace(mark, before=sum(map(estimate_stored_tokens, later)), last=later[-1].id, head=later[-1].id)
    removed = [message for message in later if message.id in {move.target.id, *move.dropped_ids}]
    return replace(mark, before=sum(map(estimate_stored_tokens, removed)))


def _make_detail(move: Move) -> OperationDetail:
    return OperationDetail(
        depth=move.target.depth,
        messages=move.mark.removed,
        tokens_before=move.mark.before,
        tokens_after=move.mark.after,
    )


def _build_move_event(run: Run, move: Move) -> TimeTravelEvent:
    return TimeTravelEvent(
        thread_id=run.thread_id,
        run_id=run.id,
        kind=move.kind,
        timestamp_ns=time_ns(),
        call_position=move.call_position,
        target_position=move.target.depth,
        removed_count=move.mark.removed,
        tokens_saved=move.mark.before - move.mark.after,
        reason=move.reason,
        sources=move.mark.sources,
    )
