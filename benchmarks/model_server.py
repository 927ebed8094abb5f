"""The fake model in a separate process, so that the server's times exclude it."""

import multiprocessing
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from tests.fakes.openai import Call, FakeOpenAI, Say


def _serve(pipe: Connection) -> None:
    with FakeOpenAI() as fake:
        pipe.send(fake.base_url)
        while (order := pipe.recv()) is not None:
            name, argument = order
            if name == "say":
                fake.script(*[Say(argument["text"])] * argument["times"])
                fake.token_delay = argument["token_delay"]
            elif name == "call":
                arguments, size = argument
                tokens = tuple(arguments[start : start + size] for start in range(0, len(arguments), size))
                fake.script(Call("calculator", arguments, tokens=tokens))
            elif name == "hold":
                fake.hold(after_tokens=1)
            elif name == "release":
                fake.release()
            pipe.send((fake.request_times[-1:], fake.first_byte_times[-1:]))


class ModelServer:
    """A fake model. `say` sets the next answers; `hold` stops them after the first token until `release`."""

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

    def say(self, text: str, *, times: int = 1, token_delay: float = 0.0) -> None:
        """Set the next answers. `token_delay`: seconds before each token."""
        self._order("say", {"text": text, "times": times, "token_delay": token_delay})

    def call(self, arguments: str, token_chars: int) -> None:
        """Set the next answer: a call of a tool, whose arguments come in tokens of so many characters."""
        self._order("call", (arguments, token_chars))

    def hold(self) -> None:
        self._order("hold")

    def release(self) -> None:
        self._order("release")

    def own_milliseconds(self) -> float:
        """Return the milliseconds from the newest request to the first byte of its answer."""
        asked, answered = self._order("times")
        return float(answered[0] - asked[0]) * 1000

    def _order(self, name: str, argument: Any = None) -> Any:
        self._pipe.send((name, argument))
        return self._pipe.recv()
