"""The events of a run for its tracer. Times are nanoseconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from langchain_core.messages import AIMessage, AnyMessage, InvalidToolCall, ToolCall, ToolMessage

from agent.time_travel.policy import TimeTravelEvent
from checkpoints import MAIN, Branch, Checkpoint, Operation, OperationKind, RunState

# The names of prompts: of the prompt at the beginning of every request, of the judge's prompt, and of the prompt for titles.
SYSTEM_PROMPT_NAME = "system"
JUDGE_PROMPT_NAME = "judge"
TITLE_PROMPT_NAME = "title"
TRACED_OPERATIONS = frozenset({OperationKind.SAVE, OperationKind.RESTORE, OperationKind.FORK})


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions for a model. `version` is the tracing service's, or None for the built-in text."""

    name: str
    text: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class TraceLabels:
    """The operator's labels of every trace."""

    environment: str | None = None
    release: str | None = None
    user: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunStart:
    """The place in its thread at which a run began."""

    branch: Branch
    # The newest checkpoint on the message that the run continued.
    checkpoint: Checkpoint | None
    # The head before an edit, a retry or a directly preceding restore. None without such a change.
    rewound_from: str | None
    # The thread's version, including the run's own first operation.
    version: int


@dataclass(frozen=True, slots=True)
class RunBegun:
    run_id: str
    thread_id: str
    timestamp_ns: int
    question: str
    start: RunStart | None
    # The conversation's title.
    title: str = ""


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call of a model, or of a whole graph, that a service follows by LangChain's callbacks."""

    run_id: str
    model: str = ""
    # Words replace files. None: the call's own messages.
    messages: Sequence[AnyMessage] | None = None
    prompt: Prompt | None = None
    agent: str = MAIN
    work_id: str = ""
    # A follow-up is its own trace with this name and thread. The name is empty for a part of the run's trace.
    follow_up: str = ""
    thread_id: str = ""


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """One call of the model. With an `error`, `answer` is the part that had arrived."""

    run_id: str
    # The requested model, or its spec if the answer has none.
    model: str
    answer: AIMessage
    began_ns: int
    first_token_ns: int | None
    ended_ns: int
    error: str | None = None
    agent: str = MAIN
    # The sub-agent's or branch's work (see `AgentFinished`). Empty for the main agent.
    work_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolCarriedOut:
    """One tool call, even if it was refused or its arguments could not be read."""

    run_id: str
    call: ToolCall | InvalidToolCall
    # None: the call waits for a person.
    result: ToolMessage | None
    began_ns: int
    ended_ns: int
    agent: str = MAIN
    work_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentFinished:
    """The work of a sub-agent on a question, or of a branch of a fork."""

    run_id: str
    work_id: str
    # The call that began the work.
    call_id: str
    agent: str
    # The branch's name, empty for a sub-agent.
    title: str
    answer: str
    error: str | None
    began_ns: int
    ended_ns: int


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
    prompt_name: ClassVar[str] = JUDGE_PROMPT_NAME


@dataclass(frozen=True, slots=True)
class TitleAsked:
    """The call for a conversation's title, after its first run is over."""

    thread_id: str
    call: ModelAnswered
    prompt_name: ClassVar[str] = TITLE_PROMPT_NAME


@dataclass(frozen=True, slots=True)
class Feedback:
    """The user's opinion of an answer. `is_good` is None when they withdraw it."""

    run_id: str
    message_id: str
    is_good: bool | None


@dataclass(frozen=True, slots=True)
class RequestServed:
    """A request of a page. It names its route instead of its path, since a path may hold a secret."""

    request_id: str
    method: str
    # The route's pattern, or empty.
    route: str
    # 0 without an answer.
    status: int
    began_ns: int
    ended_ns: int


SpanEvent = (
    RunBegun | ModelAnswered | ToolCarriedOut | AgentFinished | RunEnded | Judged | TitleAsked | Operation | TimeTravelEvent
)
TraceEvent = SpanEvent | Feedback | RequestServed
