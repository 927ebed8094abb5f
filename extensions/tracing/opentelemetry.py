"""The tracer: runs, steps and requests as spans of OpenTelemetry, for a collector without any person's text."""

import time
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from threading import Thread

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Span, SpanKind

from agent.context.usage import readable_usage
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.events import (
    AgentFinished,
    Judged,
    ModelAnswered,
    RequestServed,
    RunBegun,
    RunEnded,
    TitleAsked,
    ToolCarriedOut,
    TraceEvent,
)
from agent.tracing.protocol import NoTracing
from checkpoints import RunState
from checkpoints.values import serde
from checkpoints.values.answer_spec import read_spec
from extensions.tracing.sending import WarningExporter, WarnOnce
from extensions.tracing.span_writer import FAILED, Attributes, SpanWriter, Step

EXPORT_MILLISECONDS = 1_000
MAX_CLOSE_SECONDS = 1.0
# Spans with this attribute go to a collector, under its value as name, since their own names may hold a text.
_NAME = "waymark.span"
# Only attributes with these prefixes go to a collector.
_PLAIN = ("gen_ai.", "http.", "waymark.")
_FAILURE_TEXT = "The collector of OpenTelemetry (OTLP_ENDPOINT) does not take what it should (%s). Only traces miss it."


class OpenTelemetryTracer(NoTracing):
    """A tracer with its own provider, for the collector at an address if there is one (see the protocol).

    The threads of its processors send the spans, and never delay a turn or the exit.
    """

    is_on = True

    def __init__(self, endpoint: str | None, headers: Mapping[str, str]) -> None:
        self._warning = WarnOnce(_FAILURE_TEXT)
        self._writer = SpanWriter()
        self._runs: dict[str, Span] = {}
        self._has_collector = endpoint is not None
        self._closed_by = 0.0
        if endpoint is not None:
            exporter = _PlainExporter(f"{endpoint.rstrip('/')}/v1/traces", dict(headers), self._warning)
            processor = BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_MILLISECONDS)
            self._writer.provider.add_span_processor(processor)

    def record(self, event: TraceEvent) -> None:
        try:
            self._record(event)
        except Exception as error:  # noqa: BLE001  (tracing's outer edge: turns and requests go on)
            self._warning.warn(type(error).__name__)

    def close(self) -> None:
        """Send the remaining spans, within a second."""
        self._closed_by = time.monotonic() + MAX_CLOSE_SECONDS
        closing = [Thread(target=each.shutdown, daemon=True) for each in self._writer.provider.processors]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join(max(0.0, self._closed_by - time.monotonic()))

    def _describe(self, event: TraceEvent) -> Attributes:
        """Return attributes for other services than a collector."""
        return {}

    def _record(self, event: TraceEvent) -> None:
        match event:
            case RunBegun():
                about: Attributes = {
                    _NAME: "run",
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.conversation.id": event.thread_id,
                    "waymark.run.id": event.run_id,
                    **self._describe(event),
                }
                self._runs[event.run_id] = self._writer.start_root(event.run_id, "run", event.timestamp_ns, about)
            case RunEnded():
                self._end_run(event)
            case ToolCarriedOut():
                self._add_tool(event)
            case AgentFinished():
                about = {_NAME: "agent", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": event.agent}
                step = _make_step(event, self._name_agent(event), event.call_id, event.work_id)
                self._add_step(step, {**about, **self._describe(event)})
            case TimeTravelEvent():
                # Abandoned work may report a move after the run's end.
                if (run := self._runs.get(event.run_id)) is not None:
                    run.add_event(str(event.kind), {"waymark.messages.removed": event.removed_count}, event.timestamp_ns)
            case ModelAnswered() | Judged() | TitleAsked() | RequestServed() if self._has_collector:
                self._record_plainly(event)

    def _record_plainly(self, event: ModelAnswered | Judged | TitleAsked | RequestServed) -> None:
        """Record what another service receives in another way, or not at all."""
        match event:
            case ModelAnswered():
                self._add_step(
                    _make_step(event, "chat", event.work_id), {_NAME: "chat", **_describe_answer(event)}, SpanKind.CLIENT
                )
            case Judged() | TitleAsked():
                self._add_follow_up(event.prompt_name, event.thread_id, event.call)
            case RequestServed():
                self._add_request(event)

    def _name_agent(self, event: AgentFinished) -> str:
        return event.agent

    def _end_run(self, event: RunEnded) -> None:
        span = self._runs.pop(event.run_id)
        span.set_attributes({"waymark.run.state": str(event.state), **self._describe(event)})
        if event.state is RunState.FAILED:
            span.set_status(FAILED)
        span.end(event.timestamp_ns)

    def _add_tool(self, event: ToolCarriedOut) -> None:
        name, call_id = event.call["name"] or "unknown", event.call["id"] or ""
        is_failed = event.result is not None and event.result.status == "error"
        about: Attributes = {
            _NAME: "tool",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.agent.name": event.agent,
            "waymark.tool.waits": event.result is None,
            **self._describe(event),
        }
        self._add_step(Step(event.run_id, name, event.began_ns, event.ended_ns, event.work_id, call_id, is_failed), about)

    def _add_follow_up(self, name: str, thread_id: str, call: ModelAnswered) -> None:
        """Record a call after a run as its own trace."""
        about: Attributes = {_NAME: name, "gen_ai.conversation.id": thread_id, "waymark.run.id": call.run_id}
        about = {**about, **_describe_answer(call)}
        span = self._writer.start_root(f"{name}:{call.run_id}", name, call.began_ns, about)
        if call.error is not None:
            span.set_status(FAILED)
        span.end(call.ended_ns)

    def _add_request(self, event: RequestServed) -> None:
        name = f"{event.method} {event.route}".rstrip()
        about = {_NAME: name, "http.request.method": event.method, "waymark.request.id": event.request_id}
        status: Attributes = {"http.response.status_code": event.status} if event.status else {}
        route: Attributes = {"http.route": event.route} if event.route else {}
        span = self._writer.start_root(event.request_id, name, event.began_ns, {**about, **route, **status}, SpanKind.SERVER)
        if not event.status or event.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            span.set_status(FAILED)
        span.end(event.ended_ns)

    def _add_step(self, step: Step, about: Attributes, kind: SpanKind = SpanKind.INTERNAL) -> None:
        # Abandoned work may report a step after the run's end.
        if step.run_id in self._runs:
            self._writer.add_step(step, about, kind)


class _PlainExporter(WarningExporter):
    """Exports the spans with a name for a collector, reduced to names, numbers and ids."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        plain = [_make_plain(span) for span in spans if _NAME in (span.attributes or {})]
        return super().export(plain) if plain else SpanExportResult.SUCCESS


def _make_plain(span: ReadableSpan) -> ReadableSpan:
    attributes = {name: value for name, value in (span.attributes or {}).items() if name.startswith(_PLAIN)}
    return ReadableSpan(
        name=str(attributes.pop(_NAME)),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=attributes,
        events=span.events,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _make_step(event: ModelAnswered | AgentFinished, name: str, within: str, step_id: str = "") -> Step:
    name = serde.sanitize_text(name)
    return Step(event.run_id, name, event.began_ns, event.ended_ns, within, step_id, event.error is not None)


def _describe_answer(event: ModelAnswered) -> Attributes:
    metadata, usage = event.answer.response_metadata, readable_usage(event.answer.usage_metadata)
    spec = read_spec(metadata) or event.model
    about: dict[str, str | int | float | Sequence[str]] = {
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
