"""Carries the stream of a graph from its own thread to the pages, in few deliveries: a graph may stream without end."""

import asyncio
from collections.abc import Callable
from threading import Lock

from agent.events import Event, GraphProgress
from agent.run.recorder import RunRecorder
from checkpoints import StateError

DELIVERY_SECONDS = 0.05


class Reporter:
    """Collects the text and the progress of one run. `add_text` and `show_progress` may be called on any thread."""

    def __init__(self, recorder: RunRecorder, publish: Callable[[Event], None], max_chars: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._recorder = recorder
        self._publish = publish
        self._chars_left = max_chars
        self._lock = Lock()
        self._texts: list[str] = []
        self._progress: GraphProgress | None = None
        self._is_scheduled = False
        self._next_at = 0.0  # of the loop's clock

    def add_text(self, text: str) -> None:
        """Add text of an answer in progress. Beyond the limit it is dropped: only the saver's messages count."""
        with self._lock:
            self._texts.append(text[: self._chars_left])
            self._chars_left -= len(self._texts[-1])
        self._schedule()

    def show_progress(self, progress: GraphProgress) -> None:
        """Replace the progress that the pages show."""
        with self._lock:
            self._progress = progress
        self._schedule()

    def deliver_all(self) -> None:
        """Publish all that was collected. Call it on the loop of the pages."""
        with self._lock:
            text, progress = "".join(self._texts), self._progress
            self._texts, self._progress, self._is_scheduled = [], None, False
        self._next_at = self._loop.time() + DELIVERY_SECONDS
        try:
            if text:
                self._recorder.append_text(text)
            if progress is not None:
                self._recorder.check_open()
                self._publish(progress)
        except StateError:
            pass  # the run has ended: its work was let go of

    def _schedule(self) -> None:
        with self._lock:
            if self._is_scheduled:
                return
            self._is_scheduled = True
        self._loop.call_soon_threadsafe(self._deliver_in_time)

    def _deliver_in_time(self) -> None:
        self._loop.call_later(max(0.0, self._next_at - self._loop.time()), self.deliver_all)
