"""Spans of runs, calls of models and tools, with OpenTelemetry's names for generative AI. They hold no text of anybody."""

from dataclasses import dataclass

from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

from agent.context.usage import readable_usage
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.events import (
    JUDGE_PROMPT_NAME,
    TITLE_PROMPT_NAME,
    AgentFinished,
    Judged,
    ModelAnswered,
    RunBegun,
    RunEnded,
    TitleAsked,
    ToolCarriedOut,
    TraceEvent,
)
from agent.tracing.span_ids import SeededIds, derive_span_id, derive_trace_id
from checkpoints import RunState

EXPORT_INTERVAL_SECONDS = 1.0
MAX_NAME_CHARS = 100  # a model may invent a tool
_ERROR = Status(StatusCode.ERROR)

Attributes = dict[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a run that has ended."""

    name: str
    began_ns: int
    ended_ns: int
    is_failed: bool
    within: str  # the id of the step that it is a part of; empty for the run
    id: str = ""


class PlainSpanRecorder:
    """The writer of spans, for one thread alone."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._ids = SeededIds()
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": "waymark"}),
            shutdown_on_exit=False,  # it would wait half a minute for a server that hangs
            id_generator=self._ids,
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_INTERVAL_SECONDS * 1000))
        self._tracer = self._provider.get_tracer("waymark")
        self._runs: dict[str, Span] = {}

    def close(self) -> None:
        """Send the remaining spans. The server determines how long it takes."""
        self._provider.shutdown()

    def record(self, event: TraceEvent) -> None:
        match event:
            case RunBegun():
                about: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": event.thread_id}
                about["waymark.run.id"] = event.run_id
                self._runs[event.run_id] = self._start_root(event.run_id, "run", event.timestamp_ns, about)
            case RunEnded():
                self._end_run(event)
            case ModelAnswered():
                step = _Step("chat", event.began_ns, event.ended_ns, event.error is not None, event.work_id)
                self._add_step(event.run_id, step, _describe_answer(event), SpanKind.CLIENT)
            case ToolCarriedOut():
                self._add_tool(event)
            case AgentFinished():
                step = _Step("agent", event.began_ns, event.ended_ns, event.error is not None, event.call_id, event.work_id)
                about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": event.agent}
                self._add_step(event.run_id, step, about)
            case Judged(thread_id, call):
                self._add_helper_call(JUDGE_PROMPT_NAME, thread_id, call)
            case TitleAsked(thread_id, call):
                self._add_helper_call(TITLE_PROMPT_NAME, thread_id, call)
            case TimeTravelEvent():
                if (run := self._runs.get(event.run_id)) is not None:  # not after its end, by work that was let go of
                    moved: Attributes = {"waymark.messages.removed": event.removed_count}
                    run.add_event(str(event.kind), moved, event.timestamp_ns)

    def _start_root(self, seed: str, name: str, timestamp_ns: int, about: Attributes) -> Span:
        self._ids.next_trace = derive_trace_id(seed)
        return self._tracer.start_span(name, context=Context(), start_time=timestamp_ns, attributes=about)

    def _end_run(self, event: RunEnded) -> None:
        span = self._runs.pop(event.run_id)
        span.set_attribute("waymark.run.state", str(event.state))
        if event.state is RunState.FAILED:
            span.set_status(_ERROR)
        span.end(event.timestamp_ns)

    def _add_tool(self, event: ToolCarriedOut) -> None:
        name, call_id = (event.call["name"] or "unknown")[:MAX_NAME_CHARS], event.call["id"] or ""
        is_failed = event.result is not None and event.result.status == "error"
        step = _Step("tool", event.began_ns, event.ended_ns, is_failed, event.work_id, call_id)
        about: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        about |= {"gen_ai.tool.call.id": call_id, "gen_ai.agent.name": event.agent}
        about["waymark.tool.waits"] = event.result is None
        self._add_step(event.run_id, step, about)

    def _add_helper_call(self, name: str, thread_id: str, call: ModelAnswered) -> None:
        """Record a call after a run as a trace of its own."""
        about = _describe_answer(call) | {"gen_ai.conversation.id": thread_id, "waymark.run.id": call.run_id}
        span = self._start_root(f"{name}:{call.run_id}", name, call.began_ns, about)
        if call.error is not None:
            span.set_status(_ERROR)
        span.end(call.ended_ns)

    def _add_step(self, run_id: str, step: _Step, about: Attributes, kind: SpanKind = SpanKind.INTERNAL) -> None:
        run = self._runs.get(run_id)
        if run is None:  # as above
            return
        parent = run
        if step.within:  # its own span does not exist yet: it is made when that step has ended
            place = run.get_span_context().trace_id, derive_span_id(run_id, step.within)
            parent = NonRecordingSpan(SpanContext(*place, is_remote=False, trace_flags=TraceFlags(1)))
        self._ids.next_span = derive_span_id(run_id, step.id) if step.id else 0
        span = self._tracer.start_span(
            step.name, set_span_in_context(parent, Context()), kind, about, start_time=step.began_ns
        )
        if step.is_failed:
            span.set_status(_ERROR)
        span.end(step.ended_ns)


def _describe_answer(event: ModelAnswered) -> Attributes:
    metadata, usage = event.answer.response_metadata, readable_usage(event.answer.usage_metadata)
    spec = str(metadata.get("spec") or event.model)
    about: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": spec.partition(":")[0],
        "gen_ai.request.model": spec.partition(":")[2] or spec,
        "gen_ai.agent.name": event.agent,
    }
    if reason := metadata.get("finish_reason"):
        about["gen_ai.response.finish_reasons"] = [str(reason)]
    if usage is not None:
        about |= {"gen_ai.usage.input_tokens": usage["input_tokens"], "gen_ai.usage.output_tokens": usage["output_tokens"]}
    if event.first_token_ns is not None:
        about["waymark.first_token_seconds"] = (event.first_token_ns - event.began_ns) / 1e9
    return about
