"""The trace of a run. The run's nodes report each step here, and a tracer receives the step when it has ended."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import time_ns
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage, InvalidToolCall, ToolCall, ToolMessage

from agent.tools.decisions import STOPPED_TEXT
from agent.tracing.events import (
    SYSTEM_PROMPT_NAME,
    AgentFinished,
    ModelAnswered,
    Prompt,
    RunBegun,
    RunEnded,
    ToolCarriedOut,
    TracedCall,
    TraceEvent,
)
from agent.tracing.protocol import NO_TRACING, Tracer
from checkpoints import MAIN, Operation, RunState

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.runnables import Runnable, RunnableConfig

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _PendingRequest:
    model: str
    messages: Sequence[AnyMessage]
    began_ns: int
    first_token_ns: int | None = None
    text_pieces: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _AgentWork:
    """The work of a sub-agent or branch that a call began."""

    id: str
    call_id: str
    title: str
    began_ns: int


class RunTrace:
    """The report of an agent's nodes. It keeps the times, and records each step when it has ended."""

    def __init__(
        self,
        tracer: Tracer,
        run_id: str,
        prompt: Prompt,
        start_event: RunBegun | None = None,
        agent: str = MAIN,
        work: _AgentWork | None = None,
    ) -> None:
        self._tracer = tracer
        self._run_id = run_id
        self._prompt = prompt
        self._start_event = start_event
        self._pending_request: _PendingRequest | None = None
        # Calls and their start times, by call id.
        self._running_tools: dict[str, tuple[ToolCall, int]] = {}
        self._answer = ""
        self._agent = agent
        # None for the main agent.
        self._work = work
        self._has_ended = False
        self._agent_traces: list[RunTrace] = []

    @property
    def _work_id(self) -> str:
        return self._work.id if self._work is not None else ""

    def for_agent(self, agent: str, system_text: str, call_id: str = "", title: str = "") -> RunTrace:
        """Return a trace for a sub-agent or a branch. Several work at the same time.

        `call_id` is the call that began the work. The steps then lie below the call.
        """
        work = _AgentWork(uuid.uuid4().hex, call_id, title, time_ns()) if call_id else None
        prompt = Prompt(SYSTEM_PROMPT_NAME, system_text)
        self._agent_traces.append(RunTrace(self._tracer, self._run_id, prompt, agent=agent, work=work))
        return self._agent_traces[-1]

    def record_start(self) -> None:
        if self._start_event is not None:
            self._record(self._start_event)

    def on_request(self, model: str, messages: Sequence[AnyMessage]) -> None:
        self._pending_request = _PendingRequest(model, messages, time_ns())

    def follow_model(self, model: Runnable[Any, Any], spec: str) -> Runnable[Any, Any]:
        """Return the model with the tracer's handlers for the pending request."""
        messages = self._pending_request.messages if self._pending_request is not None else None
        call = TracedCall(self._run_id, spec, messages, self._prompt, self._agent, self._work_id)
        return follow_model(model, self._tracer, call)

    def build_graph_config(self) -> RunnableConfig:
        """Return the config of a graph that answers in place of the built-in agent, with the tracer's handlers."""
        handlers = _list_handlers(self._tracer, TracedCall(self._run_id))
        return {"callbacks": [*handlers]} if handlers else {}

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
            answer=answer,
            began_ns=request.began_ns,
            first_token_ns=request.first_token_ns,
            ended_ns=time_ns(),
            error=error,
            agent=self._agent,
            work_id=self._work_id,
        )
        self._record(event)

    def on_tool_start(self, call: ToolCall) -> None:
        self._running_tools[call["id"] or ""] = (call, time_ns())

    def on_tool_end(self, result: ToolMessage) -> None:
        if (running := self._running_tools.pop(result.tool_call_id, None)) is not None:
            self._record_call(running[0], result, running[1])

    def on_refusal(self, call: ToolCall | InvalidToolCall, result: ToolMessage) -> None:
        """Record a call that was not run."""
        self._record_call(call, result, time_ns())

    def _record_call(self, call: ToolCall | InvalidToolCall, result: ToolMessage | None, began_ns: int) -> None:
        self._record(ToolCarriedOut(self._run_id, call, result, began_ns, time_ns(), self._agent, self._work_id))

    def on_agent_end(self, error: str | None = None) -> None:
        """Record the end of a sub-agent's or branch's work."""
        if (work := self._work) is None or self._has_ended:
            return
        self._has_ended = True
        event = AgentFinished(
            run_id=self._run_id,
            work_id=work.id,
            call_id=work.call_id,
            agent=self._agent,
            title=work.title,
            answer=self._answer,
            error=error,
            began_ns=work.began_ns,
            ended_ns=time_ns(),
        )
        self._record(event)

    def on_operation(self, operation: Operation | None) -> None:
        """Record a change of the conversation's branches by the run."""
        if operation is not None:
            self._record(operation)

    def on_end(self, state: RunState, error: str | None) -> None:
        """Record the end of the run, which cuts off all unfinished steps. Nothing is recorded afterwards."""
        if state is RunState.WAITING:
            self._record_waiting()
        self.cut_off(error)
        self._record(RunEnded(self._run_id, time_ns(), state, error, self._answer))
        self._fall_silent()

    def _fall_silent(self) -> None:
        self._tracer = NO_TRACING
        for other in self._agent_traces:
            other._fall_silent()

    def _record(self, event: TraceEvent) -> None:
        record_safely(self._tracer, event)

    def cut_off(self, error: str | None) -> None:
        """Record every unfinished step as cut off."""
        for other in self._agent_traces:
            other.cut_off(error)
        if self._pending_request is not None:
            self.on_answer(AIMessage("".join(self._pending_request.text_pieces)), error or STOPPED_TEXT)
        for call_id, (call, _) in list(self._running_tools.items()):
            self.on_tool_end(ToolMessage(STOPPED_TEXT, tool_call_id=call_id, name=call["name"], status="error"))
        self.on_agent_end(error or STOPPED_TEXT)

    def _record_waiting(self) -> None:
        """Record the calls waiting for a person's decision, and the sub-agents at work on them."""
        for other in self._agent_traces:
            other._record_waiting()
        for call, began_ns in self._running_tools.values():
            self._record_call(call, None, began_ns)
        self._running_tools.clear()
        self.on_agent_end()


def record_safely(tracer: Tracer, event: TraceEvent) -> None:
    """Pass an event to a tracer. Its failure is logged."""
    try:
        tracer.record(event)
    except Exception:  # noqa: BLE001  (a tracer is foreign code, and its failure must not end a run)
        _log.exception("a tracer failed")


def follow_model(model: Runnable[Any, Any], tracer: Tracer, call: TracedCall) -> Runnable[Any, Any]:
    """Return a model with a tracer's handlers for one call, or the model itself if there are none."""
    if not (handlers := _list_handlers(tracer, call)):
        return model
    return model.with_config(callbacks=handlers, run_name=call.follow_up or "answer", metadata={"agent": call.agent})


def _list_handlers(tracer: Tracer, call: TracedCall) -> list[BaseCallbackHandler]:
    try:
        return [*tracer.follow_call(call)]
    except Exception:  # noqa: BLE001  (as above)
        _log.exception("a tracer failed")
        return []


def make_null_trace() -> RunTrace:
    return RunTrace(NO_TRACING, "", Prompt(SYSTEM_PROMPT_NAME, ""))
