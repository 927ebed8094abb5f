"""The policies for the agent's moves, and the event of a move that was made."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Policy = Literal["off", "ask", "allow"]
POLICIES: tuple[Policy, ...] = ("ask", "allow", "off")


@dataclass(frozen=True, slots=True)
class TimeTravelEvent:
    """A move that was made, for monitoring. Tokens are a rough estimate."""

    thread_id: str
    run_id: str
    kind: Literal["goto", "rewind"]
    timestamp_ns: int  # nanoseconds since 1970
    call_position: int  # the position of the answer that asked for it
    target_position: int  # of the message that was named
    removed_count: int  # messages
    tokens_saved: int
    reason: str  # what the agent wrote
    sources: Sequence[str]  # what it had read before (see time_travel.sources)
