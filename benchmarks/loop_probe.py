"""`app.py` with a probe: each time that its event loop is held for long becomes one line of JSON in the file `LOOP_FILE`."""

import asyncio
import json
import os
import sys
import threading
import time
import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from socket import socket
from typing import Any

import app
from benchmarks.machine import ROOT
from server import serving

BEAT_SECONDS = 0.005
MIN_HELD_SECONDS = 0.02  # the bar of what runs before a model is asked; that of everything else is 0.05
MAX_PLACES = 3  # of the stack that is shown


@dataclass(frozen=True)
class Hold:
    """One time in which the loop did nothing else. `busy` is its own processor time: the rest is waiting for a processor."""

    at: float  # of time.perf_counter, which all processes of a machine share
    seconds: float
    busy: float
    stack: str


class LoopProbe:
    """A beat on the loop, and a thread that looks where the loop is when the beat is late."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._beaten = time.perf_counter()
        self._stack = ""
        self._loop_thread = threading.get_ident()

    def start(self) -> asyncio.Task[None]:
        threading.Thread(target=self._watch, daemon=True).start()
        return asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        with self._file.open("a", buffering=1, encoding="utf-8") as lines:
            while True:
                start, busy = time.perf_counter(), time.thread_time()
                self._beaten, self._stack = start, ""
                await asyncio.sleep(BEAT_SECONDS)
                seconds = time.perf_counter() - start - BEAT_SECONDS
                if seconds >= MIN_HELD_SECONDS:
                    hold = Hold(start, seconds, time.thread_time() - busy, self._stack)
                    lines.write(json.dumps(asdict(hold)) + "\n")

    def _watch(self) -> None:
        while True:
            time.sleep(BEAT_SECONDS)
            if not self._stack and time.perf_counter() - self._beaten > MIN_HELD_SECONDS:
                self._stack = describe_stack(sys._current_frames()[self._loop_thread])


def describe_stack(frame: Any) -> str:
    """Return our innermost functions, and the innermost one of all."""
    stack = traceback.extract_stack(frame)
    ours = [each for each in stack if each.filename.startswith(str(ROOT)) and ".venv" not in each.filename]
    places = [f"{Path(each.filename).stem}.{each.name}:{each.lineno}" for each in [*ours[-MAX_PLACES:], stack[-1]]]
    return " > ".join(dict.fromkeys(places))


def read_holds(file: Path, start: float, end: float) -> list[Hold]:
    """Return the holds between two moments."""
    found = [Hold(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()] if file.exists() else []
    return [hold for hold in found if start <= hold.at <= end]


class _ProbedServer(serving._AnnouncingServer):
    async def startup(self, sockets: list[socket] | None = None) -> None:
        self._beating = LoopProbe(Path(os.environ["LOOP_FILE"])).start()
        await super().startup(sockets)


if __name__ == "__main__":
    serving._AnnouncingServer = _ProbedServer  # type: ignore[misc]
    sys.exit(app.main(sys.argv[1:]))
