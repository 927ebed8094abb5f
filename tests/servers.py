"""The real server as a process that a test can end in any way and start again on the same data."""

import re
import signal
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.app_process import PATIENCE, AppProcess, read_environment

_LINK = re.compile(r"http://\S+/(\?token=\S+)?")


class Server:
    """Starts on construction. `environment` is everything that the process gets of it, beside what Python itself needs."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self._arguments = arguments
        self._environment = (
            read_environment() | {"DATA_DIR": str(folder), "PORT": "0", "MODEL": "demo", "TITLES": "off"} | environment
        )
        self._folder = folder
        self._lines: list[str] = []
        self.link = self._start()
        self._environment["PORT"] = self.origin.rpartition(":")[2]  # cookies carry the port: they outlive a restart

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
    def origin(self) -> str:
        return self.link.partition("/?")[0].rstrip("/")

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

    def restart(self) -> None:
        self.link = self._start()

    def _start(self) -> str:
        # Where there is no .env: what a developer has in the checkout must not decide how a test ends.
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._process = AppProcess(self._folder, self._environment, *self._arguments)
        self._links: list[str] = []
        self._told = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        in_time = self._told.wait(PATIENCE)
        if not self._links:
            self.kill()
        assert in_time, f"the server did not start within {PATIENCE:.0f} s"
        assert self._links, self.log
        return self._links[0]

    def _read(self) -> None:
        """In a thread of its own, so that a full pipe never stops the server."""
        with self._process.stdout as output:
            for line in output:
                self._lines.append(line)
                if found := _LINK.search(line):
                    self._links.append(found[0])
                    self._told.set()
        self._told.set()

    def _ended(self) -> int:
        code = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code
