"""Spans of OpenTelemetry for a run's events, with Langfuse's attributes.

The module uses no global provider, no instrumentation and no context of another tracer.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, convert_to_openai_messages
from langfuse import Langfuse
from langfuse import LangfuseOtelSpanAttributes as Attribute
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span, set_span_in_context

from agent.context.usage import readable_usage
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.events import JUDGE_PROMPT_NAME, Judged, ModelAnswered, RunBegun, RunEnded, RunStart, ToolCarriedOut
from checkpoints import Operation, OperationDetail, RunState, serde

EXPORT_INTERVAL_SECONDS = 1.0
_LEVELS = {RunState.FAILED: "ERROR", RunState.STOPPED: "WARNING", RunState.INTERRUPTED: "WARNING"}


def derive_trace_id(seed: str) -> str:
    """Return the id of a run's trace; it is derived, so nothing has to be stored to find the trace."""
    return Langfuse.create_trace_id(seed=seed)


class _SeededIds(RandomIdGenerator):
    """A generator of ids that gives the next trace a chosen id."""

    next_trace = ""

    def generate_trace_id(self) -> int:
        return int(self.next_trace, 16)


class SpanRecorder:
    """The writer of spans, for one thread alone. With `mask`, sizes replace the texts of people, models and tools."""

    def __init__(self, exporter: SpanExporter, *, mask: bool) -> None:
        self._mask = mask
        self._ids = _SeededIds()
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": "waymark"}),
            shutdown_on_exit=False,  # it would wait half a minute for a server that hangs
            id_generator=self._ids,
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_INTERVAL_SECONDS * 1000))
        self._tracer = self._provider.get_tracer("waymark")
        self._runs: dict[str, tuple[Span, str]] = {}  # unfinished runs: their root spans and threads

    def close(self) -> None:
        """Send the remaining spans. The server determines how long it takes."""
        self._provider.shutdown()

    def record(
        self, event: RunBegun | ModelAnswered | ToolCarriedOut | RunEnded | Judged | Operation | TimeTravelEvent
    ) -> None:
        match event:
            case RunBegun():
                self._start_run(event)
            case Operation():
                self._add_operation(event)
            case RunEnded():
                self._end_run(event)
            case ModelAnswered():
                self._add_child(event, "answer", "generation", self._describe_generation(event))
            case Judged(thread_id, call):
                seed = f"{JUDGE_PROMPT_NAME}:{call.run_id}"  # a separate trace: the run's trace may be sent already
                attributes = self._describe_generation(call)
                self._start_root(seed, JUDGE_PROMPT_NAME, thread_id, call.began_ns, "generation", attributes).end(
                    call.ended_ns
                )
            case ToolCarriedOut():
                self._add_child(event, event.call["name"], "tool", self._describe_tool(event))
            case TimeTravelEvent():
                self._add_move(event)

    def _start_run(self, event: RunBegun) -> None:
        attributes = {Attribute.OBSERVATION_INPUT: self._mask_text(event.question), **self._describe_start(event.start)}
        self._runs[event.run_id] = (
            self._start_root(event.run_id, "run", event.thread_id, event.timestamp_ns, "agent", attributes),
            event.thread_id,
        )

    def _end_run(self, event: RunEnded) -> None:
        span, _ = self._runs.pop(event.run_id)
        attributes = {
            Attribute.OBSERVATION_OUTPUT: self._mask_text(event.answer),
            **_make_metadata({"state": str(event.state)}),
        }
        span.set_attributes(attributes | _make_level(_LEVELS.get(event.state), event.error))
        span.end(event.timestamp_ns)

    def _add_move(self, event: TimeTravelEvent) -> None:
        """Record an event within the trace of the run that made the move."""
        parent, thread_id = self._runs[event.run_id]
        about = {
            "from": event.call_position,
            "to": event.target_position,
            "removed": event.removed_count,
            "tokens_saved": event.tokens_saved,
        }
        names = None if self._mask else ", ".join(event.sources)  # people choose the names of files
        attributes = _make_common_attributes(thread_id, "run", "event") | {
            Attribute.OBSERVATION_INPUT: self._mask_text(event.reason)
        }
        attributes |= _make_metadata(about | {"sources": names or None}, of="observation")
        context = set_span_in_context(parent, Context())
        self._tracer.start_span(event.kind, context=context, start_time=event.timestamp_ns, attributes=attributes).end(
            event.timestamp_ns
        )

    def _add_operation(self, operation: Operation) -> None:
        made_at = round(operation.created_at.timestamp() * 1e9)
        about = {
            "operation": operation.version,
            "actor": operation.actor,
            "result": operation.result,
            "messages": operation.detail.messages or None,
            "checkpoints": operation.detail.checkpoints or None,
            **_describe_transition(operation),
        }
        attributes = _make_metadata(about) | {
            Attribute.OBSERVATION_INPUT: self._mask_text(_describe_detail(operation.detail))
        }
        seed = f"{operation.thread_id}:{operation.version}"
        self._start_root(seed, str(operation.kind), operation.thread_id, made_at, "event", attributes).end(made_at)

    def _start_root(
        self, seed: str, name: str, thread_id: str, timestamp_ns: int, kind: str, attributes: Mapping[str, str | int]
    ) -> Span:
        self._ids.next_trace = derive_trace_id(seed)
        common = _make_common_attributes(thread_id, name, kind)
        return self._tracer.start_span(
            name, context=Context(), start_time=timestamp_ns, attributes=common | dict(attributes)
        )

    def _add_child(
        self, event: ModelAnswered | ToolCarriedOut, name: str, kind: str, attributes: Mapping[str, str | int]
    ) -> None:
        parent, thread_id = self._runs[event.run_id]
        context = set_span_in_context(parent, Context())
        everything = _make_common_attributes(thread_id, "run", kind) | dict(attributes)
        self._tracer.start_span(name, context=context, start_time=event.began_ns, attributes=everything).end(event.ended_ns)

    def _describe_generation(self, event: ModelAnswered) -> dict[str, str | int]:
        answer = event.answer
        attributes: dict[str, str | int] = {
            Attribute.OBSERVATION_INPUT: self._encode_messages(event.messages),
            Attribute.OBSERVATION_OUTPUT: self._encode_messages([answer]),
            **_make_level("ERROR" if event.error else None, event.error),
            **_make_metadata(
                {"finish_reason": answer.response_metadata.get("finish_reason"), "agent": event.agent}, of="observation"
            ),
        }
        if model := answer.response_metadata.get("model_name") or event.model:
            attributes[Attribute.OBSERVATION_MODEL] = str(model)
        if counted := count_usage(answer):
            attributes[Attribute.OBSERVATION_USAGE_DETAILS] = json.dumps(counted)
        if event.first_token_ns is not None:
            attributes[Attribute.OBSERVATION_COMPLETION_START_TIME] = json.dumps(_format_time(event.first_token_ns))
        if event.prompt.version is not None:
            attributes[Attribute.OBSERVATION_PROMPT_NAME] = event.prompt.name
            attributes[Attribute.OBSERVATION_PROMPT_VERSION] = event.prompt.version
        return attributes

    def _describe_tool(self, event: ToolCarriedOut) -> dict[str, str | int]:
        is_failed = event.result.status == "error"
        return {
            Attribute.OBSERVATION_INPUT: self._mask_text(_encode_json(event.call["args"])),
            Attribute.OBSERVATION_OUTPUT: self._mask_text(event.result.text),
            **_make_level("ERROR" if is_failed else None, self._mask_text(event.result.text) if is_failed else None),
            **_make_metadata({"call": event.call["id"], "agent": event.agent}, of="observation"),
        }

    def _describe_start(self, start: RunStart | None) -> dict[str, str]:
        if start is None:
            return {}
        checkpoint = start.checkpoint
        names = {"branch": start.branch.name, "checkpoint": checkpoint and checkpoint.name}
        ids = {"branch": start.branch.id, "checkpoint": checkpoint and checkpoint.id}
        return _make_metadata(
            (ids if self._mask else names) | {"rewound_from": start.rewound_from, "operation": start.version}
        )

    def _mask_text(self, text: str) -> str:
        return f"({len(text):,} characters)" if self._mask else serde.sanitize_text(text)

    def _encode_messages(self, messages: Sequence[AnyMessage]) -> str:
        if self._mask:
            return _encode_json([_measure_message(message) for message in messages])
        return _encode_json(convert_to_openai_messages(list(messages)))


