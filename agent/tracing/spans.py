"""What a run tells as spans of OpenTelemetry, with the attributes that Langfuse reads.

All of it is ours alone: no global provider, no instrumentation, and no context of another tracer is looked at.
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

from agent.tracing import JUDGE, Judged, ModelAnswered, Place, RunBegun, RunEnded, ToolCarriedOut
from agent.travelling import TimeTravelEvent
from agent.usage import readable_usage
from checkpoints import Operation, RunState, serde

SECONDS_BETWEEN_EXPORTS = 1.0
_LEVELS = {RunState.FAILED: "ERROR", RunState.STOPPED: "WARNING", RunState.INTERRUPTED: "WARNING"}


def trace_id(seed: str) -> str:
    """Derived, so that nothing has to be stored to find a run's trace again."""
    return Langfuse.create_trace_id(seed=seed)


class _Ids(RandomIdGenerator):
    """Gives the next trace the id that was laid out for it."""

    next_trace = ""

    def generate_trace_id(self) -> int:
        return int(self.next_trace, 16)


class Spans:
    """Told by one thread alone. With `mask`, sizes stand for all that people, models and tools wrote."""

    def __init__(self, exporter: SpanExporter, *, mask: bool) -> None:
        self._mask = mask
        self._ids = _Ids()
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": "waymark"}),
            shutdown_on_exit=False,  # it would wait half a minute for a server that hangs
            id_generator=self._ids,
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=SECONDS_BETWEEN_EXPORTS * 1000))
        self._tracer = self._provider.get_tracer("waymark")
        self._runs: dict[str, tuple[Span, str]] = {}  # those that are not over: their root spans and threads

    def close(self) -> None:
        """Send what is left. Takes as long as the server does."""
        self._provider.shutdown()

    def tell(
        self, told: RunBegun | ModelAnswered | ToolCarriedOut | RunEnded | Judged | Operation | TimeTravelEvent
    ) -> None:
        match told:
            case RunBegun():
                self._begin(told)
            case Operation():
                self._event(told)
            case RunEnded():
                self._end(told)
            case ModelAnswered():
                self._child(told, "answer", "generation", self._generation(told))
            case Judged(thread_id, call):
                seed = f"{JUDGE}:{call.run_id}"  # a trace of its own: the run's is over, and may be sent already
                attributes = self._generation(call)
                self._root(seed, JUDGE, thread_id, call.began, "generation", attributes).end(call.ended)
            case ToolCarriedOut():
                self._child(told, told.call["name"], "tool", self._tool(told))
            case TimeTravelEvent():
                self._move(told)

    def _begin(self, told: RunBegun) -> None:
        attributes = {Attribute.OBSERVATION_INPUT: self._text(told.question), **self._placed(told.place)}
        self._runs[told.run_id] = (
            self._root(told.run_id, "run", told.thread_id, told.at, "agent", attributes),
            told.thread_id,
        )

    def _end(self, told: RunEnded) -> None:
        span, _ = self._runs.pop(told.run_id)
        attributes = {Attribute.OBSERVATION_OUTPUT: self._text(told.answer), **_metadata({"state": str(told.state)})}
        span.set_attributes(attributes | _level(_LEVELS.get(told.state), told.error))
        span.end(told.at)

    def _move(self, told: TimeTravelEvent) -> None:
        """An event within the trace of the run that made the move."""
        parent, thread_id = self._runs[told.run_id]
        about = {"from": told.begin, "to": told.position, "removed": told.removed, "tokens_saved": told.tokens_saved}
        names = None if self._mask else ", ".join(told.sources)  # files have the names that people gave them
        attributes = _common(thread_id, "run", "event") | {Attribute.OBSERVATION_INPUT: self._text(told.reason)}
        attributes |= _metadata(about | {"sources": names or None}, of="observation")
        context = set_span_in_context(parent, Context())
        self._tracer.start_span(told.kind, context=context, start_time=told.at, attributes=attributes).end(told.at)

    def _event(self, told: Operation) -> None:
        made_at = round(told.created_at.timestamp() * 1e9)
        about = {"operation": told.version, "actor": told.actor, "result": told.result, **_way(told)}
        attributes = _metadata(about) | {Attribute.OBSERVATION_INPUT: self._text(told.note)}
        seed = f"{told.thread_id}:{told.version}"
        self._root(seed, str(told.kind), told.thread_id, made_at, "event", attributes).end(made_at)

    def _root(self, seed: str, name: str, thread_id: str, at: int, kind: str, attributes: Mapping[str, str | int]) -> Span:
        self._ids.next_trace = trace_id(seed)
        common = _common(thread_id, name, kind)
        return self._tracer.start_span(name, context=Context(), start_time=at, attributes=common | dict(attributes))

    def _child(
        self, told: ModelAnswered | ToolCarriedOut, name: str, kind: str, attributes: Mapping[str, str | int]
    ) -> None:
        parent, thread_id = self._runs[told.run_id]
        context = set_span_in_context(parent, Context())
        everything = _common(thread_id, "run", kind) | dict(attributes)
        self._tracer.start_span(name, context=context, start_time=told.began, attributes=everything).end(told.ended)

    def _generation(self, told: ModelAnswered) -> dict[str, str | int]:
        answer = told.answer
        attributes: dict[str, str | int] = {
            Attribute.OBSERVATION_INPUT: self._messages(told.asked),
            Attribute.OBSERVATION_OUTPUT: self._messages([answer]),
            **_level("ERROR" if told.error else None, told.error),
            **_metadata(
                {"finish_reason": answer.response_metadata.get("finish_reason"), "agent": told.agent}, of="observation"
            ),
        }
        if model := answer.response_metadata.get("model_name") or told.model:
            attributes[Attribute.OBSERVATION_MODEL] = str(model)
        if counted := usage(answer):
            attributes[Attribute.OBSERVATION_USAGE_DETAILS] = json.dumps(counted)
        if told.first is not None:
            attributes[Attribute.OBSERVATION_COMPLETION_START_TIME] = json.dumps(_iso(told.first))
        if told.prompt.version is not None:
            attributes[Attribute.OBSERVATION_PROMPT_NAME] = told.prompt.name
            attributes[Attribute.OBSERVATION_PROMPT_VERSION] = told.prompt.version
        return attributes

    def _tool(self, told: ToolCarriedOut) -> dict[str, str | int]:
        failed = told.result.status == "error"
        return {
            Attribute.OBSERVATION_INPUT: self._text(_json(told.call["args"])),
            Attribute.OBSERVATION_OUTPUT: self._text(told.result.text),
            **_level("ERROR" if failed else None, self._text(told.result.text) if failed else None),
            **_metadata({"call": told.call["id"], "agent": told.agent}, of="observation"),
        }

    def _placed(self, place: Place | None) -> dict[str, str]:
        if place is None:
            return {}
        checkpoint = place.checkpoint
        names = {"branch": place.branch.name, "checkpoint": checkpoint and checkpoint.name}
        ids = {"branch": place.branch.id, "checkpoint": checkpoint and checkpoint.id}
        return _metadata((ids if self._mask else names) | {"rewound_from": place.rewound_from, "operation": place.version})

    def _text(self, text: str) -> str:
        return f"({len(text):,} characters)" if self._mask else serde.writable(text)

    def _messages(self, messages: Sequence[AnyMessage]) -> str:
        if self._mask:
            return _json([_size(message) for message in messages])
        return _json(convert_to_openai_messages(list(messages)))


