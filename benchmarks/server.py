"""Servers as separate processes: their start times, their memory, and Waymark's login."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil  # type: ignore[import-untyped]  # ships no types

from benchmarks.machine import ROOT

LONGEST_START = 60.0  # seconds
APP = (str(ROOT / "app.py"),)


class Server:
    """A program that serves HTTP, as a separate process.

    `{port}` in its command and its environment is replaced by a free port. `ready_seconds` is from the command to the first
    200 of the path `health`.
    """

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str], *, health: str = "/") -> None:
        self.port = _free_port()
        folder.mkdir(parents=True, exist_ok=True)
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        settings = {name: value.format(port=self.port) for name, value in environment.items()}
        start = time.perf_counter()
        self._process = subprocess.Popen(
            [part.format(port=self.port) for part in command],
            cwd=folder,
            env=inherited | settings,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.ready_seconds = self._wait(start, health)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(20)
        self._reader.join()
        if self._process.stdout:
            self._process.stdout.close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def memory(self) -> float:
        """Return the resident memory of the process and its children, in MiB."""
        return float(sum(process.memory_info().rss for process in self._tree())) / 2**20

    def processor_seconds(self) -> float:
        return float(sum(sum(process.cpu_times()[:2]) for process in self._tree()))

    @contextmanager
    def freeze(self) -> Iterator[None]:
        """Let the process stand still, as on a machine that hangs."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def _tree(self) -> list[psutil.Process]:
        root = psutil.Process(self._process.pid)
        return [root, *root.children(recursive=True)]

    def _read(self) -> None:
        """Keep the pipe empty."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.read_line(line.strip())

    def read_line(self, line: str) -> None:
        """Take note of a line of the program's output."""

    def _wait(self, start: float, health: str) -> float:
        while (elapsed := time.perf_counter() - start) < LONGEST_START:
            try:
                with urllib.request.urlopen(f"{self.address}{health}", timeout=5) as answer:
                    if answer.status == 200:
                        return time.perf_counter() - start
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.01)
            if self._process.poll() is not None:
                break
        self._process.kill()
        raise RuntimeError(f"the server did not start within {elapsed:.0f} s")


class WaymarkServer(Server):
    """`python app.py`, or another program, on a data folder; `link` opens its page."""

    def __init__(self, data: Path, *, program: Sequence[str] = APP, **settings: str) -> None:
        self.link = ""
        # In the data folder, which has no .env: the measurement must not depend on the machine.
        # Without titles: each would be one more long answer of the fake provider.
        environment = {"DATA_DIR": str(data), "PORT": "{port}", "TITLES": "off"} | settings
        super().__init__([sys.executable, *program], data, environment, health="/healthz")

    def read_line(self, line: str) -> None:
        if line.startswith("http"):
            self.link = line


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
