"""Runs and requests as traces: at Langfuse, at a collector of OpenTelemetry, or at both."""

from application.extension import Extension
from extensions.tracing.building import build_request_tracing, build_tracer

EXTENSION = Extension(name="tracing", build_tracer=build_tracer, build_server_part=build_request_tracing)
