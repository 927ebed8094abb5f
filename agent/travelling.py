"""A run's moves through time: asked for by a tool call, checked, made in the store, and told to whoever listens."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import time_ns
from typing import Literal, Protocol

from langchain_core.messages import ToolCall

from agent.approval import Decision
from agent.context import estimated_tokens, stored_tokens
from agent.time_travel import KEY, Move, MoveRefused, planned
from checkpoints import (
    Checkpoint,
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
MOST_MOVES = 5  # from one message of the user to the next, over however many runs: one that waited begins another
ELSEWHERE = {OperationKind.IMPORT: "an import", OperationKind.FORK: "another conversation"}
MOST_LISTED = 50  # checkpoints


@dataclass(frozen=True, slots=True)
class TimeTravelEvent:
    """A move that was made, for monitoring. Tokens are a rough estimate."""

    thread_id: str
    run_id: str
    kind: Literal["goto", "rewind"]
    at: int  # nanoseconds since 1970
    begin: int  # the position of the answer that asked for it
    position: int  # of the message that was named
    removed: int  # messages
    tokens_saved: int
    reason: str  # what the agent wrote
    sources: Sequence[str]  # what it had read before (see time_travel.sources)


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

    def plan(self, call: ToolCall, decision: Decision | None) -> Move:
        """The move that a call asks for, as a person changed it. Nothing is done yet. Raises `MoveRefused`."""
        if self.store.moves(self.run.thread_id) >= MOST_MOVES:
            most = counted(MOST_MOVES, "move")
            raise MoveRefused(f"No more than {most} before the user says something again. Go on from here without moving.")
        path, named = self.store.messages(self.run.thread_id), self.store.places(self.run.thread_id)
        given = decision.arguments if decision and decision.arguments is not None else call["args"]
        return planned({**call, "args": given}, path, named, elsewhere(self.store, self.run.thread_id))

    def make(self, move: Move) -> Moved:
        """Move the head and write the note; all that followed leaves the conversation, undoably."""
        left = self.store.messages(self.run.thread_id)[move.kept :]
        places = {"last": left[-1].id, "head": left[-1].id}
        if move.dropped is not None:
            left = [message for message in left if message.id in {move.target.id, *move.dropped}]
            places = {}  # what left stands in no one piece
        size = {"before": sum(map(stored_tokens, left)), "after": estimated_tokens(move.message)}
        move.message.additional_kwargs[KEY] |= size | places
        kind = OperationKind.GOTO if move.kind == "goto" else OperationKind.REWIND
        new = NewMessage(serde.to_body(move.message), agent=move.agent)
        if move.dropped is None:
            self.runs.move(self.run, kind, new, after=move.after, note=_noted(move))
        else:
            self.runs.replace(self.run, move.target.id, new, move.dropped, note=_noted(move))
        self.tell(_event(self.run, move))
        return Moved(goes_on=move.kind == "goto")

    def save(self, name: str, description: str) -> str:
        name = name.strip() or "Milestone"
        shown = self.store.checkpoints(self.run.thread_id)
        if any(checkpoint.name == name and checkpoint.created_by == "user" for checkpoint in shown):
            name = f"{name} · {self.store.length(self.run.thread_id)}"  # theirs goes on meaning what they saved
        self.wishes.append((name, description))
        return f"Saved {name!r}. You can come back with goto(position={name!r}, …)."

    def saved(self) -> None:
        while self.wishes:
            self.runs.save(self.run, *self.wishes.pop(0), self.tokens())

    def listed(self) -> str:
        found = self.store.checkpoints(self.run.thread_id)[-MOST_LISTED:]
        return "\n".join(map(_line, found)) or "There is no checkpoint yet."


def elsewhere(store: Store, thread_id: str) -> list[str]:
    """Where messages of a thread come from that were not written in it."""
    return [ELSEWHERE[kind] for kind in sorted(store.elsewhere(thread_id))]


def _line(checkpoint: Checkpoint) -> str:
    return f"{checkpoint.name} (msg_{checkpoint.message_count - 1}): {checkpoint.description or 'no description'}"


def _noted(move: Move) -> str:
    marks = move.message.additional_kwargs[KEY]
    size = f"about {marks['before']:,} tokens became {marks['after']:,}"
    return f"message {move.target.depth + 1} · {counted(move.removed, 'message')} removed · {size}"


def _event(run: Run, move: Move) -> TimeTravelEvent:
    marks = move.message.additional_kwargs[KEY]
    return TimeTravelEvent(
        thread_id=run.thread_id,
        run_id=run.id,
        kind=move.kind,
        at=time_ns(),
        begin=move.begin,
        position=move.target.depth,
        removed=move.removed,
        tokens_saved=marks["before"] - marks["after"],
        reason=move.reason,
        sources=tuple(marks["sources"]),
    )