def usage(answer: AIMessage) -> dict[str, int] | None:
    """The tokens of an answer, each in one place only: Langfuse adds them up. None where its provider told none."""
    metadata = readable_usage(answer.usage_metadata)
    if metadata is None:
        return None
    counted = {"input": metadata["input_tokens"], "output": metadata["output_tokens"]}
    details = {"input": metadata.get("input_token_details"), "output": metadata.get("output_token_details")}
    for side, kinds in details.items():
        for kind, tokens in (kinds or {}).items():
            if isinstance(tokens, int) and tokens:
                counted[f"{side}_{kind}"] = tokens
                counted[side] = max(0, counted[side] - tokens)
    return {**counted, "total": metadata["total_tokens"]}


def _way(told: Operation) -> dict[str, object]:
    """From which head to which other one a change led: of a restore the branch's, of a fork the branches' ids."""
    for change in told.changes:
        for column in ("head_id", "branch_id"):
            if change.table != "checkpoint" and column in change.before:
                return {"from": change.before[column], "to": change.after[column]}
    return {}


def _common(thread_id: str, trace_name: str, kind: str) -> dict[str, str | int]:
    return {
        Attribute.TRACE_NAME: trace_name,
        Attribute.TRACE_SESSION_ID: thread_id,
        Attribute.OBSERVATION_TYPE: kind,
    }


def _metadata(values: Mapping[str, object], of: str = "trace") -> dict[str, str]:
    prefix = Attribute.TRACE_METADATA if of == "trace" else Attribute.OBSERVATION_METADATA
    return {f"{prefix}.{key}": str(value) for key, value in values.items() if value is not None}


def _level(level: str | None, message: str | None) -> dict[str, str]:
    attributes = {Attribute.OBSERVATION_LEVEL: level, Attribute.OBSERVATION_STATUS_MESSAGE: message}
    return {key: value for key, value in attributes.items() if value}


def _size(message: BaseMessage) -> dict[str, Any]:
    size: dict[str, Any] = {"role": message.type, "characters": len(message.text)}
    if isinstance(message, AIMessage) and message.tool_calls:
        size["tool_calls"] = [{"name": call["name"], "characters": len(_json(call["args"]))} for call in message.tool_calls]
    return size


def _json(value: object) -> str:
    return serde.writable(json.dumps(value, ensure_ascii=False, default=str))


def _iso(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).isoformat()
