"""The trace of one run. Its nodes report each step here, and a tracer receives the step when it has ended."""

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
    """The report of one agent's nodes. It keeps the times, and records each step when it has ended."""

    def __init__(
        self, tracer: Tracer, run_id: str, prompt: Prompt, start_event: RunBegun | None = None, agent: str = MAIN
    ) -> None:
        self._tracer = tracer
        self._run_id = run_id
        self._prompt = prompt
        self._start_event = start_event
        self._pending_request: _PendingRequest | None = None
        self._running_tools: dict[str, tuple[ToolCall, int]] = {}  # with their start times, by call id
        self._answer = ""
        self._agent = agent
        self._agent_traces: list[RunTrace] = []  # of sub-agents

    def for_agent(self, agent: str, system_text: str) -> "RunTrace":
        """Return a trace for a sub-agent; several work at the same time."""
        self._agent_traces.append(RunTrace(self._tracer, self._run_id, Prompt(SYSTEM_PROMPT_NAME, system_text), agent=agent))
        return self._agent_traces[-1]

    def record_start(self) -> None:
        if self._start_event is not None:
            self._record(self._start_event)

    def on_request(self, model: str, messages: Sequence[AnyMessage]) -> None:
        self._pending_request = _PendingRequest(model, messages, time_ns())

    def on_token(self, text: str) -> None:
        """Note that more of the answer has arrived: text, or a part of a tool call."""
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
        if (running := self._running_tools.pop(result.tool_call_id, None)) is not None:
            call, began = running
            self._record(ToolCarriedOut(self._run_id, call, result, began, time_ns(), self._agent))

    def on_operation(self, operation: Operation | None) -> None:
        """Record a change of the conversation's branches by the run."""
        if operation is not None:
            self._record(operation)

    def on_end(self, state: RunState, error: str | None) -> None:
        """Record the end of the run. It cut off every unfinished step, and nothing is recorded after it."""
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
        except Exception:  # noqa: BLE001  (a tracer is foreign code, and its failure must not end a run)
            _log.exception("a tracer failed")

    def cut_off(self, error: str | None) -> None:
        """Record every unfinished step as cut off."""
        for other in self._agent_traces:
            other.cut_off(error)
        if self._pending_request is not None:
            self.on_answer(AIMessage("".join(self._pending_request.text_pieces)), error or STOPPED_TEXT)
        for call_id, (call, _) in list(self._running_tools.items()):
            self.on_tool_end(ToolMessage(STOPPED_TEXT, tool_call_id=call_id, name=call["name"], status="error"))


def make_null_trace() -> RunTrace:
    return RunTrace(NO_TRACING, "", Prompt(SYSTEM_PROMPT_NAME, ""))
