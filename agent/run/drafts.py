"""Drafts of running answers on disk, so a crash loses little text."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from agent.events import DraftsFailed
from agent.run.blocking import BlockingPool
from agent.run.recorder import RunRecorder
from checkpoints import Draft, Runs, StateError, StoreBusyError, StoreUnavailableError

_EMPTY = Draft()
_log = logging.getLogger(__name__)


class Drafts:
    """Saves the drafts of all runs in one transaction, since a transaction for each costs three times as much."""

    def __init__(
        self,
        *,
        runs: Runs,
        blocking: BlockingPool,
        interval_seconds: float,
        publish: Callable[[str, DraftsFailed], None] = lambda *_: None,
    ) -> None:
        self._runs = runs
        self._blocking = blocking
        self._interval_seconds = interval_seconds
        # The first argument is a thread's id.
        self._publish = publish
        # Why the last drafts were not saved.
        self._failure = ""
        # Drafts of the runs in progress, by their recorders.
        self._saved: dict[RunRecorder, Draft] = {}
        self._save_task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def keep_draft(self, recorder: RunRecorder) -> AsyncIterator[None]:
        """Save a draft of the run's answer every `interval_seconds`."""
        self._saved[recorder] = _EMPTY
        if self._save_task is None or self._save_task.done():
            self._save_task = asyncio.create_task(self._save_repeatedly(), name="drafts")
        try:
            yield
        finally:
            del self._saved[recorder]
            if not self._saved and self._save_task is not None:
                self._save_task.cancel()
                self._save_task = None

    async def _save_repeatedly(self) -> None:
        while True:
            await asyncio.sleep(self._interval_seconds)
            try:
                await self._save_all()
            # A stray cancellation counts as a failure, too: the answers continue, and the next save may succeed.
            except (Exception, asyncio.CancelledError) as error:
                if (task := asyncio.current_task()) and task.cancelling():
                    raise
                self._report_failure(error)

    def _report_failure(self, error: BaseException) -> None:
        """Log a failure and show an outage on the pages, once for each cause until drafts are saved again."""
        cause = str(error) if isinstance(error, StateError) else type(error).__qualname__
        if cause == self._failure:
            return
        self._failure = cause
        _log.warning("no drafts were kept: %s", cause)
        if isinstance(error, StoreUnavailableError) and not isinstance(error, StoreBusyError):
            for thread_id in {recorder.run.thread_id for recorder in self._saved}:
                self._publish(thread_id, DraftsFailed(cause))

    def _report_recovery(self) -> None:
        if self._failure:
            self._failure = ""
            _log.warning("drafts are kept again")

    async def _save_all(self) -> None:
        async with AsyncExitStack() as locks:
            drafts: dict[RunRecorder, Draft] = {}
            for recorder, saved in list(self._saved.items()):
                # The lock lasts until the draft is written, so a crash cannot show a text both as draft and as message.
                draft = await _hold_at_once(recorder, locks)
                if draft is not None and draft not in (_EMPTY, saved):
                    drafts[recorder] = draft
            if drafts:
                own = {each.run.id: draft for each, draft in drafts.items() if each.writer.candidate_key is None}
                candidates = {key: draft for each, draft in drafts.items() if (key := each.writer.candidate_key)}
                attempts = {each.run.id: each.run.attempt for each in drafts}
                await self._blocking.run(self._runs.save_drafts, own, candidates, attempts)
                self._report_recovery()
                self._saved |= {recorder: draft for recorder, draft in drafts.items() if recorder in self._saved}


async def _hold_at_once(recorder: RunRecorder, locks: AsyncExitStack) -> Draft | None:
    """Hold the draft of a run. Return None while a message of the run is being written, since all others would wait."""
    try:
        async with asyncio.timeout(0):
            return await locks.enter_async_context(recorder.hold_draft())
    except TimeoutError:
        return None
