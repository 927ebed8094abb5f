"""The protocol of time travel that a run's graph uses."""

from typing import Protocol

from langchain_core.messages import ToolCall

from agent.time_travel.moves import Move
from agent.time_travel.policy import Policy
from agent.tools.approval import Decision

MOVE_NAMES = frozenset({"goto", "rewind"})


class PathChanged(Exception):
    """The head has moved, and the request must be built again. `continues`: the agent has something to answer."""

    def __init__(self, *, continues: bool) -> None:
        super().__init__()
        self.continues = continues


class TimeTravel(Protocol):
    """The moves and checkpoints that a run's nodes can request.

    Every method blocks. Refusals are `MoveRefused`, whose text is for the model.
    """

    @property
    def policy(self) -> Policy: ...

    def plan_call(self, call: ToolCall, decision: Decision | None) -> Move: ...

    def make_move(self, move: Move) -> PathChanged: ...

    def request_checkpoint(self, name: str, description: str) -> str: ...

    def flush_checkpoints(self) -> None:
        """Save the requested checkpoints, once the results of the answer are on the path."""
        ...

    def describe_checkpoints(self) -> str: ...
