"""Langfuse: traces, scores and prompts. The only door to it, and its package is imported with this module alone.

Langfuse's own client is not used as a whole: it lives once per key in a process, sets up threads and exit handlers that wait
for the server, and reads the environment. Its parts are: the endpoints (`LangfuseAPI`) and the attributes' names (spans.py).
"""

import base64
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import quote

import httpx
from langfuse import __version__ as langfuse_version
from langfuse.api import LangfuseAPI, NotFoundError
from langfuse.api.core import RequestOptions
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from pydantic import SecretStr

from agent.tracing import SYSTEM, Feedback, Prompt, Told
from agent.tracing.spans import Spans, trace_id
from checkpoints import limits, serde

EXPORT_SECONDS = 5.0
CLOSE_SECONDS = 1.0
FRESH_SECONDS = 60.0  # how long a prompt is taken to be the newest, and an answer that failed to fail again
_ONCE: RequestOptions = {"timeout_in_seconds": 3, "max_retries": 0}
_log = logging.getLogger(__name__)
# What the exporter says at each try would fill the log, with addresses and answers in it; `Complaint` says it once.
logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)


class LangfuseTracer:
    """A tracer (see the protocol). Two threads: one makes spans of what it is told, which never waits for the server; the
    other asks and tells the server the rest, in order. Both are daemons: what hangs in them never holds up the exit.
    """

    on = True

    def __init__(self, *, public_key: str, secret_key: SecretStr, host: str, prompt_label: str, mask: bool) -> None:
        self._host = host.rstrip("/")
        self._label = prompt_label
        self._complaint = Complaint()
        self._http = httpx.Client()
        self._api = LangfuseAPI(
            base_url=self._host,
            username=public_key,
            password=secret_key.get_secret_value(),
            x_langfuse_sdk_name="python",
            x_langfuse_sdk_version=langfuse_version,
            x_langfuse_public_key=public_key,
            httpx_client=self._http,
        )
        self._spans = Spans(_Exporter(self._host, public_key, secret_key, self._complaint), mask=mask)
        self._telling = Worker("tracing", self._complaint)
        self._asking = Worker("langfuse", self._complaint)
        self._prompts: dict[str, Prompt] = {}
        self._project = ""
        self._looked_at: dict[str, float] = {}  # when each thing was last asked for
        self.link("")
        self.prompt(SYSTEM, "")

    def tell(self, told: Told) -> None:
        if isinstance(told, Feedback):
            self._asking.do(partial(self._score, told))
        else:
            self._telling.do(partial(self._spans.tell, told))

    def prompt(self, name: str, builtin: str) -> Prompt:
        if self._is_due(f"prompt {name}"):
            self._asking.do(partial(self._fetch_prompt, name))
        return self._prompts.get(name) or Prompt(name, builtin)

    def link(self, run_id: str) -> str:
        if not self._project and self._is_due("project"):
            self._asking.do(self._find_project)
        return self._project and f"{self._host}/project/{self._project}/traces/{trace_id(run_id)}"

    def close(self) -> None:
        """Send what can be sent within a second."""
        end = time.monotonic() + CLOSE_SECONDS
        for worker in (self._asking, self._telling):
            worker.end()
        self._telling.join(end)
        closing = Thread(target=self._spans.close, daemon=True)
        closing.start()
        closing.join(max(0.0, end - time.monotonic()))
        if self._asking.join(end):
            self._http.close()

    def _is_due(self, what: str) -> bool:
        now = time.monotonic()
        if now - self._looked_at.get(what, -FRESH_SECONDS) < FRESH_SECONDS:
            return False
        self._looked_at[what] = now
        return True

    def _fetch_prompt(self, name: str) -> None:
        """The operator's text is trusted as the built-in one is; without one there, the built-in one counts."""
        try:
            found = self._api.prompts.get(quote(name, safe=""), label=self._label, request_options=_ONCE)
        except NotFoundError:
            self._prompts.pop(name, None)
            return
        if len(found.prompt) > limits.MAX_PROMPT_CHARS:
            raise ValueError("the prompt is too long")
        if found.type == "text" and found.prompt.strip():
            self._prompts[name] = Prompt(name, serde.writable(found.prompt), limits.to_tokens(found.version))

    def _find_project(self) -> None:
        self._project = quote(self._api.projects.get(request_options=_ONCE).data[0].id, safe="")

    def _score(self, told: Feedback) -> None:
        """One score a message, under an id of its own: a second opinion takes the place of the first."""
        trace = trace_id(told.run_id)
        score_id = f"{trace}-{told.message_id}"
        if told.good is None:
            self._api.scores.delete(score_id, request_options=_ONCE)
            return
        score: Any = {  # as the client sends it: its own type of a request leaves out the metadata's shape
            "id": score_id,
            "traceId": trace,
            "name": "user-feedback",
            "value": float(told.good),
            "dataType": "BOOLEAN",
            "metadata": {"message": told.message_id},
        }
        self._api.scores.create(request=[score], request_options=_ONCE)


class Complaint:
    """Says once that Langfuse fails, and of what kind the failure was: what it answered may hold anything."""

    def __init__(self) -> None:
        self._said = False

    def say(self, kind: str) -> None:
        if not self._said:
            self._said = True
            _log.warning(
                "Langfuse does not take or give what it should (%s). Only traces, scores and prompts miss it.", kind
            )


class Worker:
    """A daemon thread that does one thing after the other."""

    def __init__(self, name: str, complaint: Complaint) -> None:
        self._complaint = complaint
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def do(self, work: Callable[[], None]) -> None:
        self._work.put(work)

    def end(self) -> None:
        """After what it has to do already."""
        self._work.put(None)

    def join(self, until: float) -> bool:
        """Wait until it has ended, or for this monotonic time."""
        self._thread.join(max(0.0, until - time.monotonic()))
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001  # tracing's outer edge: whatever a server answers, turns go on
                self._complaint.say(type(error).__name__)


class _Exporter(OTLPSpanExporter):
    """Sends spans as Langfuse's own client does, and complains in our words."""

    def __init__(self, host: str, public_key: str, secret_key: SecretStr, complaint: Complaint) -> None:
        pair = f"{public_key}:{secret_key.get_secret_value()}"
        headers = {
            "Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}",
            "x-langfuse-ingestion-version": "4",  # shown at once, and not after minutes
        }
        endpoint = f"{host}/api/public/otel/v1/traces"
        super().__init__(endpoint=endpoint, headers=headers, timeout=EXPORT_SECONDS, compression=Compression.Gzip)
        self._complaint = complaint

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        if result is not SpanExportResult.SUCCESS:
            self._complaint.say("traces")
        return result
