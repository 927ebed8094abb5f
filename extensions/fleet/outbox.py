"""The outbox of the wire: events by run and small requests, until the next flush. Consecutive texts are joined."""

import json
import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from agent.events import (
    CandidateProgress,
    Event,
    GraphProgress,
    HeadMoved,
    ReasoningDelta,
    RerunEnded,
    RunFinished,
    RunStarted,
    TextDelta,
)
from agent.run.hub import RunHub
from agent.run.outcome import locate_error
from extensions.fleet.event_json import encode_event, encode_live_run

# The limit of text while the database is unavailable. Beyond it, all is dropped, and other processes request it again.
MAX_WAITING_CHARS = 8_000_000
# The offset of events outside the runs of this process.
OUTSIDE = -1
# An item of this kind says that an event of its thread could not be written.
RENEW = "renew"
# An item of a batch: its kind, and its parts.
Item = list[Any]
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Progress:
    """How far a run of this process has come: the number of its events so far."""

    run_id: str
    attempt: int
    offset: int = 0


@dataclass(slots=True)
class _Group:
    thread_id: str
    run_id: str
    attempt: int
    offset: int
    count: int = 0
    events: list[Event] = field(default_factory=list)
    # The index of the last text of each candidate.
    texts: dict[int, int] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        self.count += 1
        number, inner = (event.number, event.event) if isinstance(event, CandidateProgress) else (0, event)
        if not isinstance(inner, TextDelta | ReasoningDelta):
            self.texts.clear()
            self.events.append(event)
            return
        index = self.texts.get(number)
        joined = _join_texts(self.events[index], inner) if index is not None else None
        if index is not None and joined is not None:
            self.events[index] = joined
        else:
            self.texts[number] = len(self.events)
            self.events.append(event)

    def encode(self) -> Item:
        return self._describe([encode_event(each) for each in self.events])

    def encode_leniently(self) -> list[Item]:
        """Return the items without unwritable events. Followers elsewhere then read the thread again."""
        encoded = [_encode_or_drop(each) for each in self.events]
        written = [each for each in encoded if each is not None]
        items = [self._describe(written)] if written else []
        return items if len(written) == len(encoded) else [*items, [RENEW, self.thread_id]]

    def _describe(self, events: list[Any]) -> Item:
        return ["events", self.thread_id, self.run_id, self.attempt, self.offset, self.count, events]


class Outbox:
    def __init__(self, hub: RunHub) -> None:
        self._hub = hub
        # The runs of this process, by thread.
        self._progress: dict[str, _Progress] = {}
        self._groups: list[_Group] = []
        # Groups that take more events, by thread.
        self._open: dict[str, _Group] = {}
        # Runs whose state another process wants, by thread.
        self._asked: dict[str, str] = {}
        self._requests: list[Item] = []
        self._char_count = 0

    @property
    def is_full(self) -> bool:
        return self._char_count > MAX_WAITING_CHARS

    def note(self, thread_id: str, event: Event, *, is_alone: bool) -> None:
        """Queue an event of this process. Nobody reads it while the process is alone."""
        if isinstance(event, RunStarted):
            self._progress[thread_id] = _Progress(event.run_id, event.attempt)
            self._open.pop(thread_id, None)
        progress = self._progress.get(thread_id)
        is_outside = progress is None or isinstance(event, HeadMoved | RerunEnded)
        if isinstance(event, RunFinished) and progress is not None and progress.run_id != event.run_id:
            is_outside = True
        if not is_alone:
            self._add(thread_id, event, None if is_outside else progress)
        if progress is not None and not is_outside:
            progress.offset += 1
            if isinstance(event, RunFinished):
                del self._progress[thread_id]
                self._open.pop(thread_id, None)

    def forget_run(self, thread_id: str) -> None:
        """Forget a run after another process has taken it."""
        self._progress.pop(thread_id, None)
        self._open.pop(thread_id, None)

    def ask_for_state(self, thread_id: str, run_id: str) -> None:
        """Add the run's state to the next batch for another process, if this process drives the run."""
        self._asked[thread_id] = run_id

    def request(self, *parts: str) -> None:
        """Add an item of a kind with its parts."""
        if list(parts) not in self._requests:
            self._requests.append(list(parts))

    def list_items(self) -> list[Item]:
        """Return all items. The states of runs come after their events."""
        groups = [group.encode() for group in self._groups]
        states = [state for each in self._asked.items() if (state := self._encode_state(*each)) is not None]
        return [*self._requests, *groups, *states]

    def list_writable_items(self) -> list[Item]:
        """Return all items without the events that JSON cannot express. Each such event is logged."""
        groups = [item for group in self._groups for item in group.encode_leniently()]
        states = [state for each in self._asked.items() if (state := self._encode_state_leniently(*each)) is not None]
        return [*self._requests, *groups, *states]

    def clear(self) -> None:
        self._groups, self._open, self._asked, self._char_count = [], {}, {}, 0
        self._requests = []

    def _add(self, thread_id: str, event: Event, progress: _Progress | None) -> None:
        group = self._open.get(thread_id)
        if progress is None:
            # This keeps the order of the thread's events.
            self._open.pop(thread_id, None)
            group = _Group(thread_id, event.run_id if isinstance(event, RunFinished) else "", 0, OUTSIDE)
            self._groups.append(group)
        elif group is None:
            group = self._open[thread_id] = _Group(thread_id, progress.run_id, progress.attempt, progress.offset)
            self._groups.append(group)
        group.add(event)
        inner = event.event if isinstance(event, CandidateProgress) else event
        if isinstance(inner, TextDelta | ReasoningDelta):
            self._char_count += len(inner.text)

    def _encode_state(self, thread_id: str, run_id: str, *, is_reduced: bool = False) -> Item | None:
        progress, live = self._progress.get(thread_id), self._hub.find_live_run(thread_id)
        if progress is None or live is None or progress.run_id != run_id or live.run_id != run_id:
            return None
        if is_reduced:
            live = replace(live, progress=GraphProgress(), work_ended=None)
        return ["state", thread_id, run_id, progress.attempt, progress.offset, encode_live_run(live)]

    def _encode_state_leniently(self, thread_id: str, run_id: str) -> Item | None:
        """Return the state of a run without the data of an unwritable event."""
        for is_reduced in (False, True):
            # The event itself is logged.
            with suppress(Exception):
                state = self._encode_state(thread_id, run_id, is_reduced=is_reduced)
                json.dumps(state)
                return state
        return None


def _encode_or_drop(event: Event) -> Any:
    """Return an event as JSON, or None if it cannot be written. It never can, and other events wait."""
    try:
        encoded = encode_event(event)
        json.dumps(encoded)
    except Exception as error:  # noqa: BLE001  (of any event)
        _log.warning("an event of a run cannot be sent to other processes: %s", locate_error(error))
        return None
    return encoded


def _join_texts(earlier: Event, later: TextDelta | ReasoningDelta) -> Event | None:
    """Return a joint event for two texts of the same kind, or None for different kinds."""
    if isinstance(earlier, CandidateProgress):
        # The joined event is a text.
        joined = _join_texts(earlier.event, later)
        return joined and CandidateProgress(earlier.number, joined)  # type: ignore[arg-type]
    if type(earlier) is not type(later):
        return None
    assert isinstance(earlier, TextDelta | ReasoningDelta)
    return type(later)(earlier.text + later.text)
