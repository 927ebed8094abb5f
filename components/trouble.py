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
from components import head
from components.services import Services
from components.widgets import Trouble


class Ids(StrEnum):
    TROUBLE = "trouble"


def layout() -> Component:
    return Trouble(id=Ids.TROUBLE)


def tell(database: Database) -> None:
    """From within a callback: what is wrong with the database, if anything is."""
    if text := database.trouble:
        set_props(Ids.TROUBLE, {"data": {"text": text}})


def register(app: Dash, services: Services) -> None:
    @app.callback(
        head.output(),
        Input(Ids.TROUBLE, "action"),
        State(head.Ids.HEAD, "data"),
        prevent_initial_call=True,
    )
    async def recover(_: dict[str, Any], before: head.Head | None) -> head.Head:
        await services.runner.settle()
        return head.again(before)


def add_route(server: FastAPI, services: Services) -> None:
    look = Look(services)

    @server.get("/healthz")
    async def health() -> Response:
        if problem := await look():
            return JSONResponse({"status": "degraded", "store": problem}, status_code=503)
        return JSONResponse({"status": "ok", "store": services.store.database.kind})


class Look:
    """One look at the database for all who ask meanwhile: it may take as long as somebody holds a lock, and every page
    asks, so that each looking for itself would take up the whole pool.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._looking: asyncio.Task[str] | None = None

    async def __call__(self) -> str:
        """What is wrong, or nothing."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> str:
        try:
            await self._services.work(self._services.store.database.check)
        except StoreUnavailableError as error:
            return str(error)
        return ""
