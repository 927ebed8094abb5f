"""A tracer for any collector of OpenTelemetry: spans without texts, over OTLP."""

import time
from collections.abc import Mapping
from functools import partial
from threading import Thread

from agent.tracing.events import Feedback, Prompt, TraceEvent
from agent.tracing.plain_spans import PlainSpanRecorder
from agent.tracing.sending import BackgroundWorker, WarningExporter, WarnOnce

MAX_CLOSE_SECONDS = 1.0
_FAILURE_TEXT = "The collector of OpenTelemetry (OTLP_ENDPOINT) does not take what it should (%s). Only traces miss it."


class OpenTelemetryTracer:
    """A tracer whose thread makes spans of the events (see the protocol). It is a daemon, and never delays the exit."""

    is_on = True

    def __init__(self, endpoint: str, headers: Mapping[str, str]) -> None:
        warning = WarnOnce(_FAILURE_TEXT)
        self._spans = PlainSpanRecorder(WarningExporter(f"{endpoint.rstrip('/')}/v1/traces", dict(headers), warning))
        self._worker = BackgroundWorker("opentelemetry", warning)

    def record(self, event: TraceEvent) -> None:
        if not isinstance(event, Feedback):
            self._worker.submit(partial(self._spans.record, event))

    def find_prompt(self, name: str, builtin: str) -> Prompt:
        return Prompt(name, builtin)

    def link_run(self, run_id: str) -> str:
        return ""

    def close(self) -> None:
        """Send the remaining spans, within a second."""
        end = time.monotonic() + MAX_CLOSE_SECONDS
        self._worker.finish()
        self._worker.join(end)
        closing = Thread(target=self._spans.close, daemon=True)
        closing.start()
        closing.join(max(0.0, end - time.monotonic()))
