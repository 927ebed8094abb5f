"""A web server in a thread that answers from a script. Fakes stand at the wire: the real clients are what is tested."""

import asyncio
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, ClassVar, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Scope

from tests.app_process import PATIENCE
from tests.fakes.faults import Fault, Frame, Reply, ScriptError
from tests.fakes.wire import Gate, Log, Pace, Performance

JSON = dict[str, Any]


class Refusal(Exception):
    """The request broke a rule: `status` and a text for the client."""

    def __init__(self, text: str, *, status: int = 400, param: str | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.param = param


class ThreadedServer(uvicorn.Server):
    """uvicorn without its waits (0.1 s ticks, graceful shutdown), which every test would pay for."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self.leave = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop

    def call(self, action: Callable[[], None]) -> None:
        """Calls it in the server's loop. From any thread."""
        self._loop.call_soon_threadsafe(action)

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.ready.set()
        await self.leave.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        await asyncio.sleep(0)  # a connection accepted in this very moment still has to appear in the set below
        while self.server_state.connections or self.server_state.tasks:
            for connection in list(self.server_state.connections):
                connection.transport.abort()
            # Every answer ends by itself when its connection is gone, also one that hangs.
            await asyncio.sleep(0)

    def transport(self, scope: Scope) -> asyncio.Transport | None:
        """The connection under a request, found by the peer's address (which is unique); None when it is gone."""
        client = tuple(scope["client"])
        connections = self.server_state.connections
        return next((each.transport for each in connections if getattr(each, "client", None) == client), None)


@contextmanager
def silent_port() -> Iterator[int]:
    """Yield a port at which nobody listens, and which no server of another test gets meanwhile."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        yield int(silent.getsockname()[1])


class FakeServer:
    """Starts on construction, on a port chosen by the system unless one is given. Use as a context manager or `stop()`.

    `requests` and `headers` have one entry for each JSON request, in order; `violations` says what was refused and why
    (a test that expects a well-behaved client asserts that it is empty).
    """

    refusals: ClassVar[list[str]] = []
    """What any fake of this process refused. Each test must leave it empty (tests/conftest.py), whoever the client was."""

    paths: tuple[str, ...]
    methods: tuple[str, ...] = ("POST",)

    def __init__(self, port: int = 0, *, first_byte_delay: float = 0.0, token_delay: float = 0.0) -> None:
        self.requests: list[JSON] = []
        self.headers: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.pace = Pace(first_byte_delay, token_delay)
        self.log = Log()
        self._queue: deque[Reply] = deque()
        self._listener = socket.create_server(("127.0.0.1", port))
        self.origin = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        routes = [Route(path, self._endpoint, methods=list(self.methods)) for path in self.paths]
        config = uvicorn.Config(
            Starlette(routes=routes),
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        self._server = ThreadedServer(config)
        self._gate = Gate(self._server.call)
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), daemon=True)
        self._thread.start()
        if not self._server.ready.wait(PATIENCE):
            raise RuntimeError(f"the fake server did not start within {PATIENCE:.0f} s")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Resets every open connection, whatever it is waiting for, and returns when the port is free. Idempotent."""
        self.log.stopping = True  # the connections that break now were not left by their clients
        if self._thread.is_alive():
            self._server.call(self._server.leave.set)
            self._thread.join(PATIENCE)
        if self._thread.is_alive():
            raise RuntimeError(f"the fake server did not stop within {PATIENCE:.0f} s")

    def reply(self, *replies: Reply) -> None:
        """Queues answers for the next accepted requests; with an empty queue the fake answers by itself."""
        self._queue.extend(replies)

    def script(self, *replies: Reply) -> None:
        """Like `reply`, but forgets what is still queued."""
        self._queue.clear()
        self.reply(*replies)

    def hold(self, after_tokens: int = 0) -> None:
        """Stops every stream once it has sent so many tokens, until `release`. `held` is set when one stands there."""
        self._gate.hold(after_tokens)

    def release(self) -> None:
        self._gate.release()

    @property
    def held(self) -> threading.Event:
        return self._gate.held

    @property
    def disconnects(self) -> int:
        """How many clients left before their answer was finished."""
        return self.log.disconnects

    @property
    def request_times(self) -> list[float]:
        """time.perf_counter() at the head of each request."""
        return self.log.request_times

    @property
    def first_byte_times(self) -> list[float]:
        """time.perf_counter() at the first byte of each answer that sent one."""
        return self.log.first_byte_times

    @property
    def last_byte_times(self) -> list[float]:
        """time.perf_counter() at the last byte of each answer that was sent to its end."""
        return self.log.last_byte_times

    @property
    def first_byte_delay(self) -> float:
        """Seconds before the first byte of each answer."""
        return self.pace.first_byte_delay

    @first_byte_delay.setter
    def first_byte_delay(self, seconds: float) -> None:
        self.pace.first_byte_delay = seconds

    @property
    def token_delay(self) -> float:
        """Seconds before each token; 0 is as fast as possible."""
        return self.pace.token_delay

    @token_delay.setter
    def token_delay(self, seconds: float) -> None:
        self.pace.token_delay = seconds

    def wait_for(self, condition: Callable[[], bool], seconds: float = 60.0) -> None:
        """Waits for something that this server's thread brings about; TimeoutError if it does not."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {seconds} s")
            time.sleep(0.002)

    def read(self, request: Request, raw: bytes) -> JSON:
        """What the body says. Raises ValueError or Refusal."""
        body = json.loads(raw)
        if not isinstance(body, dict):
            raise Refusal("the body is not a JSON object")
        return body

    def accept(self, request: Request, body: JSON) -> None:
        """Raises Refusal when the request breaks a rule of the service."""
        raise NotImplementedError

    def answer(self, request: Request, body: JSON, reply: Reply | None, number: int) -> tuple[list[Frame], str]:
        """The frames of an answer to the request with that number, and their content type."""
        raise NotImplementedError

    def refuse(self, request: Request, refusal: Refusal | Fault) -> JSON:
        """The service's error document."""
        raise NotImplementedError

    async def _endpoint(self, request: Request) -> Performance:
        self.log.request_times.append(time.perf_counter())
        try:
            body = self.read(request, await request.body())
            self.requests.append(body)
            self.headers.append(dict(request.headers))
            self.accept(request, body)
            return self._perform(request, body, len(self.requests))
        except ValueError as error:  # JSON that does not parse, or a script that cannot be played
            return self._refusal(request, Refusal(f"{type(error).__name__}: {error}"))
        except Refusal as refusal:
            return self._refusal(request, refusal)

    def _perform(self, request: Request, body: JSON, number: int) -> Performance:
        reply = self._queue.popleft() if self._queue else None
        fault = reply if isinstance(reply, Fault) else None
        if fault and fault.kind == "status":
            return self._document(fault.status, self.refuse(request, fault), fault.retry_after)
        frames, content_type = self.answer(request, body, reply, number)
        if fault:
            fault.place(frames)  # a place that does not exist is refused now, not in the middle of the answer
        return self._performance(frames, 200, {"content-type": content_type}, fault)

    def _refusal(self, request: Request, refusal: Refusal) -> Performance:
        self.violations.append(refusal.text)
        self.refusals.append(f"{type(self).__name__} {request.url.path}: {refusal.text}")
        return self._document(refusal.status, self.refuse(request, refusal))

    def _document(self, status: int, document: JSON, retry_after: str | None = None) -> Performance:
        headers = {"content-type": "application/json"} | ({"retry-after": retry_after} if retry_after else {})
        return self._performance([Frame(compact(document))], status, headers, None)

    def _performance(self, frames: list[Frame], status: int, headers: dict[str, str], fault: Fault | None) -> Performance:
        headers = {"x-request-id": f"req_{len(self.requests)}"} | headers
        return Performance(frames, status, headers, fault, self._gate, self.pace, self.log, self._server.transport)


def compact(document: object) -> bytes:
    """JSON as the services send it: no spaces, and UTF-8 rather than escapes."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


__all__ = ["JSON", "FakeServer", "Refusal", "ScriptError", "compact"]
