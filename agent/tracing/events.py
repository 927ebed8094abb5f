"""The events that a run reports to its tracer. Times are nanoseconds since 1970."""

from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from agent.time_travel.policy import TimeTravelEvent
from checkpoints import MAIN, Branch, Checkpoint, Operation, OperationKind, RunState

SYSTEM_PROMPT_NAME = "system"  # the name of the prompt that every request begins with
JUDGE_PROMPT_NAME = "judge"  # the name of the judge's prompt
TRACED_OPERATIONS = frozenset({OperationKind.SAVE, OperationKind.RESTORE, OperationKind.FORK})


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions for a model. `version` is the tracing service's; None for the built-in text."""

    name: str
    text: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class RunStart:
    """The place in its thread at which a run began."""

    branch: Branch
    checkpoint: Checkpoint | None  # the newest one on the message that the run continued
    rewound_from: str | None  # the head before an edit, a retry or the restore just before; None without such a change
    version: int  # of the thread, with the run's own first operation


@dataclass(frozen=True, slots=True)
class RunBegun:
    run_id: str
    thread_id: str
    timestamp_ns: int
    question: str
    start: RunStart | None


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """One call of the model. With an `error`, `answer` is the part that had arrived."""

    run_id: str
    model: str
    prompt: Prompt
    messages: Sequence[AnyMessage]
    answer: AIMessage
    began_ns: int
    first_token_ns: int | None  # when the first token came
    ended_ns: int
    error: str | None = None
    agent: str = MAIN


@dataclass(frozen=True, slots=True)
class ToolCarriedOut:
    run_id: str
    call: ToolCall
    result: ToolMessage
    began_ns: int
    ended_ns: int
    agent: str = MAIN


@dataclass(frozen=True, slots=True)
class RunEnded:
    run_id: str
    timestamp_ns: int
    state: RunState
    error: str | None
    answer: str


@dataclass(frozen=True, slots=True)
class Judged:
    """The judge's call about the state that a run reached. The run is over by then."""

    thread_id: str
    call: ModelAnswered


@dataclass(frozen=True, slots=True)
class Feedback:
    """The user's opinion of an answer; `is_good` is None when they withdraw it."""

    run_id: str
    message_id: str
    is_good: bool | None


TraceEvent = RunBegun | ModelAnswered | ToolCarriedOut | RunEnded | Judged | Feedback | Operation | TimeTravelEvent
