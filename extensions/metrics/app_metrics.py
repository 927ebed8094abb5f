"""The metrics of runs and of the database that operations.md describes."""

import logging
import time
from dataclasses import dataclass

import sqlalchemy as sa
from prometheus_client import Counter, Histogram

from agent.events import CandidateProgress, Event, GraphProgress, ReasoningDelta, RunFinished, RunStarted, TextDelta
from agent.run.fleet import Fleet
from agent.run.wire import ProcessWire
from application.extension import ServerPart
from application.settings import Settings
from components.services import Services
from extensions.metrics.metrics import SHORT_BUCKETS, Metrics

# The buckets are in seconds.
LONG_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0)


def build_server_part(settings: Settings, services: Services) -> ServerPart | None:
    """Return the metrics and their route; None without a key for them."""
    if settings.metrics_key is None:
        return None
    metrics = build_metrics(settings.metrics_key.get_secret_value(), services)
    return ServerPart(
        add_routes=metrics.add_route,
        watch=metrics.watch,
        close=lambda: logging.getLogger().removeHandler(metrics),
    )


def build_metrics(key: str, services: Services) -> Metrics:
    """Build metrics of the app's runs, the statements of its database, its wire, and the records of the log."""
    metrics = Metrics(key)
    logging.getLogger().addHandler(metrics)
    metrics.add_gauge("waymark_runs", "Runs in progress.", lambda: services.hub.active_run_count)
    database = services.store.database
    metrics.add_gauge(
        "waymark_database_up", "1: the database could be read and written lately.", lambda: not database.outage
    )
    statements = Histogram(
        "waymark_database_seconds", "Statements of the database.", buckets=SHORT_BUCKETS, registry=metrics.registry
    )
    _time_statements(database.engine, statements)
    services.hub.observe(RunMetrics(metrics).note)
    if services.wire is not None:
        _watch_wire(services.wire, metrics)
    if services.runner.fleet is not None:
        _watch_processes(services.runner.fleet, metrics)
    return metrics


def _watch_processes(fleet: Fleet, metrics: Metrics) -> None:
    """Add values common to every process, each as of its last heartbeat."""
    metrics.add_gauge(
        "waymark_waiting_runs", "Runs of all processes that wait for one with room.", lambda: fleet.waiting_run_count
    )
    metrics.add_gauge("waymark_processes", "Live processes on this database.", lambda: fleet.live_count)


def _watch_wire(wire: ProcessWire, metrics: Metrics) -> None:
    delays = Histogram(
        "waymark_wire_delay_seconds",
        "From an event, for example a token, until it arrives at the processes of this Waymark.",
        buckets=SHORT_BUCKETS,
        registry=metrics.registry,
    )
    wire.delay_observers.append(delays.observe)
    reconnects = "Reconnections of the wire to other processes since the start."
    metrics.add_gauge("waymark_wire_reconnects", reconnects, lambda: wire.reconnect_count)


def _time_statements(engine: sa.Engine, times: Histogram) -> None:
    """Observe the seconds of every accepted statement of the database."""

    def start(connection: sa.Connection, *_: object) -> None:
        connection.info["started"] = time.perf_counter()

    def end(connection: sa.Connection, *_: object) -> None:
        times.observe(time.perf_counter() - connection.info["started"])

    sa.event.listen(engine, "before_cursor_execute", start)
    sa.event.listen(engine, "after_cursor_execute", end)


@dataclass(slots=True)
class _Progress:
    started: float
    has_answered: bool = False


class RunMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._ended = Counter("waymark_runs_ended", "Runs that ended.", ["state"], registry=metrics.registry)
        self._seconds = Histogram(
            "waymark_run_seconds", "Runs, from start to end.", buckets=LONG_BUCKETS, registry=metrics.registry
        )
        self._first_words = Histogram(
            "waymark_first_word_seconds",
            "From a run's start to the first piece of its answer, the model's own time included.",
            buckets=LONG_BUCKETS,
            registry=metrics.registry,
        )
        # Runs are by thread.
        self._in_progress: dict[str, _Progress] = {}

    def note(self, thread_id: str, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._in_progress[thread_id] = _Progress(time.monotonic())
            return
        progress = self._in_progress.get(thread_id)
        if progress is None:
            return
        if isinstance(event, TextDelta | ReasoningDelta | GraphProgress | CandidateProgress) and not progress.has_answered:
            progress.has_answered = True
            self._first_words.observe(time.monotonic() - progress.started)
        elif isinstance(event, RunFinished):
            del self._in_progress[thread_id]
            self._ended.labels(event.state.value).inc()
            self._seconds.observe(time.monotonic() - progress.started)
