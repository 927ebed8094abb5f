"""The real commands as processes that a test can end in any way and start again on the same data."""

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from tests.app_process import PATIENCE, AppProcess, read_environment


class Command:
    """Starts on construction. `environment` is everything that the process gets of it, beside what Python itself needs."""

    sign: ClassVar[re.Pattern[str]]  # in its output, that it is ready

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self._arguments = arguments
        self._environment = (
            read_environment() | {"DATA_DIR": str(folder), "PORT": "0", "MODEL": "demo", "TITLES": "off"} | environment
        )
        self._folder = folder
        self._lines: list[str] = []
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process.poll() is None:
            self.stop()

    @property
    def folder(self) -> Path:
        """Where its data is."""
        return self._folder

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        """Everything that all the processes have said so far."""
        return "".join(self._lines)

    def stop(self, asked: signal.Signals = signal.SIGTERM) -> int:
        """Ask the process to end, as `kill` does, or Ctrl+C with SIGINT; its exit code."""
        self._process.send_signal(asked)
        return self._ended()

    def kill(self) -> None:
        """End it with -9, between any two instructions."""
        self._process.kill()
        self._ended()

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """Let it stand still until the block ends."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        self._start()

    def _start(self) -> None:
        # Where there is no .env: what a developer has in the checkout must not decide how a test ends.
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._process = AppProcess(self._folder, self._environment, *self._arguments)
        self._signs: list[str] = []
        self._told = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        in_time = self._told.wait(PATIENCE)
        if not self._signs:
            self.kill()
        assert in_time, f"the process did not start within {PATIENCE:.0f} s"
        assert self._signs, self.log

    def _read(self) -> None:
        """In a thread of its own, so that a full pipe never stops the server."""
        with self._process.stdout as output:
            for line in output:
                self._lines.append(line)
                if found := self.sign.search(line):
                    self._signs.append(found[0])
                    self._told.set()
        self._told.set()

    def _ended(self) -> int:
        code = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code


class Worker(Command):
    """`python app.py work`."""

    sign = re.compile(r"Waymark is at work")

    def __init__(self, folder: Path, **environment: str) -> None:
        super().__init__(folder, "work", **environment)


class Server(Command):
    """`python app.py`, or another command that serves the page."""

    sign = re.compile(r"http://\S+/(\?token=\S+)?")

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        super().__init__(folder, *arguments, **environment)
        self._environment["PORT"] = self.origin.rpartition(":")[2]  # cookies carry the port: they outlive a restart

    @property
    def link(self) -> str:
        """The address that it printed when it started."""
        return self._signs[0]

    @property
    def origin(self) -> str:
        return self.link.partition("/?")[0].rstrip("/")
