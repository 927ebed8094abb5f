"""Spans of OpenTelemetry for a run's events, with Langfuse's attributes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langfuse import LangfuseOtelSpanAttributes as Attribute
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

from agent.context.prices import Prices
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.attributes import (
    Attributes,
    compute_costs,
    count_token_kinds,
    describe_detail,
    describe_transition,
    encode_arguments,
    encode_json,
    encode_messages,
    format_time,
    make_common_attributes,
    make_label_attributes,
    make_level,
    make_metadata,
    measure_message,
)
from agent.tracing.events import (
    JUDGE_PROMPT_NAME,
    TITLE_PROMPT_NAME,
    AgentFinished,
    Judged,
    ModelAnswered,
    RunBegun,
    RunEnded,
    RunStart,
    SpanEvent,
    TitleAsked,
    ToolCarriedOut,
    TraceLabels,
)
from agent.tracing.span_writer import SpanWriter, Step
from checkpoints import MAIN, Operation, RunState
from checkpoints.values import serde
from checkpoints.values.answer_spec import read_spec

_LEVELS = {RunState.FAILED: "ERROR", RunState.STOPPED: "WARNING", RunState.INTERRUPTED: "WARNING"}


@dataclass(frozen=True, slots=True)
class _RunSpan:
    """The root span of an unfinished run, and the names of its trace."""

    span: Span
    thread_id: str
    trace_name: str


class SpanRecorder:
    """The writer of spans, for one thread alone. With `mask`, sizes replace the texts of people, models and tools."""

    def __init__(self, exporter: SpanExporter, *, mask: bool, labels: TraceLabels, prices: Prices) -> None:
        self._mask = mask
        self._labels = make_label_attributes(labels)
        self._prices = prices
        self._tool_definitions: dict[str, tuple[BaseTool, dict[str, Any]]] = {}  # by name; making one takes long
        self._writer = SpanWriter(exporter)
        self._runs: dict[str, _RunSpan] = {}

    def close(self) -> None:
        """Send the remaining spans. The server determines how long it takes."""
        self._writer.close()

    def record(self, event: SpanEvent) -> None:
        match event:
            case RunBegun():
                self._start_run(event)
            case Operation():
                self._add_operation(event)
            case RunEnded():
                self._end_run(event)
            case ModelAnswered():
                self._add_child(event, "answer", "generation", self._describe_generation(event), within=event.work_id)
            case Judged(thread_id, call):
                self._add_helper_call(JUDGE_PROMPT_NAME, thread_id, call)
            case TitleAsked(thread_id, call):
                self._add_helper_call(TITLE_PROMPT_NAME, thread_id, call)
            case ToolCarriedOut():
                name, step_id = event.call["name"] or "unknown", event.call["id"] or ""
                self._add_child(event, name, "tool", self._describe_tool(event), within=event.work_id, step_id=step_id)
            case AgentFinished():
                name = event.agent if self._mask or not event.title else f"{event.agent}: {event.title}"
                about = self._describe_agent(event)
                self._add_child(event, name, "agent", about, within=event.call_id, step_id=event.work_id)
            case TimeTravelEvent():
                self._add_move(event)

    def _add_helper_call(self, name: str, thread_id: str, call: ModelAnswered) -> None:
        """Record a call after a run as a trace of its own: the run's trace may be sent already."""
        attributes, seed = self._describe_generation(call), f"{name}:{call.run_id}"
        self._start_root(seed, name, thread_id, call.began_ns, "generation", attributes).end(call.ended_ns)

    def _start_run(self, event: RunBegun) -> None:
        attributes = {Attribute.OBSERVATION_INPUT: self._mask_text(event.question), **self._describe_start(event.start)}
        trace_name = "run" if self._mask or not event.title else serde.sanitize_text(event.title)
        span = self._start_root(
            event.run_id, "run", event.thread_id, event.timestamp_ns, "agent", attributes, trace_name=trace_name
        )
        self._runs[event.run_id] = _RunSpan(span, event.thread_id, trace_name)

    def _end_run(self, event: RunEnded) -> None:
        span = self._runs.pop(event.run_id).span
        attributes = {
            Attribute.OBSERVATION_OUTPUT: self._mask_text(event.answer),
            **make_metadata({"state": str(event.state)}),
        }
        span.set_attributes(attributes | make_level(_LEVELS.get(event.state), event.error))
        span.end(event.timestamp_ns)

    def _add_move(self, event: TimeTravelEvent) -> None:
        """Record an event within the trace of the run that made the move."""
        run = self._runs[event.run_id]
        about = {
            "from": event.call_position,
            "to": event.target_position,
            "removed": event.removed_count,
            "tokens_saved": event.tokens_saved,
            "agent": None if event.agent == MAIN else event.agent,
        }
        names = None if self._mask else ", ".join(event.sources)  # people choose the names of files
        attributes = {
            **self._labels,
            **make_common_attributes(run.thread_id, run.trace_name, "event"),
            Attribute.OBSERVATION_INPUT: self._mask_text(event.reason),
            **make_metadata(about | {"sources": names or None}, of="observation"),
        }
        self._writer.add_moment(run.span, event.kind, event.timestamp_ns, attributes)

    def _add_operation(self, operation: Operation) -> None:
        made_at = round(operation.created_at.timestamp() * 1e9)
        about = {
            "operation": operation.version,
            "actor": operation.actor,
            "result": operation.result,
            "messages": operation.detail.messages or None,
            "checkpoints": operation.detail.checkpoints or None,
            **describe_transition(operation),
        }
        attributes = make_metadata(about) | {Attribute.OBSERVATION_INPUT: self._mask_text(describe_detail(operation.detail))}
        seed = f"{operation.thread_id}:{operation.version}"
        self._start_root(seed, str(operation.kind), operation.thread_id, made_at, "event", attributes).end(made_at)

    def _start_root(
        self,
        seed: str,
        name: str,
        thread_id: str,
        timestamp_ns: int,
        kind: str,
        attributes: Attributes,
        *,
        trace_name: str = "",
    ) -> Span:
        everything = self._labels | make_common_attributes(thread_id, trace_name or name, kind) | dict(attributes)
        return self._writer.start_root(seed, name, timestamp_ns, everything)

    def _add_child(
        self,
        event: ModelAnswered | ToolCarriedOut | AgentFinished,
        name: str,
        kind: str,
        attributes: Attributes,
        *,
        within: str,
        step_id: str = "",
    ) -> None:
        """Add a span below the step with the id `within`, or below the run where that is empty."""
        run = self._runs[event.run_id]
        everything = self._labels | make_common_attributes(run.thread_id, run.trace_name, kind) | dict(attributes)
        step = Step(event.run_id, name, event.began_ns, event.ended_ns, within, step_id)
        self._writer.add_step(run.span, step, everything)

    def _describe_generation(self, event: ModelAnswered) -> dict[str, AttributeValue]:
        answer = event.answer
        tools = [self._describe_offered_tool(tool) for tool in event.tools]
        attributes: dict[str, AttributeValue] = {
            Attribute.OBSERVATION_INPUT: encode_json([*self._encode_messages(event.messages), *tools]),
            Attribute.OBSERVATION_OUTPUT: encode_json(self._encode_messages([answer])),
            **make_level("ERROR" if event.error else None, event.error),
            **make_metadata(
                {"finish_reason": answer.response_metadata.get("finish_reason"), "agent": event.agent}, of="observation"
            ),
        }
        if model := answer.response_metadata.get("model_name") or event.model:
            attributes[Attribute.OBSERVATION_MODEL] = str(model)
        if counted := count_token_kinds(answer):
            attributes[Attribute.OBSERVATION_USAGE_DETAILS] = json.dumps(counted)
            if price := self._prices.get(read_spec(answer.response_metadata) or event.model):
                attributes[Attribute.OBSERVATION_COST_DETAILS] = json.dumps(compute_costs(counted, price))
        if event.parameters:
            attributes[Attribute.OBSERVATION_MODEL_PARAMETERS] = encode_json(dict(event.parameters))
        if event.first_token_ns is not None:
            attributes[Attribute.OBSERVATION_COMPLETION_START_TIME] = json.dumps(format_time(event.first_token_ns))
        if event.prompt.version is not None:
            attributes[Attribute.OBSERVATION_PROMPT_NAME] = event.prompt.name
            attributes[Attribute.OBSERVATION_PROMPT_VERSION] = event.prompt.version
        return attributes

    def _describe_tool(self, event: ToolCarriedOut) -> dict[str, str]:
        about = {"call": event.call["id"], "agent": event.agent, "state": None if event.result else "waiting"}
        attributes = {
            Attribute.OBSERVATION_INPUT: self._mask_text(encode_arguments(event.call["args"])),
            **make_metadata(about, of="observation"),
        }
        if event.result is None:
            return attributes
        output = self._mask_text(event.result.text)
        level = make_level("ERROR", output) if event.result.status == "error" else {}
        return attributes | {Attribute.OBSERVATION_OUTPUT: output} | level

    def _describe_agent(self, event: AgentFinished) -> dict[str, str]:
        return {
            Attribute.OBSERVATION_OUTPUT: self._mask_text(event.answer),
            **make_level("ERROR" if event.error else None, event.error),
            **make_metadata({"agent": event.agent}, of="observation"),
        }

    def _describe_offered_tool(self, tool: BaseTool) -> dict[str, Any]:
        """Return a tool's definition in the place and form that Langfuse's own handler gives it."""
        known = self._tool_definitions.get(tool.name)
        if known is None or known[0] is not tool:
            known = self._tool_definitions[tool.name] = tool, convert_to_openai_tool(tool)
        if self._mask:
            return {"role": "tool", "name": tool.name, "characters": len(encode_json(known[1]))}
        return {"role": "tool", "content": known[1]}

    def _describe_start(self, start: RunStart | None) -> dict[str, str]:
        if start is None:
            return {}
        checkpoint = start.checkpoint
        names = {"branch": start.branch.name, "checkpoint": checkpoint and checkpoint.name}
        ids = {"branch": start.branch.id, "checkpoint": checkpoint and checkpoint.id}
        return make_metadata(
            (ids if self._mask else names) | {"rewound_from": start.rewound_from, "operation": start.version}
        )

    def _mask_text(self, text: str) -> str:
        return f"({len(text):,} characters)" if self._mask else serde.sanitize_text(text)

    def _encode_messages(self, messages: Sequence[AnyMessage]) -> list[dict[str, Any]]:
        return [measure_message(message) for message in messages] if self._mask else encode_messages(messages)
