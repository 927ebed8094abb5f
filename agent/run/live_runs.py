"""The state of running answers, for a page that opens in the middle."""

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
    TextBegun,
    TextDelta,
    TextWithdrawn,
    WorkEnded,
)

NO_PROGRESS = GraphProgress()
# Stands between the texts of two messages.
TEXT_BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class LiveCandidate:
    """A candidate of a run in progress. The fields are as in `LiveRun`."""

    number: int
    model: str
    text: str
    reasoning: str
    # None: the answer is being written.
    end: RunFinished | None


@dataclass(frozen=True, slots=True)
class LiveRun:
    """A run in progress: its uncommitted text, and the reasoning before the text."""

    run_id: str
    text: str
    reasoning: str = ""
    # None: the run is at work.
    work_ended: WorkEnded | None = None
    candidates: Sequence[LiveCandidate] = ()
    progress: GraphProgress = NO_PROGRESS
    # Where other messages begin in the text: their offsets and subgraphs.
    begun: Sequence[tuple[int, str]] = ()


@dataclass(frozen=True, slots=True)
class RunKey:
    run_id: str
    attempt: int


@dataclass(slots=True)
class PendingAnswer:
    """The uncommitted text of an answer, in pieces."""

    model: str = ""
    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    end: RunFinished | None = None
    # As in `LiveRun`.
    begun: list[tuple[int, str]] = field(default_factory=list)

    def add_event(self, event: Event) -> None:
        match event:
            case ReasoningDelta():
                self.reasoning.append(event.text)
            case TextDelta():
                self.texts.append(event.text)
            case TextBegun():
                self._begin_text(event.agent)
            case TextWithdrawn():
                self._clear(event.reasoning)
            case MessageAdded():
                self._clear()
            case AnswerBegun():
                self._clear()
                self.end = None
            case RunFinished():
                self._clear()
                self.end = event

    def join_text(self) -> tuple[str, str]:
        """Return the text and the reasoning."""
        self.texts, self.reasoning = ["".join(self.texts)], ["".join(self.reasoning)]
        return self.texts[0], self.reasoning[0]

    def _begin_text(self, agent: str) -> None:
        if self.join_text()[0]:
            self.texts.append(TEXT_BREAK)
        self.begun.append((sum(map(len, self.texts)), agent))

    def _clear(self, reasoning: str = "") -> None:
        self.texts, self.reasoning, self.begun = [], [reasoning], []


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
        """Make the state of another process's run."""
        candidates = {
            each.number: PendingAnswer(each.model, [each.text], [each.reasoning], each.end) for each in live.candidates
        }
        answer = PendingAnswer(texts=[live.text], reasoning=[live.reasoning], begun=list(live.begun))
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
        begun = tuple(self.answer.begun)
        return LiveRun(self.run_id, *self.answer.join_text(), self.work_ended, candidates, self.progress, begun)
