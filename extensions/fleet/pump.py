"""The pump sends the events of this process's runs, all in one batch, at the pace of the frames."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from agent.events import CandidateProgress, Event, ReasoningDelta, TextDelta
from agent.run.hub import RunHub
from agent.run.pace import choose_flush_seconds
from checkpoints import StoreUnavailableError
from checkpoints.storage.driver_errors import read_driver_sentence
from extensions.fleet.batches import write_payloads
from extensions.fleet.outbox import Item, Outbox
from extensions.fleet.peers import BEAT_SECONDS, Peers

# PostgreSQL takes less than 8,000.
MAX_PAYLOAD_BYTES = 7_900
# After a longer pause between two batches, other processes may have taken this process for gone.
MAX_STALL_SECONDS = 3.0
FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS = 0.1, 1.0
LAST_FLUSH_SECONDS = 2.0
_log = logging.getLogger(__name__)


class Pump:
    """Sends batches, or a heartbeat if there is nothing to send. It calls `recover` after it could not send for long."""

    def __init__(
        self,
        name: str,
        hub: RunHub,
        peers: Peers,
        send: Callable[[Sequence[str]], Awaitable[None]],
        recover: Callable[[], None],
    ) -> None:
        self.outbox = Outbox(hub)
        # When the oldest batch without a return was sent.
        self.unheard_since: float | None = None
        self._name, self._hub, self._peers, self._send, self._recover = name, hub, peers, send, recover
        self._wanted, self._urgent = asyncio.Event(), asyncio.Event()
        # The number of the last batch.
        self._number = 0
        # When the first event was queued, for the next batch and for each batch that has not come back.
        self._first_queued: float | None = None
        self._queued_times: dict[int, float] = {}
        self._last_sent = time.monotonic()

    def queue(self, thread_id: str, event: Event) -> None:
        """Queue an event. Text waits for the next flush, and other events go at once."""
        is_alone = self._peers.is_alone
        self.outbox.note(thread_id, event, is_alone=is_alone)
        if is_alone:
            return
        if self._first_queued is None:
            self._first_queued = time.monotonic()
        inner = event.event if isinstance(event, CandidateProgress) else event
        self.wake(is_urgent=not isinstance(inner, TextDelta | ReasoningDelta))

    def request(self, *parts: str) -> None:
        self.outbox.request(*parts)
        self.wake(is_urgent=True)

    def wake(self, *, is_urgent: bool) -> None:
        self._wanted.set()
        if is_urgent:
            self._urgent.set()

    def note_return(self, number: int) -> float | None:
        """Note that a batch has come back. Return the seconds since its first event, or None for a batch without events."""
        self.unheard_since = None
        queued = self._queued_times.pop(number, None)
        for lost in [each for each in self._queued_times if each < number]:
            del self._queued_times[lost]
        return None if queued is None else time.monotonic() - queued

    async def run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_SECONDS):
                    await self._wanted.wait()
            self._wanted.clear()
            self._urgent.clear()
            await self._send_batch()
            with suppress(TimeoutError):
                async with asyncio.timeout(choose_flush_seconds(self._hub.known_run_count)):
                    await self._urgent.wait()

    async def send_last_batch(self) -> None:
        """Send the waiting events, if the database takes them now, because the process is about to end."""
        if not self._peers.is_alone:
            with suppress(StoreUnavailableError, TimeoutError):
                async with asyncio.timeout(LAST_FLUSH_SECONDS):
                    await self._send(self._write_batch())

    async def _send_batch(self) -> None:
        """Send one batch, however long the database takes. It may arrive twice, which its number shows."""
        payloads, wait, is_logged = self._write_batch(), FIRST_RETRY_SECONDS, False
        while True:
            try:
                await self._send(payloads)
                break
            except StoreUnavailableError as error:
                if wait == MAX_RETRY_SECONDS and not is_logged:
                    _log.warning("nothing can be sent to other processes: %s", read_driver_sentence(error))
                    is_logged = True
                await asyncio.sleep(wait)
                wait = min(wait * 2, MAX_RETRY_SECONDS)
        if is_logged:
            _log.warning("events are sent to other processes again")
        now, before = time.monotonic(), self._last_sent
        self._last_sent = now
        if self.unheard_since is None:
            self.unheard_since = now
        if now - before > MAX_STALL_SECONDS:
            self._recover()

    def _write_batch(self) -> list[str]:
        self._number += 1
        if self.outbox.is_full:
            self.outbox.clear()
            # The missing number shows that something was dropped.
            self._number += 1
        if self._first_queued is not None:
            self._queued_times[self._number], self._first_queued = self._first_queued, None
        try:
            payloads = self._write_payloads(self.outbox.list_items())
        except Exception:  # noqa: BLE001  (of any event; it is logged where it is left out)
            payloads = self._write_payloads(self.outbox.list_writable_items())
        self.outbox.clear()
        return payloads

    def _write_payloads(self, items: list[Item]) -> list[str]:
        return write_payloads(self._name, self._number, items, MAX_PAYLOAD_BYTES)
