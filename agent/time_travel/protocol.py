"""The protocol of time travel that a run's graph uses."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from langchain_core.messages import BaseMessage, ToolCall

from agent.marks import MemoryCheckpointMark
from agent.time_travel.moves import Move
from agent.time_travel.policy import Policy
from agent.tools.decisions import Decision

T = TypeVar("T")


class PathChanged(Exception):
    """The head has moved, and the request must be built again. `continues` says whether the agent must answer."""

    def __init__(self, *, continues: bool) -> None:
        super().__init__()
        self.continues = continues


@dataclass(frozen=True, slots=True)
class SavedCheckpoint:
    """The result of a request for a checkpoint. A memory's checkpoint is the mark of the result."""

    name: str
    mark: MemoryCheckpointMark | None = None

    @property
    def text(self) -> str:
        return f"Saved {self.name!r}. You can come back with goto(position={self.name!r}, …)."


class MoveRecorder(Protocol):
    """The part of a run's recorder that a move needs (see graph.state)."""

    async def commit(self, message: BaseMessage) -> int: ...

    async def run_blocking(self, work: Callable[[], T]) -> T: ...


class TimeTravel(Protocol):
    """The moves and checkpoints that an agent's nodes can request in a run.

    Every method but `make_move` blocks. Refusals are `MoveRefused`, with a text for the model.
    """

    @property
    def policy(self) -> Policy: ...

    def for_agent(self, agent: str) -> "TimeTravel":
        """Return the time travel of a sub-agent, within its own memory."""
        ...

    def plan_call(self, call: ToolCall, decision: Decision | None) -> Move: ...

    async def make_move(self, call: ToolCall, move: Move, recorder: MoveRecorder) -> PathChanged: ...

    def request_checkpoint(self, name: str, description: str) -> SavedCheckpoint: ...

    def flush_checkpoints(self) -> None:
        """Save the requested checkpoints, once the results of the answer are on the path."""
        ...

    def describe_checkpoints(self) -> str: ...
