"""A run's moves through time: asked for by a tool call, checked, made in the store, and told to whoever listens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from langchain_core.messages import ToolCall

from agent.approval import Decision
from agent.context import estimated_tokens, stored_tokens
from agent.time_travel import KEY, Move, MoveRefused, planned
from checkpoints import (
    Checkpoint,
    Message,
    NewMessage,
    OperationKind,
    Run,
    Runs,
    Store,
    counted,
    serde,
)

Policy = Literal["off", "ask", "allow"]
POLICIES: tuple[Policy, ...] = ("ask", "allow", "off")
MOVES = frozenset({"goto", "rewind"})
MOST_MOVES = 5  # in one run
MOST_LISTED = 50  # checkpoints


@dataclass(frozen=True, slots=True)
class TimeTravelEvent:
    """A move that was made, for monitoring. Tokens are a rough estimate."""

    thread_id: str
    run_id: str
    kind: Literal["goto", "rewind"]
    position: int  # of the message that was named
    removed: int  # messages
    tokens_saved: int
    reason: str  # what the agent wrote
    sources: Sequence[str]  # the tools whose results it had read on the way


class Moved(Exception):
    """The head is somewhere else now: the request must be built anew. `goes_on`: the agent has something to answer."""

    def __init__(self, *, goes_on: bool) -> None:
        super().__init__()
        self.goes_on = goes_on


class Traveller(Protocol):
    """What a run's nodes may do with time. Every method blocks; refusals are `MoveRefused`, whose text is for the model."""

    @property
    def policy(self) -> Policy: ...

    def plan(self, call: ToolCall, decision: Decision | None) -> Move: ...

    def make(self, move: Move) -> Moved: ...

    def save(self, name: str, description: str) -> str: ...

    def saved(self) -> None:
        """Carry out what `save` was asked for, once the results of the answer are on the path: none stands without them."""
        ...

    def listed(self) -> str: ...


@dataclass(slots=True)
class RunTraveller:
    """The traveller of one run (see the protocol)."""

    store: Store
    runs: Runs
    run: Run
    policy: Policy
    tell: Callable[[TimeTravelEvent], None]
    tokens: Callable[[], int | None]  # that the conversation takes as it stands
    wishes: list[tuple[str, str]] = field(default_factory=list)  # checkpoints to save: names and descriptions
    moves: list[tuple[str, str]] = field(default_factory=list)  # what was done in this run, and to which message

    def plan(self, call: ToolCall, decision: Decision | None) -> Move:
        """The move that a call asks for, as a person changed it. Nothing is done yet. Raises `MoveRefused`."""
        if len(self.moves) >= MOST_MOVES:
            raise MoveRefused(f"No more than {counted(MOST_MOVES, 'move')} in one run. Go on from here without moving.")
        path, named = self.store.messages(self.run.thread_id), self.store.places(self.run.thread_id)
        given = decision.arguments if decision and decision.arguments is not None else call["args"]
        move = planned({**call, "args": given}, path, named)
        if self.moves and self.moves[-1] == (move.kind, move.target.id):
            raise MoveRefused(
                "You have just gone back to the very same place. Go on from here, or tell the user what is missing."
            )
        return move

    def make(self, move: Move) -> Moved:
        """Move the head and write the note; all that followed leaves the conversation, undoably."""
        left = self.store.messages(self.run.thread_id)[move.kept :]
        kind = OperationKind.GOTO if move.kind == "goto" else OperationKind.REWIND
        new = NewMessage(serde.to_body(move.message), agent=move.agent)
        if move.dropped is None:
            self.runs.move(self.run, kind, new, after=move.after, note=_noted(move))
        else:
            left = [message for message in left if message.id in {move.target.id, *move.dropped}]
            self.runs.replace(self.run, move.target.id, new, move.dropped, note=_noted(move))
        self.moves.append((move.kind, move.target.id))
        self.tell(_event(self.run, move, left))
        return Moved(goes_on=move.kind == "goto")

    def save(self, name: str, description: str) -> str:
        name = name.strip() or "Milestone"
        self.wishes.append((name, description))
        return f"Saved {name!r}. You can come back with goto(position={name!r}, …)."

    def saved(self) -> None:
        while self.wishes:
            self.runs.save(self.run, *self.wishes.pop(0), self.tokens())

    def listed(self) -> str:
        found = self.store.checkpoints(self.run.thread_id)[-MOST_LISTED:]
        return "\n".join(map(_line, found)) or "There is no checkpoint yet."


def _line(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.name} (msg_{checkpoint.message_count - 1}): {checkpoint.description or 'no description'}"


def _noted(move: Move) -> str:
    return f"message {move.target.depth + 1} · {counted(move.removed, 'message')} removed"


def _event(run: Run, move: Move, left: Sequence[Message]) -> TimeTravelEvent:
    marks = move.message.additional_kwargs[KEY]
    saved = sum(map(stored_tokens, left)) - estimated_tokens(move.message)
    return TimeTravelEvent(
        run.thread_id, run.id, move.kind, move.target.depth, move.removed, saved, move.reason, tuple(marks["sources"])
    )
