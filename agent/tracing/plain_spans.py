"""Spans of runs, calls of models and tools, and requests, with OpenTelemetry's names. They hold no text of anybody."""

from http import HTTPStatus

from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.trace import Span, SpanKind
from opentelemetry.util.types import AttributeValue

from agent.context.usage import readable_usage
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.events import (
    JUDGE_PROMPT_NAME,
    TITLE_PROMPT_NAME,
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
from agent.tracing.span_writer import FAILED, SpanWriter, Step
from checkpoints import RunState
from checkpoints.values.answer_spec import read_spec

MAX_NAME_CHARS = 100  # a model may invent a tool

Attributes = dict[str, AttributeValue]


class PlainSpanRecorder:
    """The writer of spans, for one thread alone."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._writer = SpanWriter(exporter)
        self._runs: dict[str, Span] = {}

    def close(self) -> None:
        """Send the remaining spans. The server determines how long it takes."""
        self._writer.close()

    def record(self, event: TraceEvent) -> None:
        match event:
            case RunBegun():
                about: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": event.thread_id}
                about["waymark.run.id"] = event.run_id
                self._runs[event.run_id] = self._writer.start_root(event.run_id, "run", event.timestamp_ns, about)
            case RunEnded():
                self._end_run(event)
            case ModelAnswered():
                self._add_step(_make_step("chat", event, event.work_id), _describe_answer(event), SpanKind.CLIENT)
            case ToolCarriedOut():
                self._add_tool(event)
            case AgentFinished():
                about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": event.agent}
                self._add_step(_make_step("agent", event, event.call_id, event.work_id), about)
            case Judged(thread_id, call):
                self._add_helper_call(JUDGE_PROMPT_NAME, thread_id, call)
            case TitleAsked(thread_id, call):
                self._add_helper_call(TITLE_PROMPT_NAME, thread_id, call)
            case RequestServed():
                self._add_request(event)
            case TimeTravelEvent():
                if (run := self._runs.get(event.run_id)) is not None:  # not after its end, by work that was let go of
                    moved: Attributes = {"waymark.messages.removed": event.removed_count}
                    run.add_event(str(event.kind), moved, event.timestamp_ns)

    def _end_run(self, event: RunEnded) -> None:
        span = self._runs.pop(event.run_id)
        span.set_attribute("waymark.run.state", str(event.state))
        if event.state is RunState.FAILED:
            span.set_status(FAILED)
        span.end(event.timestamp_ns)

    def _add_tool(self, event: ToolCarriedOut) -> None:
        name, call_id = (event.call["name"] or "unknown")[:MAX_NAME_CHARS], event.call["id"] or ""
        is_failed = event.result is not None and event.result.status == "error"
        step = Step(event.run_id, "tool", event.began_ns, event.ended_ns, event.work_id, call_id, is_failed)
        about: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        about |= {"gen_ai.tool.call.id": call_id, "gen_ai.agent.name": event.agent}
        about["waymark.tool.waits"] = event.result is None
        self._add_step(step, about)

    def _add_helper_call(self, name: str, thread_id: str, call: ModelAnswered) -> None:
        """Record a call after a run as a trace of its own."""
        about = _describe_answer(call) | {"gen_ai.conversation.id": thread_id, "waymark.run.id": call.run_id}
        span = self._writer.start_root(f"{name}:{call.run_id}", name, call.began_ns, about)
        if call.error is not None:
            span.set_status(FAILED)
        span.end(call.ended_ns)

    def _add_request(self, event: RequestServed) -> None:
        about: Attributes = {"http.request.method": event.method, "waymark.request.id": event.request_id}
        if event.route:
            about["http.route"] = event.route
        if event.status:
            about["http.response.status_code"] = event.status
        name = f"{event.method} {event.route}".rstrip()
        span = self._writer.start_root(event.request_id, name, event.began_ns, about, SpanKind.SERVER)
        if not event.status or event.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            span.set_status(FAILED)
        span.end(event.ended_ns)

    def _add_step(self, step: Step, about: Attributes, kind: SpanKind = SpanKind.INTERNAL) -> None:
        if (run := self._runs.get(step.run_id)) is not None:  # as above
            self._writer.add_step(run, step, about, kind)


def _make_step(name: str, event: ModelAnswered | AgentFinished, within: str, step_id: str = "") -> Step:
    return Step(event.run_id, name, event.began_ns, event.ended_ns, within, step_id, event.error is not None)


def _describe_answer(event: ModelAnswered) -> Attributes:
    metadata, usage = event.answer.response_metadata, readable_usage(event.answer.usage_metadata)
    spec = read_spec(metadata) or event.model
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
