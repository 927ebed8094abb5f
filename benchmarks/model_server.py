"""The fake model in a separate process, so that the server's times exclude it."""

import multiprocessing
import time
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from tests.fakes.openai import FakeOpenAI, Say


def _serve(pipe: Connection) -> None:
    with FakeOpenAI() as fake:
        pipe.send(fake.base_url)
        while (order := pipe.recv()) is not None:
            name, argument = order
            if name == "say":
                fake.script(Say(argument))
            elif name == "hold":
                fake.hold(after_tokens=1)
            elif name == "release":
                fake.release()
            pipe.send((fake.first_byte_times[-1:], fake.last_byte_times[-1:]))


class ModelServer:
    """A fake model. `say` sets the next answer, sent at once; `hold` stops it after the first token until `release`."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        self.base_url: str = self._pipe.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._pipe.send(None)
        self._process.join(10)

    def say(self, text: str) -> None:
        self._order("say", text)

    def hold(self) -> None:
        self._order("hold")

    def release(self) -> None:
        self._order("release")

    def first_byte(self) -> float:
        """Return the start of the newest answer, in milliseconds since 1970."""
        first, _ = self._order("times")
        return _epoch(first[0])

    def last_byte(self) -> float:
        _, last = self._order("times")
        return _epoch(last[0])

    def _order(self, name: str, argument: str = "") -> Any:
        self._pipe.send((name, argument))
        return self._pipe.recv()


def _epoch(moment: float) -> float:
    """Convert a perf_counter time, which all processes of a machine share, to the page's clock."""
    return (time.time() - time.perf_counter() + moment) * 1000
