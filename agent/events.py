"""The events of a run, as its followers receive them."""

from collections.abc import Sequence
from dataclasses import dataclass

from checkpoints import Candidate, Message, RunState


@dataclass(frozen=True, slots=True)
class RunStarted:
    run_id: str
    version: int
    # The user's message, if the run began with it.
    message: Message | None
    # Set if several models answer.
    candidates: Sequence[Candidate] = ()
    # Counts the processes that drive the run one after the other. 0 if only one process can.
    attempt: int = 0

    def find_end(self, candidate: Candidate) -> "RunFinished | None":
        """Return the end of a candidate that this run does not write, or None if the run writes it."""
        if candidate.state is RunState.RUNNING:
            return None
        return RunFinished(self.run_id, candidate.state, self.version, candidate.error, candidate.error_details)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the uncommitted answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextBegun:
    """The text of another message begins. `agent` is the subgraph that writes it, empty for the graph itself."""

    agent: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the reasoning before the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TextWithdrawn:
    """All text of the answer so far was reasoning, as a later tag has shown. `reasoning` has all of it."""

    reasoning: str


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A finished message is on disk. It contains the text of the earlier deltas."""

    message: Message
    version: int


@dataclass(frozen=True, slots=True)
class ToolStarted:
    call_id: str


@dataclass(frozen=True, slots=True)
class GraphProgress:
    """The running nodes of a user graph, and its newest streamed lines. It replaces the previous progress."""

    nodes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkEnded:
    """The work of a run has ended, but the database does not have its end yet. `error` is a sentence for people."""

    run_id: str
    state: RunState
    error: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerBegun:
    """A candidate is tried again: its text, messages and end are gone."""


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run has ended. `error` is a sentence for people if it failed, and `details` are the provider's words."""

    run_id: str
    state: RunState
    version: int
    error: str | None = None
    details: str | None = None


@dataclass(frozen=True, slots=True)
class RunQueued:
    """The run waits for a process with room. Each process tells its own followers repeatedly, since the place changes."""

    run_id: str
    # Number of runs that begin earlier.
    before: int


@dataclass(frozen=True, slots=True)
class HeadMoved:
    """Something other than a run changed the thread."""

    version: int


@dataclass(frozen=True, slots=True)
class MembersChanged:
    """A person gained or lost access to the conversation. Followers check their access again."""

    version: int
    # Empty if a process of an earlier version sends the event.
    person: str = ""


@dataclass(frozen=True, slots=True)
class RerunEnded:
    """The next question of a rerun was not asked. No change of the thread shows it."""


@dataclass(frozen=True, slots=True)
class DraftsFailed:
    """The database is unavailable, so drafts of the answer are not written. `text` is a sentence for people."""

    text: str


@dataclass(frozen=True, slots=True)
class UpdatesDelayed:
    """Events of other processes are delayed. Followers subscribe again when they arrive."""


# The events of an answer while it is written, and its end.
AnswerEvent = AnswerBegun | TextDelta | ReasoningDelta | TextWithdrawn | MessageAdded | ToolStarted | WorkEnded | RunFinished


@dataclass(frozen=True, slots=True)
class CandidateProgress:
    """An event of a candidate (see `agent.run.candidates`). `RunFinished` is then the end of its answer."""

    # The candidate's number.
    number: int
    event: AnswerEvent


Event = (
    RunStarted
    | AnswerBegun
    | CandidateProgress
    | TextBegun
    | TextDelta
    | ReasoningDelta
    | TextWithdrawn
    | MessageAdded
    | ToolStarted
    | GraphProgress
    | WorkEnded
    | RunFinished
    | RunQueued
    | HeadMoved
    | MembersChanged
    | RerunEnded
    | DraftsFailed
    | UpdatesDelayed
)
