"""A process that computes for the server and can be killed at any time. It ends with the server in any case."""

import subprocess
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Pipe
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_WATCH_SECONDS = 0.25


class WorkerProcess:
    """A process, and this side's end of the socket to it.

    The other end closes together with this end; its handle is the command's last argument.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            handle = theirs.fileno()
            self._process = subprocess.Popen(  # noqa: S603  (no word of the command comes from outside)
                [*command, str(handle)],
                cwd=_ROOT,
                pass_fds=[handle],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Ctrl+C in the terminal is for the server alone.
                start_new_session=True,
            )

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(
        self,
        request: bytes,
        max_wait_seconds: float,
        max_answer_bytes: int | None = None,
        watch: Callable[[], None] | None = None,
    ) -> bytes:
        """Return the answer. Until it comes, `watch` is called a few times a second, and may raise an error.

        Raises `EOFError` or `OSError` if the process ended or its answer is too large, and `TimeoutError` if none came.
        After any error, the process cannot be used any more.
        """
        self._connection.send_bytes(request)
        deadline = time.monotonic() + max_wait_seconds
        while not self._connection.poll(_WATCH_SECONDS if watch else max_wait_seconds):
            if watch:
                watch()
            if time.monotonic() >= deadline:
                raise TimeoutError
        return self._connection.recv_bytes(max_answer_bytes)

    def kill(self) -> None:
        """Kill the process at once. A thread waiting for its answer gets an error."""
        self._process.kill()

    def close(self) -> int:
        """End the process, if it is still running, and return its exit code."""
        self._process.kill()
        self._connection.close()
        return self._process.wait()
