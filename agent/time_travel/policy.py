"""The policies for the agent's moves, and the event of a completed move."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.marks import MoveKind
from checkpoints import MAIN

Policy = Literal["off", "ask", "allow"]
POLICIES: tuple[Policy, ...] = ("ask", "allow", "off")
# The limit between two messages of the user, or two questions to a sub-agent, over all runs.
MAX_MOVES_PER_TURN = 5
MAX_LISTED_CHECKPOINTS = 50


@dataclass(frozen=True, slots=True)
class TimeTravelEvent:
    """A completed move, for monitoring. Tokens are a rough estimate."""

    thread_id: str
    run_id: str
    kind: MoveKind
    # Nanoseconds since 1970.
    timestamp_ns: int
    # Positions of the answer with the call, and of the message that the call names.
    call_position: int
    target_position: int
    removed_count: int
    tokens_saved: int
    # The agent's text.
    reason: str
    # External text that the agent had read (see `moves.find_sources`).
    sources: Sequence[str]
    # The agent that moves. The positions of a sub-agent refer to its memory.
    agent: str = MAIN
