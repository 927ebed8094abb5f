"""The part of time travel that a run's graph sees."""

from typing import Protocol

from langchain_core.messages import ToolCall

from agent.time_travel.moves import Move
from agent.time_travel.policy import Policy
from agent.tools.approval import Decision

MOVE_NAMES = frozenset({"goto", "rewind"})


class PathChanged(Exception):
    """The head is somewhere else now: the request must be built anew. `goes_on`: the agent has something to answer."""

    def __init__(self, *, continues: bool) -> None:
        super().__init__()
        self.continues = continues


class TimeTravel(Protocol):
    """What a run's nodes may do with time. Every method blocks; refusals are `MoveRefused`, whose text is for the model."""

    @property
    def policy(self) -> Policy: ...

    def plan_call(self, call: ToolCall, decision: Decision | None) -> Move: ...

    def make_move(self, move: Move) -> PathChanged: ...

    def request_checkpoint(self, name: str, description: str) -> str: ...

    def flush_checkpoints(self) -> None:
        """Carry out what `save` was asked for, once the results of the answer are on the path: none stands without them."""
        ...

    def describe_checkpoints(self) -> str: ...
