"""The frames of a conversation: the events of its run, with described messages and formatted text."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from functools import partial
from itertools import groupby

from agent.events import (
    CandidateProgress,
    Event,
    GraphProgress,
    HeadMoved,
    MessageAdded,
    ReasoningDelta,
    RunFinished,
    RunQueued,
    RunStarted,
    TextBegun,
    TextDelta,
    TextWithdrawn,
    WorkEnded,
)
from agent.run.live_runs import NO_PROGRESS, LiveRun
from agent.run.pace import choose_flush_seconds
from agent.subagents.delegation import load_last_turn
from checkpoints import StateError, ThreadNotFoundError
from checkpoints.values.model import ThreadProgress
from components.broadcasts import Frame
from components.people import name_for_owner
from components.services import Services
from components.streams.candidate_frames import CandidateFrames, is_text
from components.streams.event_frames import build_event_frame, build_plain_frame, build_start_frame
from components.streams.list_changes import follow_list_changes
from components.streams.live_answer import NO_TEXT, LiveAnswer
from words import get_language

# An expensive text is formatted less often.
FRAME_SECONDS_OF_LOOK_SECONDS = 10
MAX_PAUSE_SECONDS = 2.0
_log = logging.getLogger(__name__)
# An expected conversation must begin within this time.
MAX_EXPECTED_SECONDS = 10.0

# The texts are consecutive.
CandidateTexts = tuple[CandidateProgress, ...]
# Describe how a turn of the run changes the panels; without a run id, how a new title does. Takes the thread's and the
# run's id.
DescribeTurn = Callable[[Services, str, str | None], Frame | None]


def choose_pause_seconds(runs: int, look_seconds: float) -> float:
    """Choose the seconds between two frames of text. `look_seconds` is the duration of the last formatting."""
    return max(choose_flush_seconds(runs), min(look_seconds * FRAME_SECONDS_OF_LOOK_SECONDS, MAX_PAUSE_SECONDS))


def describe_nothing(_: Services, __: str, ___: str | None) -> None:
    """Let the page read every panel after a turn."""


async def stream_frames(
    services: Services, thread_id: str, *, is_expected: bool = False, describe_turn: DescribeTurn = describe_nothing
) -> AsyncGenerator[Frame]:
    """Yield the frames of a page.

    Raises `ThreadNotFoundError`, or `TimeoutError` if an expected conversation does not begin.
    """
    if is_expected and await services.belongs_to_another(thread_id):
        # It is followed as a conversation that never begins.
        thread_id = ""
    create_source = partial(ThreadFrames, services, thread_id, describe_turn)
    key = name_for_owner(f"{thread_id} {get_language()}")
    async with services.broadcasts.follow(key, create_source) as waiting:
        hello = await waiting.take()
        if is_expected and hello["run"] is not None:
            # The page knows no message yet.
            candidates = {"candidates": hello["run"]["candidates"]} if "candidates" in hello["run"] else {}
            yield await _repeat_start(services, thread_id, hello["run"]["id"]) | candidates
        read_progress = _read_expected_progress if is_expected else Services.read_progress
        progress = await read_progress(services, thread_id)
        if hello["run"] is None and progress.run_id is not None:
            # The event of the run's start is on its way, and comes after this frame.
            hello = {**hello, "run": {"id": progress.run_id, **NO_TEXT}}
        shown_run = _ShownRun(hello)
        wait_seconds = None if progress.version else MAX_EXPECTED_SECONDS
        with follow_list_changes(services, waiting, thread_id):
            yield {**hello, "version": progress.version}
            while True:
                async with asyncio.timeout(wait_seconds):
                    frame = await waiting.take()
                # An event of members may be lost. So each start, and the first frame of an expected run, is checked, too.
                may_be_closed = wait_seconds is not None or frame["kind"] in ("members", "start")
                if may_be_closed and await services.belongs_to_another(thread_id):
                    raise ThreadNotFoundError(thread_id)
                wait_seconds = None
                if shown_run.takes(frame):
                    yield frame


class _ShownRun:
    """The run on a page. If it was read from the database, the end of the previous run may arrive later."""

    def __init__(self, hello: Frame) -> None:
        self._id: str | None = hello["run"] and hello["run"]["id"]

    def takes(self, frame: Frame) -> bool:
        """Take in a frame. Return False for the end of another run."""
        match frame["kind"]:
            case "start":
                self._id = frame["run"]
            case "end" if self._id not in (None, frame["run"]):
                return False
            case "end":
                self._id = None
        return True


class ThreadFrames:
    """A conversation followed by pages, and the formatted text of its answer in progress."""

    def __init__(self, services: Services, thread_id: str, describe_turn: DescribeTurn = describe_nothing) -> None:
        self._services, self._thread_id, self._describe_turn = services, thread_id, describe_turn
        self._run_id: str | None = None
        # A user graph reports this progress.
        self._progress: Frame | None = None
        # This many runs come before the one that waits for a process.
        self._before: int | None = None
        # The work of the run has ended, and its end is not on disk yet.
        self._rest: Frame | None = None
        self._answer = LiveAnswer(services.renderer)
        self._candidates = CandidateFrames(services, thread_id)

    def build_first(self) -> Frame:
        run: Frame | None = None
        if self._run_id is not None:
            run = {"id": self._run_id, **self._answer.describe_text()}
            if self._candidates:
                run["candidates"] = self._candidates.describe_candidates()
            if self._rest is not None:
                run["rest"] = self._rest
            if self._progress is not None:
                run["progress"] = self._progress
        late = {"late": True} if self._services.hub.is_delayed else {}
        place = {"before": self._before} if self._before is not None else {}
        return {"kind": "hello", "run": run, **late, **place}

    async def build_frames(self) -> AsyncGenerator[Frame]:
        async with self._services.hub.subscribe(self._thread_id) as following:
            if following.live_run is not None:
                await self._begin_in_middle(following.live_run)
            yield self.build_first()
            while True:
                events = await following.receive()
                for event in _join_deltas(events):
                    if (frame := await self._build_frame(event)) is not None:
                        yield frame
                if any(map(_is_text, events)):
                    # Only text arrives in large numbers of events. Its first piece need not wait.
                    cost_seconds = max(self._answer.cost_seconds, self._candidates.cost_seconds)
                    await asyncio.sleep(choose_pause_seconds(self._services.hub.served_run_count, cost_seconds))

    async def _begin_in_middle(self, run: LiveRun) -> None:
        self._run_id = run.run_id
        self._rest = build_plain_frame(run.work_ended) if run.work_ended else None
        self._progress = build_plain_frame(run.progress) if run.progress != NO_PROGRESS else None
        await self._answer.begin_in_middle(run)
        await self._candidates.begin_in_middle(run.run_id, run.candidates)

    async def _build_frame(self, event: Event | CandidateTexts) -> Frame | None:
        match event:
            case tuple():
                return await self._candidates.build_texts(event)
            case CandidateProgress():
                return await self._candidates.build_frame(event)
            case TextBegun() | TextDelta():
                stable = await self._answer.add_event(event)
                return {"kind": "delta", "stable": stable, "tail": self._answer.tail}
            case ReasoningDelta(text):
                self._answer.add_reasoning(text)
                return {"kind": "reasoning", "text": text}
            case TextWithdrawn(reasoning):
                return await self._start_over(reasoning)
        frame = await build_event_frame(self._services, self._thread_id, event)
        if frame is not None and isinstance(event, RunFinished | HeadMoved):
            run_id = event.run_id if isinstance(event, RunFinished) else None
            frame["turn"] = None if self._candidates else await self._load_turn(run_id)
        # There is no await between here and the pages: a page that opens gets this frame, or the state after it.
        match event:
            case RunStarted(run_id):
                self._run_id = run_id
                self._rest = self._progress = self._before = None
                self._answer.clear_text()
                self._candidates.begin_run(event)
            case MessageAdded():
                self._answer.clear_text()
            case GraphProgress():
                self._progress = frame
            case RunQueued(_, before):
                frame, self._before = None if before == self._before else frame, before
            case WorkEnded(run_id) if run_id == self._run_id:
                self._rest = frame
            case RunFinished(run_id) if run_id == self._run_id or self._run_id is None:
                self._run_id = self._rest = self._progress = self._before = None
                self._answer.clear_text()
                self._candidates.end_run()
        return frame

    async def _load_turn(self, run_id: str | None) -> Frame | None:
        """Load the changes of the panels; None if the page has to read every panel, for example after an outage."""
        try:
            return await self._services.read_snapshot(self._describe_turn, self._services, self._thread_id, run_id)
        except StateError:
            return None
        except Exception:  # noqa: BLE001  the page must learn of the end whatever its panels show
            _log.exception("the changes of run %s cannot be described", run_id or "(title)")
            return None

    async def _start_over(self, reasoning: str) -> Frame:
        """Build a frame for the page with all of the reasoning, and no text."""
        version = await self._services.read_version(self._thread_id)
        self._answer.withdraw_text(reasoning)
        return {**self.build_first(), "version": version}


def _is_text(event: Event) -> bool:
    return isinstance(event, TextDelta | ReasoningDelta) or (isinstance(event, CandidateProgress) and is_text(event))


async def _repeat_start(services: Services, thread_id: str, run_id: str) -> Frame:
    """Build the frame of a run's beginning, with the user's message."""
    question, *_ = await services.read_snapshot(load_last_turn, services.store, thread_id)
    return await build_start_frame(services, RunStarted(run_id, await services.read_version(thread_id), question))


async def _read_expected_progress(services: Services, thread_id: str) -> ThreadProgress:
    """Return how far a conversation is. The version is 0 if it has not begun."""
    try:
        return await services.read_progress(thread_id)
    except ThreadNotFoundError:
        return ThreadProgress(0, None)


def _join_deltas(events: list[Event]) -> list[Event | CandidateTexts]:
    """Join consecutive texts of the same kind, and consecutive texts of candidates, in order."""
    batches: list[Event | CandidateTexts] = []
    for (kind, has_text), group in groupby(events, lambda event: (type(event), _is_text(event))):
        if not has_text:
            batches += group
        elif kind is CandidateProgress:
            batches.append(tuple(event for event in group if isinstance(event, CandidateProgress)))
        else:
            joined = "".join(event.text for event in group if isinstance(event, TextDelta | ReasoningDelta))
            batches.append(TextDelta(joined) if kind is TextDelta else ReasoningDelta(joined))
    return batches
