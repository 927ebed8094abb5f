"""The frames of candidates: the texts of several models that write at the same time, and each finished message."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.events import (
    AnswerBegun,
    CandidateProgress,
    MessageAdded,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    TextDelta,
    TextWithdrawn,
)
from agent.run.live_runs import LiveCandidate
from components.broadcasts import Frame
from components.services import Services
from components.streams.candidates import describe_candidate
from components.streams.live_answer import LiveAnswer
from words import say_error


def is_text(progress: CandidateProgress) -> bool:
    """Return whether the event brings more text. Such events come in large numbers."""
    return isinstance(progress.event, TextDelta | ReasoningDelta)


@dataclass(slots=True)
class _LiveCandidate:
    model: str
    answer: LiveAnswer
    end: RunFinished | None = None

    def describe_live(self, number: int) -> Frame:
        shown = {"number": number, "model": self.model, **self.answer.describe_text()}
        if self.end is None:
            return {**shown, "state": "running", "error": None, "details": None}
        return {**shown, "state": self.end.state, "error": say_error(self.end.error), "details": self.end.details}


class CandidateFrames:
    """The candidates of the run in progress. Most runs have none."""

    def __init__(self, services: Services, thread_id: str) -> None:
        self._services, self._thread_id = services, thread_id
        self._run_id = ""
        self._live: dict[int, _LiveCandidate] = {}

    def __bool__(self) -> bool:
        return bool(self._live)

    @property
    def cost_seconds(self) -> float:
        return sum(each.answer.cost_seconds for each in self._live.values())

    def begin_run(self, started: RunStarted) -> None:
        self._run_id = started.run_id
        self._live = {each.number: self._make(each.model, started.find_end(each)) for each in started.candidates}

    async def begin_in_middle(self, run_id: str, candidates: Sequence[LiveCandidate]) -> None:
        self._run_id = run_id
        self._live = {each.number: self._make(each.model, each.end) for each in candidates}
        for each in candidates:
            await self._live[each.number].answer.begin_in_middle(each)

    def end_run(self) -> None:
        self._live = {}

    def describe_candidates(self) -> list[Frame]:
        return [each.describe_live(number) for number, each in self._live.items()]

    async def build_texts(self, batch: Sequence[CandidateProgress]) -> Frame:
        """Build a frame for new texts of all candidates. Each text is formatted once."""
        answers: dict[str, Frame] = {}
        for number, live in self._live.items():
            events = [each.event for each in batch if each.number == number]
            if not events:
                continue
            reasoning = "".join(each.text for each in events if isinstance(each, ReasoningDelta))
            text = "".join(each.text for each in events if isinstance(each, TextDelta))
            live.answer.add_reasoning(reasoning)
            stable = await live.answer.add_text(text) if text else ""
            answers[str(number)] = {"stable": stable, "tail": live.answer.tail, "reasoning": reasoning}
        return {"kind": "texts", "answers": answers}

    async def build_frame(self, progress: CandidateProgress) -> Frame | None:
        """Build the frame of a finished message, an end, another try, or a text withdrawn as reasoning."""
        live, event = self._live.get(progress.number), progress.event
        if live is None:
            return None
        if isinstance(event, TextWithdrawn):
            live.answer.withdraw_text(event.reasoning)
            return {"kind": "withdrawn", "number": progress.number, **live.answer.describe_text()}
        if not isinstance(event, AnswerBegun | MessageAdded | RunFinished):
            return None
        answer = await self._services.read_snapshot(
            describe_candidate, self._services, self._thread_id, self._run_id, progress.number
        )
        live.answer.clear_text()
        if not isinstance(event, MessageAdded):
            live.end = event if isinstance(event, RunFinished) else None
        if answer is None:
            return None
        end = live.end
        shown = {**answer, **({"state": end.state, "error": say_error(end.error), "details": end.details} if end else {})}
        version = await self._services.read_version(self._thread_id) if isinstance(event, AnswerBegun) else event.version
        # The version is 0 while the database does not have the end yet.
        known = {"version": version} if version else {}
        return {"kind": "answer", "answer": shown, **known}

    def _make(self, model: str, end: RunFinished | None) -> _LiveCandidate:
        return _LiveCandidate(model, LiveAnswer(self._services.renderer), end)
