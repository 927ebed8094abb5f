"""Holding a run: whether this process still drives it, where another could have taken it, and the work that ends with it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from checkpoints import CandidateEnd, RunState, StateError
from checkpoints.values.sentence import sentence


class HoldUnknownError(StateError):
    """Another process may have the run: the database has not answered for some time."""

    def __init__(self) -> None:
        super().__init__(sentence("The database does not answer, so no tool was begun."))


async def hold_alone() -> bool:
    """Return that a run is held: one process drives all."""
    return True


@asynccontextmanager
async def hold_no_candidates(_: RunState) -> AsyncIterator[Sequence[CandidateEnd]]:
    """Yield no ends: one model answers."""
    yield ()
