"""What is being written, kept on disk while it is: a crash then loses little of an answer."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from agent.recording import Call, Recording
from checkpoints import Runs, StateError

_log = logging.getLogger(__name__)


class Drafts:
    """Of all answers that are being written, in one transaction: one each for many is a third of what they cost."""

    def __init__(self, runs: Runs, call: Call, seconds: float) -> None:
        self._runs = runs
        self._call = call
        self._seconds = seconds
        self._saved: dict[Recording, str] = {}  # what is written now, and what was kept of it
        self._keeping: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def of(self, recording: Recording) -> AsyncIterator[None]:
        """Keep a draft of the run's answer every so many seconds."""
        self._saved[recording] = ""
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep(), name="drafts")
        try:
            yield
        finally:
            del self._saved[recording]
            if not self._saved and self._keeping is not None:
                self._keeping.cancel()
                self._keeping = None

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self._keep_once()
            except Exception as error:  # noqa: BLE001  the answers go on; the next drafts may be written again
                _log.warning("no drafts were kept: %s", error if isinstance(error, StateError) else type(error).__qualname__)

    async def _keep_once(self) -> None:
        async with AsyncExitStack() as held:
            texts: dict[Recording, str] = {}
            for recording, saved in list(self._saved.items()):
                # Held until it is written: a crash must not show the text twice, as a draft and as the message it became.
                text = await held.enter_async_context(recording.drafted())
                if text not in ("", saved):
                    texts[recording] = text
            if texts:
                await self._call(self._runs.save_drafts, {recording.run.id: text for recording, text in texts.items()})
                self._saved |= {recording: text for recording, text in texts.items() if recording in self._saved}
