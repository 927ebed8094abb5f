"""The protocol of other processes that drive the runs of the same database. This module knows no way to reach them."""

from typing import Protocol

from checkpoints import Caller, CandidateKey, Run


class Fleet(Protocol):
    """This process among those that drive the runs of one database."""

    @property
    def waiting_run_count(self) -> int:
        """Return how many runs wait for a process with room, as far as this process knows."""
        ...

    @property
    def live_count(self) -> int:
        """Return the number of live processes, as far as this process knows."""
        ...

    def start(self) -> None:
        """Begin to act on the work of other processes. Needs the event loop."""

    async def hand_over(self) -> None:
        """Leave this process's runs to the others."""

    async def close(self) -> None: ...

    def announce_waiting(self, run: Run) -> None:
        """Tell all processes that a run waits for one with room."""

    async def check_queue(self) -> None:
        """Raise `QueueFullError` if too many runs wait."""

    async def request_stop(self, thread_id: str) -> str | None:
        """Ask for the end of the thread's run, and return its id; None if no process drives one."""

    async def stop_elsewhere(self, thread_id: str, run_id: str, max_seconds: float | None) -> None:
        """Wait for the end of a run of another process."""

    def stop_candidate(self, thread_id: str, run_id: str, number: int) -> None:
        """Ask the process that drives a candidate to stop it."""

    async def retry_candidate(self, thread_id: str, key: CandidateKey, caller: Caller) -> None:
        """Ask the process that drives a run to let a candidate answer again."""

    def leave_rerun(self, thread_id: str) -> None:
        """Ask the process that drives a rerun to ask no further question."""
