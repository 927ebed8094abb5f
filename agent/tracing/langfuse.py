"""Langfuse: traces, scores and prompts. Only this module imports its package.

The module avoids Langfuse's client, which exists once per key in a process, starts threads and exit handlers
that wait for the server, and reads the environment. The module uses its endpoints (`LangfuseAPI`) and its attribute names
(spans.py).
"""

import base64
import time
from collections.abc import Iterator
from functools import partial
from threading import Thread
from typing import Any
from urllib.parse import quote

import httpx
from langfuse import __version__ as langfuse_version
from langfuse.api import LangfuseAPI, NotFoundError
from langfuse.api.core import RequestOptions
from pydantic import SecretStr

from agent.context.prices import Prices
from agent.tracing.events import SYSTEM_PROMPT_NAME, Feedback, Prompt, RequestServed, TraceEvent, TraceLabels
from agent.tracing.sending import BackgroundWorker, WarningExporter, WarnOnce
from agent.tracing.span_ids import derive_trace_id
from agent.tracing.spans import SpanRecorder
from checkpoints.values import limits, serde

MAX_CLOSE_SECONDS = 1.0
MAX_ANSWER_BYTES = 4_000_000  # of the longest prompt, with each of its characters escaped, and its fields
MAX_PROMPT_AGE_SECONDS = 60.0  # how long a prompt is taken to be the newest, and an answer that failed to fail again
NO_LABELS = TraceLabels()
_ONE_TRY: RequestOptions = {"timeout_in_seconds": 3, "max_retries": 0}
_FAILURE_TEXT = "Langfuse does not take or give what it should (%s). Only traces, scores and prompts miss it."


class LangfuseTracer:
    """A tracer with two threads (see the protocol).

    One makes spans of the events and never waits for the server. The other exchanges prompts and scores with the server,
    in order. Both are daemons: a call that hangs never delays the exit.
    """

    is_on = True

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
    ) -> None:
        self._host = host.rstrip("/")
        self._label = prompt_label
        self._warning = WarnOnce(_FAILURE_TEXT)
        hooks = {"response": [_limit_answer]}
        self._http = httpx.Client(headers={"Accept-Encoding": "identity"}, event_hooks=hooks)
        self._api = LangfuseAPI(
            base_url=self._host,
            username=public_key,
            password=secret_key.get_secret_value(),
            x_langfuse_sdk_name="python",
            x_langfuse_sdk_version=langfuse_version,
            x_langfuse_public_key=public_key,
            httpx_client=self._http,
        )
        self._environment = labels.environment
        exporter = _make_exporter(self._host, public_key, secret_key, self._warning)
        self._spans = SpanRecorder(exporter, mask=mask, labels=labels, prices=prices or {})
        self._span_worker = BackgroundWorker("tracing", self._warning)
        self._api_worker = BackgroundWorker("langfuse", self._warning)
        self._prompts: dict[str, Prompt] = {}
        self._project = ""
        self._requested_at: dict[str, float] = {}  # the time of the last request for each prompt
        self.link_run("")
        self.find_prompt(SYSTEM_PROMPT_NAME, "")

    def record(self, event: TraceEvent) -> None:
        if isinstance(event, Feedback):
            self._api_worker.submit(partial(self._send_score, event))
        elif not isinstance(event, RequestServed):
            self._span_worker.submit(partial(self._spans.record, event))

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        if self._is_due(f"prompt {name}"):
            self._api_worker.submit(partial(self._fetch_prompt, name))
        return self._prompts.get(name) or Prompt(name, builtin)

    def link_run(self, run_id: str) -> str:
        if not self._project and self._is_due("project"):
            self._api_worker.submit(self._find_project)
        return self._project and f"{self._host}/project/{self._project}/traces/{derive_trace_id(run_id)}"

    def close(self) -> None:
        """Send the remaining data, within a second."""
        end = time.monotonic() + MAX_CLOSE_SECONDS
        for worker in (self._api_worker, self._span_worker):
            worker.finish()
        self._span_worker.join(end)
        closing = Thread(target=self._spans.close, daemon=True)
        closing.start()
        closing.join(max(0.0, end - time.monotonic()))
        if self._api_worker.join(end):
            self._http.close()

    def _is_due(self, key: str) -> bool:
        now = time.monotonic()
        if now - self._requested_at.get(key, -MAX_PROMPT_AGE_SECONDS) < MAX_PROMPT_AGE_SECONDS:
            return False
        self._requested_at[key] = now
        return True

    def _fetch_prompt(self, name: str) -> None:
        """Return the operator's text, which is trusted like the built-in one, or else the built-in text."""
        try:
            prompt = self._api.prompts.get(quote(name, safe=""), label=self._label, request_options=_ONE_TRY)
        except NotFoundError:
            self._prompts.pop(name, None)
            return
        if len(prompt.prompt) > limits.MAX_PROMPT_CHARS:
            raise ValueError("the prompt is too long")
        if prompt.type == "text" and prompt.prompt.strip():
            self._prompts[name] = Prompt(name, serde.sanitize_text(prompt.prompt), limits.to_tokens(prompt.version))

    def _find_project(self) -> None:
        self._project = quote(self._api.projects.get(request_options=_ONE_TRY).data[0].id, safe="")

    def _send_score(self, feedback: Feedback) -> None:
        """Send one score a message, under an id of its own: a second opinion replaces the first."""
        trace = derive_trace_id(feedback.run_id)
        score_id = f"{trace}-{feedback.message_id}"
        if feedback.is_good is None:
            self._api.scores.delete(score_id, request_options=_ONE_TRY)
            return
        score: Any = {  # as the client sends it: its own type of a request leaves out the metadata's shape
            "id": score_id,
            "traceId": trace,
            "name": "user-feedback",
            "value": float(feedback.is_good),
            "dataType": "BOOLEAN",
            "metadata": {"message": feedback.message_id},
        }
        if self._environment:
            score["environment"] = self._environment
        self._api.scores.create(request=[score], request_options=_ONE_TRY)


def _limit_answer(response: httpx.Response) -> None:
    """Let an answer be read up to the limit: JSON of megabytes would halt every other thread while it is parsed."""
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
    """Return an exporter that sends spans as Langfuse's own client does."""
    pair = f"{public_key}:{secret_key.get_secret_value()}"
    headers = {
        "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
        "x-langfuse-ingestion-version": "4",  # the server shows the spans at once, not after minutes
    }
    return WarningExporter(f"{host}/api/public/otel/v1/traces", headers, warning)
