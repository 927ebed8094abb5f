"""`python app.py` without its seconds of imports: a process that has imported everything forks one for each server.

The child is as if it had been started anew: environment, folder, arguments and output are its own. Only the import of
app.py is shared. Tests of the command as it is typed start it with `subprocess`.
"""

import atexit
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

from tests.contacts import CONTACTS_KEY, note_contacts

ROOT = Path(__file__).parent.parent
PATIENCE = 240.0  # seconds, on a machine however busy
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")  # no key of the person who runs the tests
PRELOADED = [
    *("app", "tests.app_process", "alembic.context", "uvicorn.lifespan.on"),
    *("uvicorn.protocols.http.auto", "uvicorn.protocols.websockets.auto"),
    *("agent.graph.graph", "agent.tools.mcp", "agent.demo.model", "agent.models.openai"),
]


def read_environment() -> dict[str, str]:
    """Return what every Python process needs of our environment."""
    return {key: os.environ[key] for key in INHERITED if key in os.environ}


class AppProcess:
    """One running command. Its output is `stdout`; its errors go there too, or to the end of the file `errors`."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *arguments: str, errors: Path | None = None) -> None:
        _start_forkserver()
        context = multiprocessing.get_context("forkserver")
        reading, writing = os.pipe()
        self.stdout: TextIOWrapper = os.fdopen(reading, encoding="utf-8", errors="replace")
        with Connection(writing, readable=False) as output:
            given = (folder, dict(environment), arguments, output, errors)
            self._process = context.Process(target=_run_app, args=given, daemon=True)
            self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, once there is one: negative for a signal."""
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended in this moment
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, seconds: float) -> int:
        """Return the exit code; raises `TimeoutError` if the process does not end."""
        self._process.join(seconds)
        if (code := self.poll()) is None:
            raise TimeoutError(f"process {self.pid} did not end within {seconds:g} s")
        return code


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code and all that it said."""

    returncode: int
    stdout: str
    stderr: str


def run_app(folder: Path, environment: Mapping[str, str], *arguments: str) -> Ended:
    """Run a command to its end."""
    with tempfile.TemporaryDirectory() as place:
        errors = Path(place) / "errors"
        process = AppProcess(folder, environment, *arguments, errors=errors)
        with process.stdout:
            said = process.stdout.read()
        return Ended(process.wait(60), said, errors.read_text())


def _start_forkserver() -> None:
    """Start it once; what it imports must not see the settings of the person who runs the tests."""
    forkserver.set_forkserver_preload(PRELOADED)
    with patch.dict(os.environ, read_environment() | {"PYTHONPATH": str(ROOT)}, clear=True):
        forkserver.ensure_running()


def _run_app(
    folder: Path, environment: Mapping[str, str], arguments: Sequence[str], output: Connection, errors: Path | None
) -> None:
    """Be `python app.py` in the forked process."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(output.fileno(), 1)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) if errors else 1, 2)
    output.close()
    sys.argv = [str(ROOT / "app.py"), *arguments]
    import app

    if CONTACTS_KEY in environment:
        note_contacts(Path(environment[CONTACTS_KEY]))

    if "PSEUDO_LANGUAGE" in environment:
        from tests.pseudo import use_pseudo_language

        use_pseudo_language()
    try:
        sys.exit(app.main(list(arguments)))
    finally:
        atexit._run_exitfuncs()  # multiprocessing leaves them out; a library may wait in one
