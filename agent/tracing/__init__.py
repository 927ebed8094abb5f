"""What a run tells whoever traces it. Telling never waits and never fails; no tracing service is known here."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import time_ns
from typing import Protocol

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from agent.travelling import TimeTravelEvent
from checkpoints import MAIN, Branch, Checkpoint, Operation, OperationKind, RunState

SYSTEM = "system"  # the name of the prompt that every request begins with
JUDGE = "judge"  # and of what the judge is told
EVENTS = frozenset({OperationKind.SAVE, OperationKind.RESTORE, OperationKind.FORK})
STOPPED = "Stopped before it finished."
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions for a model. `version` is the tracing service's; None for the built-in text."""

    name: str
    text: str
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
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
    at: int
    question: str
    place: Place | None


@dataclass(frozen=True, slots=True)
class ModelAnswered:
    """One call of the model; with an `error`, `answer` is what had come of it by then."""

    run_id: str
    model: str
    prompt: Prompt
    asked: Sequence[AnyMessage]
    answer: AIMessage
    began: int
    first: int | None  # when the first token came
    ended: int
    error: str | None = None
    agent: str = MAIN


@dataclass(frozen=True, slots=True)
class ToolCarriedOut:
    run_id: str
    call: ToolCall
    result: ToolMessage
    began: int
    ended: int
    agent: str = MAIN


@dataclass(frozen=True, slots=True)
class RunEnded:
    run_id: str
    at: int
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
    good: bool | None


Told = RunBegun | ModelAnswered | ToolCarriedOut | RunEnded | Judged | Feedback | Operation | TimeTravelEvent


class Tracer(Protocol):
    """Where it is told. Every method returns at once, whatever the tracing service does; `close` within a second."""

    @property
    def on(self) -> bool: ...

    def tell(self, told: Told) -> None: ...

    def prompt(self, name: str, builtin: str) -> Prompt:
        """The operator's text for it, as far as it is known by now, else the built-in one."""
        ...

    def link(self, run_id: str) -> str:
        """The address of the run's trace, for people; empty while it is not known."""
        ...

    def close(self) -> None: ...


class NoTracing:
    """Tells nobody."""

    on = False

    def tell(self, told: Told) -> None:
        pass

    def prompt(self, name: str, builtin: str) -> Prompt:
        return Prompt(name, builtin)

    def link(self, run_id: str) -> str:
        return ""

    def close(self) -> None:
        pass


NO_TRACING: Tracer = NoTracing()


@dataclass(slots=True)
class _Asking:
    """A call of the model that has not ended yet."""

    model: str
    asked: Sequence[AnyMessage]
    began: int
    first: int | None = None
    text: list[str] = field(default_factory=list)


class RunTrace:
    """What one agent's nodes report as a run goes. It keeps the times, and tells each step when it has ended."""

    def __init__(
        self, tracer: Tracer, run_id: str, prompt: Prompt, begun: RunBegun | None = None, agent: str = MAIN
    ) -> None:
        self._tracer = tracer
        self._run_id = run_id
        self._prompt = prompt
        self._begun = begun
        self._asking: _Asking | None = None
        self._tools: dict[str, tuple[ToolCall, int]] = {}  # those at work, by the ids of their calls
        self._answer = ""
        self._agent = agent
        self._others: list[RunTrace] = []  # of the agents that were asked

    def of(self, agent: str, system: str) -> "RunTrace":
        """For an agent that was asked: several work at the same time."""
        self._others.append(RunTrace(self._tracer, self._run_id, Prompt(SYSTEM, system), agent=agent))
        return self._others[-1]

    def begin(self) -> None:
        if self._begun is not None:
            self._tell(self._begun)

    def asked(self, model: str, messages: Sequence[AnyMessage]) -> None:
        self._asking = _Asking(model, messages, time_ns())

    def heard(self, text: str) -> None:
        """More of the answer has come; text, or else a part of a tool call."""
        if self._asking is not None:
            self._asking.first = self._asking.first or time_ns()
            self._asking.text.append(text)

    def answered(self, answer: AIMessage, error: str | None = None) -> None:
        if (asking := self._asking) is None:
            return
        self._asking, self._answer = None, answer.text
        times = (asking.began, asking.first, time_ns())
        about = (self._run_id, asking.model, self._prompt, asking.asked, answer, *times, error, self._agent)
        self._tell(ModelAnswered(*about))

    def tool_began(self, call: ToolCall) -> None:
        self._tools[call["id"] or ""] = (call, time_ns())

    def tool_ended(self, result: ToolMessage) -> None:
        if (at_work := self._tools.pop(result.tool_call_id, None)) is not None:
            call, began = at_work
            self._tell(ToolCarriedOut(self._run_id, call, result, began, time_ns(), self._agent))

    def changed(self, operation: Operation | None) -> None:
        """The run has changed the conversation's branches."""
        if operation is not None:
            self._tell(operation)

    def ended(self, state: RunState, error: str | None) -> None:
        """However it ended: what was still at work was cut off by that, and nothing is told of it any more."""
        self.cut_off(error)
        self._tell(RunEnded(self._run_id, time_ns(), state, error, self._answer))
        self._fall_silent()

    def _fall_silent(self) -> None:
        self._tracer = NO_TRACING
        for other in self._others:
            other._fall_silent()

    def _tell(self, told: Told) -> None:
        try:
            self._tracer.tell(told)
        except Exception:  # noqa: BLE001  (somebody else's code, whose failure is no reason to lose a run)
            _log.exception("a tracer failed")

    def cut_off(self, error: str | None) -> None:
        """Nothing that is still at work here goes on."""
        for other in self._others:
            other.cut_off(error)
        if self._asking is not None:
            self.answered(AIMessage("".join(self._asking.text)), error or STOPPED)
        for call_id, (call, _) in list(self._tools.items()):
            self.tool_ended(ToolMessage(STOPPED, tool_call_id=call_id, name=call["name"], status="error"))


def untraced() -> RunTrace:
    return RunTrace(NO_TRACING, "", Prompt(SYSTEM, ""))
