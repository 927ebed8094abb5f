"""One scripted answer on its way out: paced, gated, and broken where the script says so."""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.types import Receive, Scope, Send

from tests.fakes.faults import INSERTED, Fault, Frame, crumbs, split


@dataclass
class Hold:
    """One period during which streams stop after `after` tokens."""

    after: int
    released: asyncio.Event = field(default_factory=asyncio.Event)


class Gate:
    """Stops every stream after k tokens until it is released, so that a test can act in mid-stream without sleeping."""

    def __init__(self, call_in_loop: Callable[[Callable[[], None]], object]) -> None:
        self.held = threading.Event()
        self._call_in_loop = call_in_loop
        self._hold: Hold | None = None
        self._lock = threading.Lock()

    def hold(self, after_tokens: int) -> None:
        self._replace(Hold(after_tokens))

    def release(self) -> None:
        self._replace(None)

    def _replace(self, hold: Hold | None) -> None:
        with self._lock:
            previous, self._hold = self._hold, hold
            self.held.clear()
        if previous is not None:
            self._call_in_loop(previous.released.set)

    async def passage(self, tokens: int) -> None:
        """Returns at once when the gate is open for a stream that has sent so many tokens."""
        while True:
            with self._lock:
                hold = self._hold
                if hold is None or tokens < hold.after:
                    return
                self.held.set()
            # A new hold also wakes the streams that wait on the old one: they look again.
            await hold.released.wait()


@dataclass
class Pace:
    """Seconds before the first byte of an answer, and before each token of it."""

    first_byte_delay: float = 0.0
    token_delay: float = 0.0


@dataclass
class Log:
    """What became of the answers. Times are time.perf_counter()."""

    request_times: list[float] = field(default_factory=list)
    first_byte_times: list[float] = field(default_factory=list)
    last_byte_times: list[float] = field(default_factory=list)
    disconnects: int = 0
    stopping: bool = False


class Wire:
    """The ASGI channel of one request with, under it, the real connection that a fault breaks."""

    def __init__(self, transport: asyncio.Transport | None, receive: Receive, send: Send) -> None:
        self.broken = False
        self._transport = transport
        self._receive = receive
        self._send = send

    async def start(self, status: int, headers: dict[str, str]) -> None:
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def write(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def finish(self) -> None:
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def close(self) -> None:
        self.broken = True
        if self._transport:
            self._transport.close()

    def reset(self) -> None:
        self.broken = True
        if self._transport:
            connection = self._transport.get_extra_info("socket")
            # Lingering for zero seconds makes the kernel send RST instead of FIN.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()

    async def left(self) -> None:
        """Returns when the connection is gone, whoever closed it."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


@dataclass
class Performance:
    """The ASGI application that sends one scripted answer."""

    frames: list[Frame]
    status: int
    headers: dict[str, str]
    fault: Fault | None
    gate: Gate
    pace: Pace
    log: Log
    transport: Callable[[Scope], asyncio.Transport | None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wire = Wire(self.transport(scope), receive, send)
        playing = asyncio.ensure_future(self._play(wire))
        leaving = asyncio.ensure_future(wire.left())
        try:
            await asyncio.wait({playing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if playing.done():
                playing.result()
            elif not wire.broken and not self.log.stopping:
                self.log.disconnects += 1
            if wire.broken:
                # uvicorn logs an error for an answer left incomplete unless it already knows that the peer is gone.
                await leaving
        finally:
            playing.cancel()
            leaving.cancel()
            await asyncio.gather(playing, leaving, return_exceptions=True)

    async def _play(self, wire: Wire) -> None:
        if self.pace.first_byte_delay:
            await asyncio.sleep(self.pace.first_byte_delay)
        fault = self.fault
        place = fault.place(self.frames) if fault else None
        if fault and place is None and not await self._strike(wire, fault, started=False):
            return
        drip = fault.seconds if fault and fault.kind == "drip" else 0.0
        frames = crumbs(self.frames) if drip else self.frames
        before, after = split(frames, place or 0) if fault else (frames, [])
        last = (after or before)[-1]
        self.log.first_byte_times.append(time.perf_counter())
        await wire.start(self.status, self.headers)
        sent = await self._send(wire, before, 0, last, drip)
        if fault and not await self._strike(wire, fault, started=True):
            return
        await self._send(wire, after, sent, last, drip)
        await wire.finish()

    async def _strike(self, wire: Wire, fault: Fault, *, started: bool) -> bool:
        """Lets the fault happen; False when nothing may follow it."""
        if fault.kind == "reset":
            wire.reset()
        elif fault.kind == "cut":
            wire.close()
        elif fault.kind == "hang":
            await asyncio.Event().wait()
        elif not started:
            return True
        elif fault.kind == "end":
            await wire.finish()
        elif fault.kind in INSERTED:
            await wire.write(INSERTED[fault.kind])
            if fault.kind != "error_event":
                return True
            await wire.finish()
        else:
            return True
        return False

    async def _send(self, wire: Wire, frames: list[Frame], sent: int, last: Frame, pause: float) -> int:
        """Writes the frames; takes and returns the number of tokens sent so far in this answer."""
        for frame in frames:
            if pause:
                await asyncio.sleep(pause)
            if frame.token:
                await self.gate.passage(sent)
                # Even without a delay: a client that leaves must be noticed between two tokens.
                await asyncio.sleep(self.pace.token_delay)
            if frame is last:
                # Before the write: a client that has seen the end of the answer finds its time recorded.
                self.log.last_byte_times.append(time.perf_counter())
            await wire.write(frame.data)
            if frame.token:
                sent += 1
                await self.gate.passage(sent)
        return sent
