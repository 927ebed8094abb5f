"""Counts and times for Prometheus, at /metrics."""

from application.extension import Extension
from extensions.metrics.app_metrics import build_server_part

EXTENSION = Extension(name="metrics", build_server_part=build_server_part)