def count_usage(answer: AIMessage) -> dict[str, int] | None:
    """Return an answer's tokens, each counted once, because Langfuse adds them up; None without a usage."""
    metadata = readable_usage(answer.usage_metadata)
    if metadata is None:
        return None
    counts = {"input": metadata["input_tokens"], "output": metadata["output_tokens"]}
    details = {"input": metadata.get("input_token_details"), "output": metadata.get("output_token_details")}
    for side, kinds in details.items():
        for kind, tokens in (kinds or {}).items():
            if isinstance(tokens, int) and tokens:
                counts[f"{side}_{kind}"] = tokens
                counts[side] = max(0, counts[side] - tokens)
    return {**counts, "total": metadata["total_tokens"]}


def _describe_detail(detail: OperationDetail) -> str:
    """Return the name of what was saved, restored or forked; of several branches their number."""
    return detail.name or _encode_json(detail.to_json())


def _describe_transition(operation: Operation) -> dict[str, object]:
    """Return the heads before and after a change: of a restore the branch's, of a fork the branches' ids."""
    for change in operation.changes:
        for column in ("head_id", "branch_id"):
            if change.table != "checkpoint" and column in change.before:
                return {"from": change.before[column], "to": change.after[column]}
    return {}


def _make_common_attributes(thread_id: str, trace_name: str, kind: str) -> dict[str, str | int]:
    return {
        Attribute.TRACE_NAME: trace_name,
        Attribute.TRACE_SESSION_ID: thread_id,
        Attribute.OBSERVATION_TYPE: kind,
    }


def _make_metadata(values: Mapping[str, object], of: str = "trace") -> dict[str, str]:
    prefix = Attribute.TRACE_METADATA if of == "trace" else Attribute.OBSERVATION_METADATA
    return {f"{prefix}.{key}": str(value) for key, value in values.items() if value is not None}


def _make_level(level: str | None, message: str | None) -> dict[str, str]:
    attributes = {Attribute.OBSERVATION_LEVEL: level, Attribute.OBSERVATION_STATUS_MESSAGE: message}
    return {key: value for key, value in attributes.items() if value}


def _measure_message(message: BaseMessage) -> dict[str, Any]:
    size: dict[str, Any] = {"role": message.type, "characters": len(message.text)}
    if isinstance(message, AIMessage) and message.tool_calls:
        size["tool_calls"] = [
            {"name": call["name"], "characters": len(_encode_json(call["args"]))} for call in message.tool_calls
        ]
    return size


def _encode_json(value: object) -> str:
    return serde.sanitize_text(json.dumps(value, ensure_ascii=False, default=str))


def _format_time(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat()
