"""The policies for the agent's moves, and the event of a move that was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.marks import MoveKind
from checkpoints import MAIN

Policy = Literal["off", "ask", "allow"]
POLICIES: tuple[Policy, ...] = ("ask", "allow", "off")
MAX_MOVES_PER_TURN = 5  # between two messages of the user, or two questions to a sub-agent, over all runs
MAX_LISTED_CHECKPOINTS = 50


@dataclass(frozen=True, slots=True)
class TimeTravelEvent:
    """A move that was made, for monitoring. Tokens are a rough estimate."""

    thread_id: str
    run_id: str
    kind: MoveKind
    timestamp_ns: int  # nanoseconds since 1970
    call_position: int  # of the answer with the call
    target_position: int  # of the message that the call names
    removed_count: int  # messages
    tokens_saved: int
    reason: str  # the agent's text
    sources: Sequence[str]  # external text that the agent had read (see moves.find_sources)
    agent: str = MAIN  # the agent that moves; the positions of a sub-agent are those of its memory
