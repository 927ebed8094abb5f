"""The services of callbacks: the store and the runner, behind calls that do not block the server."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from agent.context.prices import Prices
from agent.events import HeadMoved
from agent.models.catalog import DEMO_SPECS
from agent.run.hub import RunHub
from agent.run.runner import Runner
from agent.run.wire import ProcessWire
from agent.settings import ModelCatalog
from agent.tracing.events import TRACED_OPERATIONS
from agent.tracing.protocol import NO_TRACING, Tracer
from checkpoints import Caller, Receipt, Runs, StateError, Store, StoreUnavailableError
from checkpoints.people.audit_log import DEFAULT_AUDIT_DAYS
from checkpoints.storage.driver_errors import SILENT_TEXT
from checkpoints.values.model import ThreadProgress
from components import page_state
from components.broadcasts import Broadcasts
from components.list_broadcast import ListBroadcast
from components.model_connector import ModelConnector
from components.people import name_for_owner
from components.shared_pages import SharedPages
from components.shared_reads import SharedReads
from components.sign_in import OwnSessions, ServerPeople
from components.transfers.long_requests import LongRequests
from components.transfers.uploads import Uploads
from components.workers.redacted_exports import RedactedExports
from components.workers.rendering import Renderer
from words import N_, _

# Other changes take their turn in this pause between two portions.
PAUSE_SECONDS = 0.02
_log = logging.getLogger(__name__)
DEMO_LINE = N_("Demo model: it makes things up.")
MAX_READ_SECONDS = 15.0
# This is longer than a check waits for a lock or a connection.
MAX_CHECK_SECONDS = 5.0
READING_THREADS = 6
# This many conversations may use a second thread at the same time. All others have a single thread each.
SECOND_READINGS = 1
P = ParamSpec("P")
T = TypeVar("T")


class SearchIndexing:
    """A single task that indexes until the queue is empty."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    def ensure_running(self, index_portion: Callable[[], Awaitable[bool]]) -> None:
        """Start indexing, unless it is already running. After an outage, the next call starts it again."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._index(index_portion), name="index for the search")

    async def _index(self, index_portion: Callable[[], Awaitable[bool]]) -> None:
        try:
            while await index_portion():  # noqa: ASYNC110  (a pause, not a wait)
                await asyncio.sleep(PAUSE_SECONDS)
        except StateError as error:
            # The database itself reports an outage.
            _log.warning("indexing for the search ended: %s", error)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})


class _Lane:
    def __init__(self) -> None:
        self.first = asyncio.Lock()
        self.has_second = False


class Readers:
    """Threads for reading only, so no read delays a change.

    Each conversation has its own thread, and a single conversation at a time may use a second. A conversation waits only
    while five others are being read.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="waymark-read")
        # A lane lives as long as a read holds it.
        self._lanes: WeakValueDictionary[str, _Lane] = WeakValueDictionary()
        self._second_readings = asyncio.Semaphore(SECOND_READINGS)
        # Reads without a conversation, such as the list, have their own second thread.
        self._second_list = asyncio.Semaphore()

    async def run(self, read: Callable[[], T], conversation: str) -> T:
        lane = self._lanes.get(conversation)
        if lane is None:
            lane = self._lanes[conversation] = _Lane()
        second = self._second_readings if conversation else self._second_list
        if lane.first.locked() and not second.locked() and not lane.has_second:
            async with second:
                lane.has_second = True
                try:
                    return await self._read(read)
                finally:
                    lane.has_second = False
        async with lane.first:
            return await self._read(read)

    async def _read(self, read: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, copy_context().run, read)

    def close(self) -> None:
        self._pool.shutdown()


