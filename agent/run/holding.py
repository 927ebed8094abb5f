"""Whether this process still holds a run that another process could have taken, and the candidates that end with it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from checkpoints import CandidateEnd, RunState, StateError
from checkpoints.values.sentence import sentence


class HoldUnknownError(StateError):
    """Another process may hold the run, since the database has not answered for some time."""

    def __init__(self) -> None:
        super().__init__(sentence("The database does not answer, so no tool was begun."))


async def hold_alone() -> bool:
    """Return True: a single process drives all runs."""
    return True


@asynccontextmanager
async def hold_no_candidates(_: RunState) -> AsyncIterator[Sequence[CandidateEnd]]:
    """Yield no ends, since a single model answers."""
    yield ()
