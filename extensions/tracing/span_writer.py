"""Writes spans of OpenTelemetry with ids that a run's events determine.

It uses no global provider, no instrumentation and no context of another tracer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry.baggage import set_baggage
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
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

from extensions.tracing.span_ids import SeededIds, derive_span_id, derive_trace_id

FAILED = Status(StatusCode.ERROR)

Attributes = Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class Step:
    """An ended step of a run."""

    run_id: str
    name: str
    began_ns: int
    ended_ns: int
    # The id of the enclosing step, empty for the run.
    within: str
    id: str = ""
    is_failed: bool = False


def make_step_context(run_id: str, step_id: str) -> Context:
    """Return the context for spans below a step, or below its run. The step's own span is made when the step ends."""
    trace_id = derive_trace_id(run_id)
    place = SpanContext(int(trace_id, 16), derive_span_id(run_id, step_id), is_remote=False, trace_flags=TraceFlags(1))
    # Without the baggage, Langfuse's client would take spans below an unknown span for roots.
    return set_baggage("langfuse_trace_id", trace_id, set_span_in_context(NonRecordingSpan(place), Context()))


class _Provider(TracerProvider):
    """A provider with a list of its processors, since its own shutdown waits for one after the other."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.processors: list[SpanProcessor] = []

    def add_span_processor(self, span_processor: SpanProcessor) -> None:
        self.processors.append(span_processor)
        super().add_span_processor(span_processor)


class SpanWriter:
    """Writes Waymark's own spans to every processor of its provider."""

    def __init__(self) -> None:
        self._ids = SeededIds()
        self.provider = _Provider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": "waymark"}),
            # The shutdown would wait half a minute for a hanging server.
            shutdown_on_exit=False,
            id_generator=self._ids,
        )
        self._tracer = self.provider.get_tracer("waymark")

    def start_root(
        self, seed: str, name: str, began_ns: int, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL
    ) -> Span:
        """Start the first span of the trace that the seed determines."""
        self._ids.choose(trace=derive_trace_id(seed), span=derive_span_id(seed, ""))
        return self._tracer.start_span(name, Context(), kind, attributes, start_time=began_ns)

    def add_step(self, step: Step, attributes: Attributes, kind: SpanKind = SpanKind.INTERNAL) -> None:
        """Add a step below its enclosing step, or below its run."""
        context = make_step_context(step.run_id, step.within)
        self._ids.choose(span=derive_span_id(step.run_id, step.id) if step.id else 0)
        span = self._tracer.start_span(step.name, context, kind, attributes, start_time=step.began_ns)
        if step.is_failed:
            span.set_status(FAILED)
        span.end(step.ended_ns)
