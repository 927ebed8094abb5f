"""The port of a process without a page: its health, whether it can work, and its metrics."""

from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.types import ASGIApp

from components.routes import health
from components.services import Services

if TYPE_CHECKING:
    from server.metrics import Metrics


def build_worker_server(services: Services, metrics: "Metrics | None") -> ASGIApp:
    server = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    health.add_route(server, services)
    if metrics is not None:
        metrics.add_route(server)
    return server
