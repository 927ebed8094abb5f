"""Requests as events of the tracer."""

from starlette.types import ASGIApp

from agent.tracing.events import RequestServed
from agent.tracing.protocol import Tracer
from server.request_times import TimedRequest, time_requests


def trace_requests(app: ASGIApp, tracer: Tracer) -> ASGIApp:
    """Wrap the app, and record each request with the tracer."""

    def record(request: TimedRequest) -> None:
        about = (request.id, request.method, request.route, request.status)
        tracer.record(RequestServed(*about, request.began_ns, request.ended_ns))

    return time_requests(app, record)
