"""The events that a run reports to its tracer. Times are nanoseconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from langchain_core.messages import AIMessage, AnyMessage, InvalidToolCall, ToolCall, ToolMessage

from agent.time_travel.policy import TimeTravelEvent
from checkpoints import MAIN, Branch, Checkpoint, Operation, OperationKind, RunState

SYSTEM_PROMPT_NAME = "system"  # the name of the prompt that every request begins with
JUDGE_PROMPT_NAME = "judge"  # the name of the judge's prompt
TITLE_PROMPT_NAME = "title"  # the name of the prompt for titles
TRACED_OPERATIONS = frozenset({OperationKind.SAVE, OperationKind.RESTORE, OperationKind.FORK})


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions for a model. `version` is the tracing service's; None for the built-in text."""

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
    title: str = ""  # of the conversation


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call of a model, or of a whole graph, that a service follows by LangChain's callbacks."""

    run_id: str
    model: str = ""  # its spec
    messages: Sequence[AnyMessage] | None = None  # with words in place of files; None: those of the call
    prompt: Prompt | None = None
    agent: str = MAIN
    work_id: str = ""
    follow_up: str = ""  # the name of the trace that this call alone is; empty for a part of the run's
    thread_id: str = ""  # of a follow-up


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """One call of the model. With an `error`, `answer` is the part that had arrived."""

    run_id: str
    model: str  # as it was requested; its spec where the answer has none
    answer: AIMessage
    began_ns: int
    first_token_ns: int | None  # when the first token came
    ended_ns: int
    error: str | None = None
    agent: str = MAIN
    work_id: str = ""  # of the sub-agent or branch (see `AgentFinished`); empty for the main agent


@dataclass(frozen=True, slots=True)
class ToolCarriedOut:
    """One tool call, also where it was refused or its arguments could not be read."""

    run_id: str
    call: ToolCall | InvalidToolCall
    result: ToolMessage | None  # None: it waits for a person
    began_ns: int
    ended_ns: int
    agent: str = MAIN
    work_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentFinished:
    """The work of a sub-agent on one question, or of a branch of a fork."""

    run_id: str
    work_id: str
    call_id: str  # the call that began it
    agent: str
    title: str  # the branch's name; empty for a sub-agent
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
    """The call for the title of a conversation, after its first run is over."""

    thread_id: str
    call: ModelAnswered
    prompt_name: ClassVar[str] = TITLE_PROMPT_NAME


@dataclass(frozen=True, slots=True)
class Feedback:
    """The user's opinion of an answer; `is_good` is None when they withdraw it."""

    run_id: str
    message_id: str
    is_good: bool | None


@dataclass(frozen=True, slots=True)
class RequestServed:
    """A request of a page. It names its route, and no path: one may hold a secret."""

    request_id: str
    method: str
    route: str  # its pattern, or empty
    status: int  # 0 without an answer
    began_ns: int
    ended_ns: int


SpanEvent = (
    RunBegun | ModelAnswered | ToolCarriedOut | AgentFinished | RunEnded | Judged | TitleAsked | Operation | TimeTravelEvent
)
TraceEvent = SpanEvent | Feedback | RequestServed
