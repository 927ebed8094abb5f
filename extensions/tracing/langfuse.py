"""Langfuse through its own client: traces, scores and prompts. Only this module and its handler import the package.

The client uses our tracer provider, sends spans on its processor's thread, and requests nothing during a turn. Work that
waits for the server runs on one separate thread.
"""

import atexit
import base64
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
from langchain_core.callbacks import BaseCallbackHandler
from langfuse import Langfuse
from langfuse import LangfuseOtelSpanAttributes as Attribute
from langfuse._client.resource_manager import LangfuseResourceManager
from langfuse.api import NotFoundError
from langfuse.api.core import RequestOptions
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import format_trace_id
from pydantic import SecretStr

from agent.context.prices import Prices
from agent.time_travel.policy import TimeTravelEvent
from agent.tracing.events import (
    SYSTEM_PROMPT_NAME,
    AgentFinished,
    Feedback,
    Judged,
    Prompt,
    RunBegun,
    RunEnded,
    TitleAsked,
    TracedCall,
    TraceEvent,
    TraceLabels,
)
from checkpoints import Operation
from checkpoints.values import limits, serde
from extensions.tracing.attributes import EventDescriber
from extensions.tracing.langfuse_handler import CallHandler, mask_data, measure_data, name_trace
from extensions.tracing.opentelemetry import OpenTelemetryTracer
from extensions.tracing.sending import BackgroundWorker, WarningExporter, WarnOnce
from extensions.tracing.span_ids import derive_trace_id
from extensions.tracing.span_writer import Attributes, Step

# The size of the longest prompt with all characters escaped, and its fields.
MAX_ANSWER_BYTES = 4_000_000
# Until then, a prompt counts as the newest, and a failed request is not repeated.
MAX_PROMPT_AGE_SECONDS = 60.0
MAX_REQUEST_SECONDS = 3
NO_LABELS = TraceLabels()
_ONE_TRY: RequestOptions = {"timeout_in_seconds": MAX_REQUEST_SECONDS, "max_retries": 0}
_FAILURE_TEXT = "Langfuse does not take or give what it should (%s). Only traces, scores and prompts miss it."