@dataclass(frozen=True)
class Services:
    """The parts joined by `create_app`. Two apps share none of them."""

    store: Store
    runs: Runs
    runner: Runner
    hub: RunHub
    pool: ThreadPoolExecutor
    models: ModelCatalog
    # It returns False while runs would have to wait for the agent's libraries.
    is_loaded: Callable[[], bool] = lambda: True
    # Without a connector, the page cannot connect a model.
    connector: ModelConnector | None = None
    tracer: Tracer = NO_TRACING
    prices: Prices = field(default_factory=dict)
    # It starts no process before a text is expensive.
    renderer: Renderer = field(default_factory=Renderer)
    readers: Readers = field(default_factory=Readers)
    redacted_exports: RedactedExports = field(default_factory=RedactedExports)
    broadcasts: Broadcasts = field(default_factory=Broadcasts)
    list_broadcast: ListBroadcast = field(default_factory=ListBroadcast)
    long_requests: LongRequests = field(default_factory=LongRequests)
    uploads: Uploads = field(default_factory=Uploads)
    # The wire connects to other processes, if there are any.
    wire: ProcessWire | None = None
    # The proxy that signs people in has this sign-out address.
    sign_out_url: str | None = None
    # The people who sign in here; None if nobody does, or a single person.
    people: ServerPeople | None = None
    # The sessions of people who sign in here; None if nobody does.
    sessions: OwnSessions | None = None
    audit_days: int = DEFAULT_AUDIT_DAYS
    shared_pages: SharedPages = field(default_factory=SharedPages)
    search_indexing: SearchIndexing = field(default_factory=SearchIndexing)
    progress_reads: SharedReads[ThreadProgress] = field(default_factory=SharedReads)
    # Its own thread answers a health check while all other threads are busy.
    health: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="waymark-health"))

    def describe_demo(self, name: str) -> str | None:
        """Return the line for the demo model; None for other models."""
        return _(DEMO_LINE) if name in DEMO_SPECS else None

    async def run_blocking(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking work that may write, on the pool."""
        # The copied context has the language of the request.
        work = partial(copy_context().run, partial(function, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(self.pool, work)

    async def read_snapshot(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run work that only reads, in a snapshot, so no panel shows half of a change.

        Raises `TakesTooLongError` when the database takes longer than `MAX_READ_SECONDS`.
        """

        def run_in_snapshot() -> T:
            with self.store.database.begin_read(seconds=MAX_READ_SECONDS):
                return function(*args, **kwargs)

        return await self.readers.run(run_in_snapshot, _conversation(args))

    async def read_version(self, thread_id: str) -> int:
        """Return the version of a conversation. Raises `ThreadNotFoundError`."""
        return (await self.read_progress(thread_id)).version

    async def read_progress(self, thread_id: str) -> ThreadProgress:
        """Return how far a conversation is. Concurrent callers share the read. Raises `ThreadNotFoundError`."""

        async def read() -> ThreadProgress:
            return await self.read_snapshot(self.store.get_progress, thread_id)

        return await self.progress_reads.share(name_for_owner(thread_id), read)

    async def belongs_to_another(self, thread_id: str) -> bool:
        """Return whether a conversation exists and belongs to another owner. With a single owner, this reads nothing."""
        separates = self.store.database.separates_owners
        return separates and await self.read_snapshot(self.store.belongs_to_another, thread_id)

    def start_indexing(self) -> None:
        """Index the segments queued for the search, in the background."""
        self.search_indexing.ensure_running(lambda: self.run_blocking(self.store.index_portion))

    async def check(self) -> None:
        """Check the database. Raises `StoreUnavailableError`, also if it does not answer within `MAX_CHECK_SECONDS`."""
        database = self.store.database
        try:
            async with asyncio.timeout(MAX_CHECK_SECONDS):
                await asyncio.get_running_loop().run_in_executor(self.health, database.check_health)
        except TimeoutError:
            # A server that hangs keeps its connections open, so nothing else would end the check.
            with database.track_failures("read"):
                raise StoreUnavailableError(SILENT_TEXT) from None

    def close(self) -> None:
        """Wait for the current work, then end the threads, and the processes that render and redact."""
        self.renderer.close()
        self.redacted_exports.close()
        self.shared_pages.close()
        self.readers.close()
        self.health.shutdown()
        self.pool.shutdown()

    async def apply_change(
        self, change: Callable[Concatenate[str, P], Receipt], thread_id: str, *args: P.args, **kwargs: P.kwargs
    ) -> Receipt:
        """Apply a change of the store and notify every page with the thread."""
        receipt = await self.run_blocking(change, thread_id, *args, **kwargs)
        self.hub.publish(thread_id, HeadMoved(receipt.version))
        self.trace_change(receipt)
        return receipt

    async def apply_changes(self, changes: Sequence[Callable[[], Receipt]]) -> list[Receipt | StateError]:
        """Apply changes of several conversations, each in its own transaction. A refused change returns its error."""
        done = await self.run_blocking(lambda: [_try_change(change) for change in changes])
        for each in done:
            if isinstance(each, Receipt):
                self.hub.publish(each.operation.thread_id, HeadMoved(each.version))
                self.trace_change(each)
        return done

    def trace_change(self, receipt: Receipt) -> None:
        """Record a change in the tracer, if its kind is traced."""
        if receipt.operation.kind in TRACED_OPERATIONS and not receipt.repeated:
            self.tracer.record(receipt.operation)


def _try_change(change: Callable[[], Receipt]) -> Receipt | StateError:
    try:
        return change()
    except StateError as error:
        return error


def _conversation(arguments: Sequence[object]) -> str:
    """Return the id of the thread to read: from a page location, or from the first text, which is or ends with the id."""
    for each in arguments:
        if isinstance(each, page_state.PageLocation):
            return each.thread_id or ""
        if isinstance(each, str):
            return each.rpartition("/")[2]
    return ""


def read_caller(action: Mapping[str, object]) -> Caller:
    """Return the caller of an action: its request id, and the version seen by the user."""
    version = action.get("version")
    return Caller(request_id=str(action["request_id"]), expected_version=version if isinstance(version, int) else None)
