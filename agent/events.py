"""The events of a run, as its followers receive them."""

from collections.abc import Sequence
from dataclasses import dataclass

from checkpoints import Candidate, Message, RunState


@dataclass(frozen=True, slots=True)
class RunStarted:
    run_id: str
    version: int
    message: Message | None  # the user's, when the run began with a message
    candidates: Sequence[Candidate] = ()  # where several models answer
    attempt: int = 0  # of the processes that drive the run one after the other; 0 where only one can

    def find_end(self, candidate: Candidate) -> "RunFinished | None":
        """Return the end of a candidate that is not written in this run; None for one that is."""
        if candidate.state is RunState.RUNNING:
            return None
        return RunFinished(self.run_id, candidate.state, self.version, candidate.error, candidate.error_details)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer that is being written; it is not committed yet."""

    text: str


@dataclass(frozen=True, slots=True)
class TextBegun:
    """The text of another message begins. `agent` is the subgraph that writes it; empty where the graph itself does."""

    agent: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the reasoning before the answer that is being written."""

    text: str


@dataclass(frozen=True, slots=True)
class TextWithdrawn:
    """All text of the answer so far was reasoning, which is complete here: a tag after it has shown that."""

    reasoning: str


@dataclass(frozen=True, slots=True)
class MessageAdded:
    """A finished message is on disk. The text of the deltas before it is in it."""

    message: Message
    version: int


@dataclass(frozen=True, slots=True)
class ToolStarted:
    call_id: str


@dataclass(frozen=True, slots=True)
class GraphProgress:
    """The nodes of a user graph that are at work, and the newest lines that it has streamed. It replaces the one before."""

    nodes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkEnded:
    """The work of a run has ended, and the database does not have its end yet. `error` is a sentence for people."""

    run_id: str
    state: RunState
    error: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerBegun:
    """A candidate is tried again: it has no text, no message and no end any more."""


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run has ended. `error` is a sentence for people when it failed; `details` are the provider's words."""

    run_id: str
    state: RunState
    version: int
    error: str | None = None
    details: str | None = None


@dataclass(frozen=True, slots=True)
class RunQueued:
    """The run waits for a process with room. Each process tells its own followers, again and again: the place changes."""

    run_id: str
    before: int  # runs that begin before it


@dataclass(frozen=True, slots=True)
class HeadMoved:
    """Something other than a run changed the thread."""

    version: int


@dataclass(frozen=True, slots=True)
class MembersChanged:
    """A person was let into the conversation, or out of it: who follows it asks again whether they may."""

    version: int
    person: str = ""  # empty where a process of an earlier version tells it


@dataclass(frozen=True, slots=True)
class RerunEnded:
    """The next question of a rerun was not asked: no change of the thread tells that."""


@dataclass(frozen=True, slots=True)
class DraftsFailed:
    """The database is unavailable, so that no draft of the answer is written. `text` is a sentence for people."""

    text: str


@dataclass(frozen=True, slots=True)
class UpdatesDelayed:
    """Events of other processes do not arrive for now. Followers subscribe again when they do."""


# The events of an answer while it is written, and its end.
AnswerEvent = AnswerBegun | TextDelta | ReasoningDelta | TextWithdrawn | MessageAdded | ToolStarted | WorkEnded | RunFinished


@dataclass(frozen=True, slots=True)
class CandidateProgress:
    """An event of one of several models that answer at once. `RunFinished` is then the end of its answer."""

    number: int  # of the candidate
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
