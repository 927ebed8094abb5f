"""The pace at which an app reads its models' streams: larger pieces where many models answer at once.

The cost of one read, of its parsing and of its publishing is the same for one token and for four. So all streams are read
at shared moments, and the pause between two moments grows with their number. The beginning of a single stream is read
without a pause, and the rest twenty times a second.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

PAUSE_SECONDS_PER_STREAM = 0.0066  # s between two reads, for each other stream
UNDER_WAY_PAUSE_SECONDS = 0.05  # s between two reads of an answer after its first ones: a page gets a frame every 40 ms
UNDER_WAY_PAUSE_SECONDS_PER_STREAM = 0.0125  # s more for each other stream
MAX_UNDER_WAY_PAUSE_SECONDS = 0.16  # s; from 25 streams on, the pause of all reads is longer
MAX_READ_PAUSE_SECONDS = 0.3  # s
FIRST_READS = 8  # of an answer, before it counts as under way: its first words, and all of a short one
MAX_END_BYTES = 64  # of a line that may be the end
MAX_ENDING_SECONDS = 1.0  # s for the rest of a response after its last event; only a finished connection is used again
_Arrival = bytes | Exception | None  # a piece, the failure of reading, or the end


class StreamPacer:
    """The number of streams that an app reads now, and the pause between its reads."""

    def __init__(self) -> None:
        self._stream_count = 0
        # That streams wait for, by their loop and its time. A loop may end, and another one begin, within one pause.
        self._moments: dict[tuple[asyncio.AbstractEventLoop, float], asyncio.Event] = {}

    @property
    def pause_seconds(self) -> float:
        """Return the seconds between two shared moments; 0 or less for a single stream."""
        return min((self._stream_count - 1) * PAUSE_SECONDS_PER_STREAM, MAX_READ_PAUSE_SECONDS)

    @contextmanager
    def count_stream(self) -> Iterator[None]:
        """Count one more stream while it is read."""
        self._stream_count += 1
        try:
            yield
        finally:
            self._stream_count -= 1

    def find_pause(self, reads: int) -> float:
        """Return the seconds between two shared moments for an answer of which so many pieces have been read."""
        if self._stream_count == 0 or reads <= FIRST_READS:
            return self.pause_seconds
        longer = UNDER_WAY_PAUSE_SECONDS + (self._stream_count - 1) * UNDER_WAY_PAUSE_SECONDS_PER_STREAM
        return max(self.pause_seconds, min(longer, MAX_UNDER_WAY_PAUSE_SECONDS))

    async def wait_for_moment(self, pause: float) -> None:
        """Wait until the next moment that all streams with this pause share. They have one timer, and wake up together.

        Beside a thread at work, each timer of its own would wait for Python's lock, a fraction of a millisecond.
        """
        loop = asyncio.get_running_loop()
        moment = (loop.time() // pause + 1) * pause
        key = loop, moment
        if key not in self._moments:
            self._moments[key] = asyncio.Event()
            loop.call_at(moment, self._wake_streams, key)
        await self._moments[key].wait()

    def _wake_streams(self, key: tuple[asyncio.AbstractEventLoop, float]) -> None:
        self._moments.pop(key).set()


async def gather_ready(parts: AsyncIterator[bytes], has_end: Callable[[bytes], bool]) -> AsyncIterator[bytes]:
    """Yield the same bytes, and join pieces that come without a wait between them. The piece with the end is the last.

    After it nothing reads from `parts` any more: the client reads the rest itself, and fails where two read at once.
    """
    arrived: asyncio.Queue[_Arrival] = asyncio.Queue()
    reading = asyncio.create_task(_read_parts(parts, arrived), name="reading from a model")
    try:
        last: _Arrival = b""
        line = b""  # the end may be divided between two pieces
        while isinstance(last, bytes):
            joined, last = await _take_ready(arrived)
            line += joined
            if has_end(line):
                await asyncio.wait({reading}, timeout=MAX_ENDING_SECONDS)
                reading.cancel()
                await asyncio.wait({reading})
                yield joined
                return
            line = line[_find_last_line(line) :][:MAX_END_BYTES]
            if joined:
                yield joined
        if isinstance(last, Exception):
            raise last
    finally:
        reading.cancel()
        await asyncio.wait({reading})


async def _read_parts(parts: AsyncIterator[bytes], arrived: asyncio.Queue[_Arrival]) -> None:
    try:
        async for part in parts:
            arrived.put_nowait(part)
    except Exception as error:  # noqa: BLE001  (of any kind: the reader raises it)
        arrived.put_nowait(error)
    finally:
        arrived.put_nowait(None)


async def _take_ready(arrived: asyncio.Queue[_Arrival]) -> tuple[bytes, _Arrival]:
    """Wait for a piece, and return all that are there, joined, and the last arrival. Only bytes are followed by others."""
    pieces = []
    last = await arrived.get()
    while isinstance(last, bytes):
        pieces.append(last)
        if arrived.empty():
            break
        last = arrived.get_nowait()
    return b"".join(pieces), last


def _find_last_line(text: bytes) -> int:
    return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
