"""Runs in progress, for a page that opens in the middle."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.events import (
    AnswerBegun,
    CandidateProgress,
    Event,
    GraphProgress,
    MessageAdded,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    TextDelta,
    TextWithdrawn,
    WorkEnded,
)

NO_PROGRESS = GraphProgress()


@dataclass(frozen=True, slots=True)
class LiveCandidate:
    """A candidate of a run in progress, as `LiveRun`."""

    number: int
    model: str
    text: str
    reasoning: str
    end: RunFinished | None  # None: it is being written


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run in progress: the text of its answer that is not committed yet, and the reasoning before it."""

    run_id: str
    text: str
    reasoning: str = ""
    work_ended: WorkEnded | None = None  # None: it is at work
    candidates: Sequence[LiveCandidate] = ()
    progress: GraphProgress = NO_PROGRESS


@dataclass(frozen=True, slots=True)
class RunKey:
    """One attempt at a run."""

    run_id: str
    attempt: int


@dataclass(slots=True)
class PendingAnswer:
    """The uncommitted text of one answer, in pieces."""

    model: str = ""
    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    end: RunFinished | None = None

    def add_event(self, event: Event) -> None:
        match event:
            case ReasoningDelta():
                self.reasoning.append(event.text)
            case TextDelta():
                self.texts.append(event.text)
            case TextWithdrawn():
                self.texts, self.reasoning = [], [event.reasoning]
            case MessageAdded():
                self.texts, self.reasoning = [], []
            case AnswerBegun():
                self.texts, self.reasoning, self.end = [], [], None
            case RunFinished():
                self.texts, self.reasoning, self.end = [], [], event

    def join_text(self) -> tuple[str, str]:
        """Return the text and the reasoning."""
        self.texts, self.reasoning = ["".join(self.texts)], ["".join(self.reasoning)]
        return self.texts[0], self.reasoning[0]


@dataclass(slots=True)
class PendingRun:
    """A run in progress, as the hub keeps it."""

    key: RunKey
    is_remote: bool
    answer: PendingAnswer
    candidates: dict[int, PendingAnswer]
    work_ended: WorkEnded | None = None
    progress: GraphProgress = NO_PROGRESS

    @property
    def run_id(self) -> str:
        return self.key.run_id

    @classmethod
    def begin(cls, event: RunStarted, *, is_remote: bool) -> "PendingRun":
        candidates = {each.number: PendingAnswer(each.model, end=event.find_end(each)) for each in event.candidates}
        return cls(RunKey(event.run_id, event.attempt), is_remote, PendingAnswer(), candidates)

    @classmethod
    def resume(cls, live: LiveRun, attempt: int) -> "PendingRun":
        """Take in a run of another process as it is now."""
        candidates = {
            each.number: PendingAnswer(each.model, [each.text], [each.reasoning], each.end) for each in live.candidates
        }
        answer = PendingAnswer(texts=[live.text], reasoning=[live.reasoning])
        return cls(RunKey(live.run_id, attempt), True, answer, candidates, live.work_ended, live.progress)

    def add_event(self, event: Event) -> None:
        match event:
            case CandidateProgress() if event.number in self.candidates:
                self.candidates[event.number].add_event(event.event)
            case GraphProgress():
                self.progress = event
            case WorkEnded() if self.run_id == event.run_id:
                self.work_ended = event
            case _:
                self.answer.add_event(event)

    def describe_live(self) -> LiveRun:
        candidates = [
            LiveCandidate(number, answer.model, *answer.join_text(), answer.end)
            for number, answer in self.candidates.items()
        ]
        return LiveRun(self.run_id, *self.answer.join_text(), self.work_ended, candidates, self.progress)