class LangfuseTracer(OpenTelemetryTracer):
    """A tracer for Langfuse, and for a collector if there is one (see the protocol).

    Its thread exchanges prompts and scores with the server, in order. A hanging call never delays the exit.
    """

    def __init__(
        self,
        *,
        public_key: str,
        secret_key: SecretStr,
        host: str,
        prompt_label: str,
        mask: bool,
        labels: TraceLabels = NO_LABELS,
        prices: Prices | None = None,
        endpoint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(endpoint, headers or {})
        self._host, self._public_key, self._prompt_label = host.rstrip("/"), public_key, prompt_label
        self._prices, self._environment = prices or {}, labels.environment
        self._describer = EventDescriber(mask=mask)
        self._warning = WarnOnce(_FAILURE_TEXT)
        self._traces = _TraceLabels(labels)
        self._writer.provider.add_span_processor(self._traces)
        self._client = self._open_client(secret_key)
        self._worker = BackgroundWorker("langfuse", self._warning)
        self._prompts: dict[str, Prompt] = {}
        self._project = ""
        # The time of the last request for each prompt.
        self._requested_at: dict[str, float] = {}
        self.link_run("")
        self.find_prompt(SYSTEM_PROMPT_NAME, "")

    def _open_client(self, secret_key: SecretStr) -> Langfuse:
        """Return the only client of its key in the process. An earlier client would send to an earlier provider."""
        # The keys are public keys. The client has no public way to restart with a key, or to end without waiting.
        resources = LangfuseResourceManager._instances
        resources.pop(self._public_key, None)
        client = Langfuse(
            public_key=self._public_key,
            secret_key=secret_key.get_secret_value(),
            base_url=self._host,
            timeout=MAX_REQUEST_SECONDS,
            httpx_client=_make_http_client(),
            sample_rate=1.0,
            mask=measure_data if self._describer.mask else mask_data,
            should_export_span=lambda span: Attribute.OBSERVATION_TYPE in (span.attributes or {}),
            tracer_provider=self._writer.provider,
            span_exporter=_make_exporter(self._host, self._public_key, secret_key, self._warning),
            flush_interval=1.0,
        )
        # The client's log messages hold addresses and answers. Its own end at the exit would wait for the server.
        logging.getLogger("langfuse").setLevel(logging.CRITICAL)
        atexit.unregister(resources[self._public_key].shutdown)
        return client

    def follow_call(self, call: TracedCall) -> Sequence[BaseCallbackHandler]:
        if call.follow_up:
            self._traces.begin(name_trace(call), call.thread_id, call.follow_up)
        return [CallHandler(call, self._public_key, self._prices)]

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        if self._is_due(f"prompt {name}"):
            self._worker.submit(partial(self._fetch_prompt, name))
        return self._prompts.get(name) or Prompt(name, builtin)

    def link_run(self, run_id: str) -> str:
        if not self._project and self._is_due("project"):
            self._worker.submit(self._find_project)
        return self._project and f"{self._host}/project/{self._project}/traces/{derive_trace_id(run_id)}"

    def close(self) -> None:
        """Send the remaining data, within a second."""
        self._worker.submit(self._client.shutdown)
        self._worker.finish()
        super().close()
        self._worker.join(self._closed_by)

    def _record(self, event: TraceEvent) -> None:
        """Record an event in its trace. The run's names apply to all its spans from beginning to end."""
        if isinstance(event, RunBegun):
            is_named = event.title and not self._describer.mask
            self._traces.begin(event.run_id, event.thread_id, serde.sanitize_text(event.title) if is_named else "run")
        super()._record(event)
        match event:
            case RunEnded():
                self._traces.end(event.run_id)
            case Judged() | TitleAsked():
                self._traces.end(f"{event.prompt_name}:{event.call.run_id}")
            case TimeTravelEvent(run_id=run_id, timestamp_ns=at):
                self._add_step(Step(run_id, str(event.kind), at, at, within=""), self._describe(event))
            case Operation():
                self._add_operation(event)
            case Feedback():
                self._worker.submit(partial(self._send_score, event))

    def _describe(self, event: TraceEvent) -> Attributes:
        return self._describer.describe(event)

    def _name_agent(self, event: AgentFinished) -> str:
        return event.agent if self._describer.mask or not event.title else f"{event.agent}: {event.title}"

    def _add_operation(self, operation: Operation) -> None:
        made_at, kind = round(operation.created_at.timestamp() * 1e9), str(operation.kind)
        seed = f"{operation.thread_id}:{operation.version}"
        self._traces.begin(seed, operation.thread_id, kind)
        self._writer.start_root(seed, kind, made_at, self._describe(operation)).end(made_at)
        self._traces.end(seed)

    def _is_due(self, key: str) -> bool:
        now = time.monotonic()
        if now - self._requested_at.get(key, -MAX_PROMPT_AGE_SECONDS) < MAX_PROMPT_AGE_SECONDS:
            return False
        self._requested_at[key] = now
        return True

    def _fetch_prompt(self, name: str) -> None:
        """Fetch the operator's text, which is trusted like the built-in text."""
        try:
            prompt = self._client.get_prompt(
                name,
                label=self._prompt_label,
                cache_ttl_seconds=0,
                max_retries=0,
                fetch_timeout_seconds=MAX_REQUEST_SECONDS,
            )
        except NotFoundError:
            self._prompts.pop(name, None)
            return
        if len(prompt.prompt) > limits.MAX_PROMPT_CHARS:
            raise ValueError("the prompt is too long")
        if isinstance(prompt.prompt, str) and prompt.prompt.strip():
            self._prompts[name] = Prompt(name, serde.sanitize_text(prompt.prompt), limits.to_tokens(prompt.version))

    def _find_project(self) -> None:
        self._project = quote(self._client.api.projects.get(request_options=_ONE_TRY).data[0].id, safe="")

    def _send_score(self, feedback: Feedback) -> None:
        """Send one score for each message, under the message's id, so a second opinion replaces the first.

        The client's own queue of scores would overtake the withdrawal of a score.
        """
        trace, scores = derive_trace_id(feedback.run_id), self._client.api.scores
        score_id = f"{trace}-{feedback.message_id}"
        if feedback.is_good is None:
            scores.delete(score_id, request_options=_ONE_TRY)
            return
        # This is the client's own form. Its request type leaves out the metadata's shape.
        score: Any = {
            "id": score_id,
            "traceId": trace,
            "name": "user-feedback",
            "value": float(feedback.is_good),
            "dataType": "BOOLEAN",
            "metadata": {"message": feedback.message_id},
        }
        if self._environment:
            score["environment"] = self._environment
        scores.create(request=[score], request_options=_ONE_TRY)


class _TraceLabels(SpanProcessor):
    """Gives every span, even the client's, the operator's labels, and the session and name of its trace."""

    def __init__(self, labels: TraceLabels) -> None:
        attributes = {
            Attribute.ENVIRONMENT: labels.environment,
            Attribute.RELEASE: labels.release,
            Attribute.TRACE_USER_ID: labels.user,
            Attribute.TRACE_TAGS: labels.tags,
        }
        self._labels: Attributes = {key: value for key, value in attributes.items() if value}
        # The names of the open traces, by their ids.
        self._names: dict[str, Attributes] = {}

    def begin(self, seed: str, thread_id: str, name: str) -> None:
        names = {Attribute.TRACE_SESSION_ID: thread_id, Attribute.TRACE_NAME: name}
        self._names[derive_trace_id(seed)] = names

    def end(self, seed: str) -> None:
        self._names.pop(derive_trace_id(seed), None)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        trace = format_trace_id(span.get_span_context().trace_id)
        span.set_attributes({**self._labels, **self._names.get(trace, {})})

    def on_end(self, span: ReadableSpan) -> None: ...


def _make_http_client() -> httpx.Client:
    hooks = {"response": [_limit_answer]}
    return httpx.Client(headers={"Accept-Encoding": "identity"}, event_hooks=hooks, timeout=MAX_REQUEST_SECONDS)


def _limit_answer(response: httpx.Response) -> None:
    """Limit the read size of an answer. Parsing JSON of megabytes would halt all other threads."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("a compressed answer was not asked for")
    assert isinstance(response.stream, httpx.SyncByteStream)
    response.stream = _LimitedStream(response.stream)


class _LimitedStream(httpx.SyncByteStream):
    """The body of an answer. Raises `ValueError` beyond the limit."""

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                raise ValueError("the answer is too long")
            yield part

    def close(self) -> None:
        self._stream.close()


def _make_exporter(host: str, public_key: str, secret_key: SecretStr, warning: WarnOnce) -> WarningExporter:
    """Return an exporter that sends spans like the client's own exporter, but follows no redirect."""
    pair = f"{public_key}:{secret_key.get_secret_value()}"
    headers = {
        "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        # With this version, the server shows the spans at once instead of after minutes.
        "x-langfuse-ingestion-version": "4",
    }
    return WarningExporter(f"{host}/api/public/otel/v1/traces", headers, warning)
