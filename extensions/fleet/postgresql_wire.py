"""The wire over PostgreSQL's notifications: each process sees the runs of the others like its own.

A single process sends only a heartbeat a second.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from agent.events import Event
from agent.run.hub import RunHub
from agent.run.live_runs import RunKey
from agent.run.wire import CommandCallback
from checkpoints import StoreUnavailableError
from checkpoints.storage.driver_errors import read_driver_sentence
from checkpoints.values.sentence import sentence
from extensions.fleet.batches import Batch, BatchReader
from extensions.fleet.event_json import decode_event, decode_live_run
from extensions.fleet.followed_rows import FollowedRows
from extensions.fleet.mirror import EventGroup, Mirror
from extensions.fleet.peers import BEAT_SECONDS, Peers
from extensions.fleet.pump import FIRST_RETRY_SECONDS, MAX_RETRY_SECONDS, Pump

# A sent batch must come back within this time, or the listener is deaf.
MAX_UNHEARD_SECONDS = 3.0
CANCEL_SECONDS = 0.5
# Then pages say that updates are delayed.
NOTICE_AFTER_SECONDS = 1.0
DEAF_TEXT = sentence("PostgreSQL's notifications do not arrive: is a pooler in transaction mode between it and Waymark?")

_log = logging.getLogger(__name__)


class Notifications(Protocol):
    """Texts for all processes (see checkpoints.storage.notifications)."""

    async def send(self, payloads: Sequence[str]) -> None: ...

    def listen(self, idle_seconds: float) -> AsyncGenerator[str]: ...

    async def close(self) -> None: ...


class PostgresqlWire:
    """A wire (see wire.Wire). It sends what the hub publishes, and gives the hub the events of other processes."""

    def __init__(self, hub: RunHub, notifications: Notifications, rows: FollowedRows) -> None:
        self.publish = hub.publish
        self.load_event = rows.load_event
        self.reconnect_count = 0
        # Called with the seconds from an event to its arrival.
        self.delay_observers: list[Callable[[float], None]] = []
        self._name = secrets.token_hex(6)
        self._hub, self._notifications, self._rows = hub, notifications, rows
        self._peers, self._reader = Peers(), BatchReader(self._name)
        self._pump = Pump(self._name, hub, self._peers, notifications.send, self._recover)
        self._mirror = Mirror(hub, self._ask, self._pump.outbox.forget_run)
        self._commands: list[CommandCallback] = []
        self._is_listening = False
        self._tasks: list[asyncio.Task[None]] = []
        hub.observe(self._note)
        hub.remote_runs = self

    @property
    def is_alone(self) -> bool:
        return self._peers.is_alone

    def start(self) -> None:
        """Begin to send and to listen, in the running event loop."""
        self._tasks = [
            asyncio.create_task(self._listen_repeatedly(), name="wire: listener"),
            asyncio.create_task(self._pump.run(), name="wire: pump"),
        ]

    async def close(self) -> None:
        """Send the waiting events, and end."""
        while running := [task for task in self._tasks if not task.done()]:
            for task in running:
                task.cancel()
            # A driver may take a cancellation for its own.
            await asyncio.wait(running, timeout=CANCEL_SECONDS)
        if self._tasks:
            await self._pump.send_last_batch()
        await self._notifications.close()

    def send(self, command: str, thread_id: str, run_id: str) -> None:
        """Send a command to the other processes, if there are any."""
        if not self._peers.is_alone:
            self._pump.request("command", command, thread_id, run_id)

    def on_command(self, callback: CommandCallback) -> None:
        self._commands.append(callback)

    async def load_run(self, thread_id: str) -> None:
        """Load a thread's run into the hub: in full from the process that drives it, or else from its draft."""
        # A busy machine or an outage may silence processes that are at work. Their rows show their runs.
        is_alone = self._peers.is_alone and self._is_listening and not self._peers.was_any_heard
        if is_alone or not self._mirror.needs_run(thread_id):
            return
        draft = await self._rows.read_running(thread_id)
        if draft is None or not self._mirror.needs_run(thread_id, draft.run_id):
            return
        if self._is_listening and await self._mirror.wait_for_run(thread_id, draft.run_id):
            return
        # The run may have ended, and its process may be dead.
        draft = await self._rows.read_running(thread_id)
        if draft is not None and self._mirror.needs_run(thread_id, draft.run_id):
            self._mirror.show_draft(thread_id, draft)

    def _ask(self, thread_id: str, run_id: str) -> None:
        self._pump.request("ask", thread_id, run_id)

    def _note(self, thread_id: str, event: Event) -> None:
        self._mirror.note_own_event(thread_id, event)
        self._pump.queue(thread_id, event)

    async def _listen_repeatedly(self) -> None:
        wait, is_logged = FIRST_RETRY_SECONDS, False
        while True:
            try:
                await self._listen()
            except StoreUnavailableError as error:
                if self._is_listening or not is_logged:
                    _log.warning("the wire to other processes is cut: %s", read_driver_sentence(error))
                    wait, is_logged = FIRST_RETRY_SECONDS, True
                    if not self._peers.is_alone:
                        asyncio.get_running_loop().call_later(NOTICE_AFTER_SECONDS, self._report_delay)
            self._is_listening = False
            self._peers.stop_hearing()
            await asyncio.sleep(wait)
            wait = min(wait * 2, MAX_RETRY_SECONDS)
            self.reconnect_count += 1

    async def _listen(self) -> None:
        """Receive until the connection is lost. Raises `StoreUnavailableError`."""
        async with aclosing(self._notifications.listen(BEAT_SECONDS)) as payloads:
            async for payload in payloads:
                if not self._is_listening:
                    self._is_listening = True
                    self._pump.unheard_since = None
                    self._recover()
                unheard_since = self._pump.unheard_since
                if payload:
                    self._receive(payload)
                elif unheard_since is not None and time.monotonic() - unheard_since > MAX_UNHEARD_SECONDS:
                    raise StoreUnavailableError(DEAF_TEXT)

    def _recover(self) -> None:
        """Restart after a possible loss: followers subscribe again, and other processes announce themselves."""
        self._peers.restart()
        self._reader.clear()
        self._mirror.forget_runs()
        self._pump.request("hello")

    def _report_delay(self) -> None:
        if not self._is_listening:
            self._hub.report_delay()

    def _receive(self, payload: str) -> None:
        try:
            batch = self._reader.read(payload)
        except ValueError:
            _log.warning("a notification on the wire is of something else")
            return
        if batch is not None:
            self._take_in(batch)
        gone = self._peers.remove_silent()
        for name in gone:
            self._reader.forget(name)
        # They may have written an end without a word about it.
        if gone:
            self._mirror.look_again()

    def _take_in(self, batch: Batch) -> None:
        if batch.sender == self._name:
            self._note_return(batch.number)
            return
        self._peers.hear(batch.sender)
        if batch.has_gap:
            self._recover()
        for item in batch.items:
            try:
                self._take_item(item)
            except Exception:  # noqa: BLE001  (of another version of Waymark: the numbers of its run's events then tell)
                _log.exception("an item on the wire is not understood")

    def _note_return(self, number: int) -> None:
        seconds = self._pump.note_return(number)
        if seconds is not None:
            for observe in self.delay_observers:
                observe(seconds)

    def _take_item(self, item: list[Any]) -> None:
        match item:
            case ["events", thread_id, run_id, attempt, offset, count, events]:
                decoded = [decode_event(each) for each in events]
                self._mirror.receive_events(EventGroup(thread_id, RunKey(run_id, attempt), offset, count, decoded))
            case ["state", thread_id, run_id, attempt, offset, live]:
                self._mirror.receive_state(thread_id, RunKey(run_id, attempt), offset, decode_live_run(live))
            case ["renew", thread_id]:
                self._mirror.forget_run(thread_id)
            case ["ask", thread_id, run_id]:
                self._pump.outbox.ask_for_state(thread_id, run_id)
                self._pump.wake(is_urgent=True)
            case ["command", command, thread_id, run_id]:
                for call in self._commands:
                    call(command, thread_id, run_id)
            case ["hello"]:
                self._pump.wake(is_urgent=True)
                self._mirror.ask_again()
