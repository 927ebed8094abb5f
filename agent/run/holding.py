"""Holding a run: whether this process still drives it, where another one could have taken it."""

from checkpoints import StateError
from checkpoints.sentence import sentence


class HoldUnknownError(StateError):
    """Another process may have the run: the database has not answered for some time."""

    def __init__(self) -> None:
        super().__init__(sentence("The database does not answer, so no tool was begun."))


async def hold_alone() -> bool:
    """Return that a run is held: one process drives all."""
    return True
