"""The trace of one run: its nodes report each step here, and a tracer receives it when it has ended."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import time_ns

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage

from agent.tools.approval import STOPPED_TEXT
from agent.tracing.events import SYSTEM_PROMPT_NAME, ModelAnswered, Prompt, RunBegun, RunEnded, ToolCarriedOut, TraceEvent
from agent.tracing.protocol import NO_TRACING, Tracer
from checkpoints import MAIN, Operation, RunState

_log = logging.getLogger(__name__)


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
        if (request := self._pending_request) is None:
            return
        self._pending_request, self._answer = None, answer.text
        event = ModelAnswered(
            run_id=self._run_id,
            model=request.model,
            prompt=self._prompt,
            messages=request.messages,
            answer=answer,
            began_ns=request.began_ns,
            first_token_ns=request.first_token_ns,
            ended_ns=time_ns(),
            error=error,
            agent=self._agent,
        )
        self._record(event)

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
