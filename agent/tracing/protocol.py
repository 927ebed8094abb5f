"""What a run tells whoever traces it. Telling never waits and never fails; no tracing service is known here."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import time_ns
from typing import Protocol

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from agent.time_travel.executor import TimeTravelEvent
from checkpoints import MAIN, Branch, Checkpoint, Operation, OperationKind, RunState

SYSTEM_PROMPT_NAME = "system"  # the name of the prompt that every request begins with
JUDGE_PROMPT_NAME = "judge"  # and of what the judge is told
TRACED_OPERATIONS = frozenset({OperationKind.SAVE, OperationKind.RESTORE, OperationKind.FORK})
STOPPED_TEXT = "Stopped before it finished."
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions for a model. `version` is the tracing service's; None for the built-in text."""

    name: str
    text: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class RunStart:
    """Where in its thread a run began."""

    branch: Branch
    checkpoint: Checkpoint | None  # the newest one on the very message that the run went on from
    rewound_from: str | None  # the head before an edit, a retry or the restore just before; None when nothing was left
    version: int  # of the thread, with the run's own first operation


# Times are nanoseconds since 1970.


@dataclass(frozen=True, slots=True)
class RunBegun:
    run_id: str
    thread_id: str
    timestamp_ns: int
    question: str
    start: RunStart | None


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """One call of the model; with an `error`, `answer` is what had come of it by then."""

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
    """The judge was asked about the state that a run came to. It stands beside the run, which is over by then."""

    thread_id: str
    call: ModelAnswered


@dataclass(frozen=True, slots=True)
class Feedback:
    """What the user thinks of an answer; `good` is None when they take it back."""

    run_id: str
    message_id: str
    is_good: bool | None


TraceEvent = RunBegun | ModelAnswered | ToolCarriedOut | RunEnded | Judged | Feedback | Operation | TimeTravelEvent


class Tracer(Protocol):
    """Where it is told. Every method returns at once, whatever the tracing service does; `close` within a second."""

    @property
    def is_on(self) -> bool: ...

    def record(self, event: TraceEvent) -> None: ...

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        """The operator's text for it, as far as it is known by now, else the built-in one."""
        ...

    def link_run(self, run_id: str) -> str:
        """The address of the run's trace, for people; empty while it is not known."""
        ...

    def close(self) -> None: ...


class NoTracing:
    """Tells nobody."""

    is_on = False

    def record(self, event: TraceEvent) -> None:
        pass

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        return Prompt(name, builtin)

    def link_run(self, run_id: str) -> str:
        return ""

    def close(self) -> None:
        pass


NO_TRACING: Tracer = NoTracing()


@dataclass(slots=True)
class _PendingRequest:
    """A call of the model that has not ended yet."""

    model: str
    messages: Sequence[AnyMessage]
    began_ns: int
    first_token_ns: int | None = None
    text_pieces: list[str] = field(default_factory=list)


class RunTrace:
    """What one agent's nodes report as a run goes. It keeps the times, and tells each step when it has ended."""

    def __init__(
        self, tracer: Tracer, run_id: str, prompt: Prompt, start_event: RunBegun | None = None, agent: str = MAIN
    ) -> None:
        self._tracer = tracer
        self._run_id = run_id
        self._prompt = prompt
        self._start_event = start_event
        self._pending_request: _PendingRequest | None = None
        self._running_tools: dict[str, tuple[ToolCall, int]] = {}  # those at work, by the ids of their calls
        self._answer = ""
        self._agent = agent
        self._agent_traces: list[RunTrace] = []  # of the agents that were asked

    def for_agent(self, agent: str, system_text: str) -> "RunTrace":
        """For an agent that was asked: several work at the same time."""
        self._agent_traces.append(RunTrace(self._tracer, self._run_id, Prompt(SYSTEM_PROMPT_NAME, system_text), agent=agent))
        return self._agent_traces[-1]

    def record_start(self) -> None:
        if self._start_event is not None:
            self._record(self._start_event)

    def on_request(self, model: str, messages: Sequence[AnyMessage]) -> None:
        self._pending_request = _PendingRequest(model, messages, time_ns())

    def on_token(self, text: str) -> None:
        """More of the answer has come; text, or else a part of a tool call."""
        if self._pending_request is not None:
            self._pending_request.first_token_ns = self._pending_request.first_token_ns or time_ns()
            self._pending_request.text_pieces.append(text)

    def on_answer(self, answer: AIMessage, error: str | None = None) -> None:
        if (asking := self._pending_request) is None:
            return
        self._pending_request, self._answer = None, answer.text
        times = (asking.began_ns, asking.first_token_ns, time_ns())
        about = (self._run_id, asking.model, self._prompt, asking.messages, answer, *times, error, self._agent)
        self._record(ModelAnswered(*about))

    def on_tool_start(self, call: ToolCall) -> None:
        self._running_tools[call["id"] or ""] = (call, time_ns())

    def on_tool_end(self, result: ToolMessage) -> None:
        if (at_work := self._running_tools.pop(result.tool_call_id, None)) is not None:
            call, began = at_work
            self._record(ToolCarriedOut(self._run_id, call, result, began, time_ns(), self._agent))

    def on_operation(self, operation: Operation | None) -> None:
        """The run has changed the conversation's branches."""
        if operation is not None:
            self._record(operation)

    def on_end(self, state: RunState, error: str | None) -> None:
        """However it ended: what was still at work was cut off by that, and nothing is told of it any more."""
        self.cut_off(error)
        self._record(RunEnded(self._run_id, time_ns(), state, error, self._answer))
        self._fall_silent()

    def _fall_silent(self) -> None:
        self._tracer = NO_TRACING
        for other in self._agent_traces:
            other._fall_silent()

    def _record(self, event: TraceEvent) -> None:
        try:
            self._tracer.record(event)
        except Exception:  # noqa: BLE001  (somebody else's code, whose failure is no reason to lose a run)
            _log.exception("a tracer failed")

    def cut_off(self, error: str | None) -> None:
        """Nothing that is still at work here goes on."""
        for other in self._agent_traces:
            other.cut_off(error)
        if self._pending_request is not None:
            self.on_answer(AIMessage("".join(self._pending_request.text_pieces)), error or STOPPED_TEXT)
        for call_id, (call, _) in list(self._running_tools.items()):
            self.on_tool_end(ToolMessage(STOPPED_TEXT, tool_call_id=call_id, name=call["name"], status="error"))


def make_null_trace() -> RunTrace:
    return RunTrace(NO_TRACING, "", Prompt(SYSTEM_PROMPT_NAME, ""))
