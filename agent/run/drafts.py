"""What is being written, kept on disk while it is: a crash then loses little of an answer."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from agent.run.blocking import BlockingPool
from agent.run.recorder import RunRecorder
from checkpoints import Runs, StateError

_log = logging.getLogger(__name__)


class Drafts:
    """Of all answers that are being written, in one transaction: one each for many is a third of what they cost."""

    def __init__(self, runs: Runs, blocking: BlockingPool, interval_seconds: float) -> None:
        self._runs = runs
        self._blocking = blocking
        self._interval_seconds = interval_seconds
        self._saved_texts: dict[RunRecorder, str] = {}  # what is written now, and what was kept of it
        self._save_task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def keep_draft(self, recorder: RunRecorder) -> AsyncIterator[None]:
        """Keep a draft of the run's answer every so many seconds."""
        self._saved_texts[recorder] = ""
        if self._save_task is None or self._save_task.done():
            self._save_task = asyncio.create_task(self._save_repeatedly(), name="drafts")
        try:
            yield
        finally:
            del self._saved_texts[recorder]
            if not self._saved_texts and self._save_task is not None:
                self._save_task.cancel()
                self._save_task = None

    async def _save_repeatedly(self) -> None:
        while True:
            await asyncio.sleep(self._interval_seconds)
            try:
                await self._save_all()
            except Exception as error:  # noqa: BLE001  the answers go on; the next drafts may be written again
                _log.warning("no drafts were kept: %s", error if isinstance(error, StateError) else type(error).__qualname__)

    async def _save_all(self) -> None:
        async with AsyncExitStack() as held:
            texts: dict[RunRecorder, str] = {}
            for recording, saved in list(self._saved_texts.items()):
                # Held until it is written: a crash must not show the text twice, as a draft and as the message it became.
                text = await held.enter_async_context(recording.hold_draft())
                if text not in ("", saved):
                    texts[recording] = text
            if texts:
                await self._blocking.run(
                    self._runs.save_drafts, {recording.run.id: text for recording, text in texts.items()}
                )
                self._saved_texts |= {recording: text for recording, text in texts.items() if recording in self._saved_texts}
