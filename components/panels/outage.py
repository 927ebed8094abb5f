"""The banner at the top while the database takes no part, and what asks whether it does again.

No panel has to say it: every answer to the page carries it (see page.Page), whatever the callback was about and however it
ended. The page then asks `GET /healthz` until all is well, and everything is read again.
"""

import asyncio
from enum import StrEnum
from typing import Any

from dash import Dash, Input, State, set_props
from dash.development.base_component import Component
from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints import Database, StoreUnavailableError
from components import page_state
from components.services import Services
from components.widgets import OutageBanner


class Ids(StrEnum):
    BANNER = "trouble"


def layout() -> Component:
    return OutageBanner(id=Ids.BANNER)


def report_outage(database: Database) -> None:
    """From within a callback: what is wrong with the database, if anything is."""
    if text := database.outage:
        set_props(Ids.BANNER, {"data": {"text": text}})


def register(app: Dash, services: Services) -> None:
    @app.callback(
        page_state.update_output(),
        Input(Ids.BANNER, "action"),
        State(page_state.Ids.UPDATE, "data"),
        prevent_initial_call=True,
    )
    async def settle_runs(_: dict[str, Any], last_update: page_state.PageUpdate | None) -> page_state.PageUpdate:
        await services.runner.release_orphans()
        return page_state.refresh_panels(last_update)


def add_route(server: FastAPI, services: Services) -> None:
    look = HealthCheck(services)

    @server.get("/healthz")
    async def get_health() -> Response:
        if problem := await look():
            return JSONResponse({"status": "degraded", "store": problem}, status_code=503)
        return JSONResponse({"status": "ok", "store": services.store.database.kind})


class HealthCheck:
    """One look at the database for all who ask meanwhile: it may take as long as somebody holds a lock, and every page
    asks, so that each looking for itself would take up the whole pool.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._pending_check: asyncio.Task[str] | None = None

    async def __call__(self) -> str:
        """What is wrong, or nothing."""
        if self._pending_check is None or self._pending_check.done():
            self._pending_check = asyncio.create_task(self._check_database())
        return await asyncio.shield(self._pending_check)

    async def _check_database(self) -> str:
        try:
            await self._services.run_blocking(self._services.store.database.check_health)
        except StoreUnavailableError as error:
            return str(error)
        return ""
