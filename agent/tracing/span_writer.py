"""Writes spans of OpenTelemetry with the ids that a run's events determine.

It uses no global provider, no instrumentation and no context of another tracer.
"""

from collections.abc import Mapping
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

from agent.tracing.span_ids import SeededIds, derive_span_id, derive_trace_id

EXPORT_INTERVAL_SECONDS = 1.0
FAILED = Status(StatusCode.ERROR)

SpanAttributes = Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a run that has ended."""

    run_id: str
    name: str
    began_ns: int
    ended_ns: int
    within: str  # the id of the step that it is a part of; empty for the run
    id: str = ""
    is_failed: bool = False


class SpanWriter:
    """The spans of one exporter, for one thread alone."""

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

    def close(self) -> None:
        """Send the remaining spans. The server determines how long it takes."""
        self._provider.shutdown()

    def start_root(
        self, seed: str, name: str, timestamp_ns: int, attributes: SpanAttributes, kind: SpanKind = SpanKind.INTERNAL
    ) -> Span:
        """Start the first span of the trace that the seed determines."""
        self._ids.next_trace = derive_trace_id(seed)
        return self._tracer.start_span(name, context=Context(), kind=kind, start_time=timestamp_ns, attributes=attributes)

    def add_moment(self, parent: Span, name: str, timestamp_ns: int, attributes: SpanAttributes) -> None:
        """Add a span without a length below another."""
        context = set_span_in_context(parent, Context())
        self._tracer.start_span(name, context=context, start_time=timestamp_ns, attributes=attributes).end(timestamp_ns)

    def add_step(self, run: Span, step: Step, attributes: SpanAttributes, kind: SpanKind = SpanKind.INTERNAL) -> None:
        """Add a step below the step that it is within, or below its run."""
        parent = run
        if step.within:  # its own span does not exist yet: it is made when that step has ended
            place = run.get_span_context().trace_id, derive_span_id(step.run_id, step.within)
            parent = NonRecordingSpan(SpanContext(*place, is_remote=False, trace_flags=TraceFlags(1)))
        self._ids.next_span = derive_span_id(step.run_id, step.id) if step.id else 0
        context = set_span_in_context(parent, Context())
        span = self._tracer.start_span(step.name, context, kind, attributes, start_time=step.began_ns)
        if step.is_failed:
            span.set_status(FAILED)
        span.end(step.ended_ns)
