"""The port of a process without a page: its health, whether it can work, and what extensions add."""

from collections.abc import Iterable

from fastapi import FastAPI
from starlette.types import ASGIApp

from application.extension import ServerPart
from components.routes import health
from components.services import Services


def build_worker_server(services: Services, added: Iterable[ServerPart]) -> ASGIApp:
    server = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    health.add_route(server, services)
    for each in added:
        if each.add_routes is not None:
            each.add_routes(server)
    return server
