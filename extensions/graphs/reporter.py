"""Carries the stream of a graph from its own thread to the pages, in few deliveries: a graph may stream without end."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from threading import Lock

from agent.events import Event, GraphProgress, TextBegun
from agent.run.live_runs import TEXT_BREAK
from agent.run.recorder import RunRecorder
from checkpoints import MAIN, StateError

DELIVERY_SECONDS = 0.05


@dataclass(eq=False, slots=True)
class MessageText:
    """The text of a message in progress. `agent` is the subgraph that writes it; empty for the graph itself."""

    agent: str = ""
    fresh: list[str] = field(default_factory=list)  # not delivered yet
    delivered: list[str] = field(default_factory=list)
    is_ended: bool = False
    is_saved: bool = False  # in a subgraph's state


class Reporter:
    """Collects the texts and the progress of one run. Only `deliver_all` and `keep_unsaved` want the loop of the pages."""

    def __init__(self, recorder: RunRecorder, publish: Callable[[Event], None], max_chars: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._recorder = recorder
        self._publish = publish
        self._chars_left = max_chars
        self._lock = Lock()
        self._texts: dict[MessageText, None] = {}  # since the graph's last state, in their order
        self._progress: GraphProgress | None = None
        self._is_scheduled = False
        self._next_at = 0.0  # of the loop's clock

    def add_text(self, text: MessageText, piece: str) -> None:
        """Add a piece of a message in progress. Beyond the limit it is dropped: only the saver's messages count."""
        with self._lock:
            self._texts[text] = None
            text.fresh.append(piece[: self._chars_left])
            self._chars_left -= len(text.fresh[-1])
        self._schedule()

    def end_texts(self, texts: Iterable[MessageText], *, are_saved: bool) -> None:
        """Note the end of messages: now others that are written at the same time are shown."""
        with self._lock:
            for text in texts:
                text.is_ended, text.is_saved = True, are_saved
        self._schedule()

    def forget_texts(self) -> None:
        """Forget all texts: the graph has a new state, and nothing before it is in progress."""
        with self._lock:
            self._texts = {}

    def keep_unsaved(self) -> None:
        """Let the recorder keep no text that a waiting subgraph has: it is shown with the question."""
        with self._lock:
            texts = list(self._texts)
        if any(text.is_saved for text in texts):
            unsaved = ["".join(each.delivered) for each in texts if not each.is_saved]
            self._recorder.drop_text(is_shown=True)
            self._recorder.keep_text(TEXT_BREAK.join(unsaved), MAIN)

    def show_progress(self, progress: GraphProgress) -> None:
        """Replace the progress that the pages show."""
        with self._lock:
            self._progress = progress
        self._schedule()

    def deliver_all(self, *, is_end: bool = False) -> None:
        """Publish what was collected. Call it on the loop of the pages; `is_end`: no message in progress goes on."""
        with self._lock:
            pieces, progress = self._take_pieces(is_end=is_end), self._progress
            self._progress, self._is_scheduled = None, False
        self._next_at = self._loop.time() + DELIVERY_SECONDS
        try:
            for begun, piece in pieces:
                if begun is not None:
                    self._begin_text(begun.agent)
                self._recorder.append_text(piece)
            if progress is not None:
                self._recorder.check_open()
                self._publish(progress)
        except StateError:
            pass  # the run has ended: its work was let go of

    def _take_pieces(self, *, is_end: bool) -> list[tuple[MessageText | None, str]]:
        """Take the new pieces, the first of a message with it. Messages written at once come one after the other."""
        pieces: list[tuple[MessageText | None, str]] = []
        for text in self._texts:
            if text.fresh:
                pieces.append((None if text.delivered else text, "".join(text.fresh)))
                text.delivered += text.fresh
                text.fresh = []
            if not (text.is_ended or is_end):
                break
        return pieces

    def _begin_text(self, agent: str) -> None:
        """Tell that another message begins. The first of the graph itself needs no words."""
        if self._recorder.find_text(MAIN):
            self._recorder.keep_text(TEXT_BREAK, MAIN)
        elif not agent:
            return
        self._publish(TextBegun(agent))

    def _schedule(self) -> None:
        with self._lock:
            if self._is_scheduled:
                return
            self._is_scheduled = True
        self._loop.call_soon_threadsafe(self._deliver_in_time)

    def _deliver_in_time(self) -> None:
        self._loop.call_later(max(0.0, self._next_at - self._loop.time()), self.deliver_all)
