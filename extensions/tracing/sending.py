"""Sends to a tracing service beside the runs: one job after the other, and one warning if the service fails."""

import logging
import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Lock, Thread

import requests
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult

MAX_EXPORT_SECONDS = 5.0
_log = logging.getLogger(__name__)
# The exporter's own messages would fill the log with addresses and answers. `WarnOnce` writes one line.
logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)


class WarnOnce:
    """Logs a service's failure once, with only the kind of the failure, since its answer may hold any text."""

    def __init__(self, text: str) -> None:
        """Make a logger. `text` has a place for the kind."""
        self._text = text
        # Several threads may fail in the same moment.
        self._first = Lock()

    def warn(self, kind: str) -> None:
        if self._first.acquire(blocking=False):
            _log.warning(self._text, kind)


class BackgroundWorker:
    """A daemon thread with a queue of jobs."""

    def __init__(self, name: str, warning: WarnOnce) -> None:
        self._warning = warning
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = Thread(target=self._run_jobs, name=name, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], None]) -> None:
        self._work.put(work)

    def finish(self) -> None:
        """Add a last job, which ends the thread after the waiting jobs."""
        self._work.put(None)

    def join(self, until: float) -> bool:
        """Wait until the thread has ended, or until this monotonic time. Return whether it has ended."""
        self._thread.join(max(0.0, until - time.monotonic()))
        return not self._thread.is_alive()

    def _run_jobs(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001  # tracing's outer edge: turns continue, whatever a server answers
                self._warning.warn(type(error).__name__)


def _refuse_redirect(response: requests.Response, *_: object, **__: object) -> None:
    """Fail at a redirect. It is not followed, but the exporter would count it as success."""
    if 300 <= response.status_code < 400:
        raise requests.TooManyRedirects


class WarningExporter(OTLPSpanExporter):
    """Exports spans over HTTP, and logs failures without their text."""

    def __init__(self, endpoint: str, headers: dict[str, str], warning: WarnOnce) -> None:
        session = requests.Session()
        session.hooks["response"].append(_refuse_redirect)
        super().__init__(
            endpoint=endpoint,
            headers=headers,
            timeout=MAX_EXPORT_SECONDS,
            compression=Compression.Gzip,
            session=session,
        )
        self._warning = warning

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = super().export(spans)
        if result is not SpanExportResult.SUCCESS:
            self._warning.warn("traces")
        return result
