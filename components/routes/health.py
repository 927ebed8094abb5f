"""The health of the server, for the page and for monitoring, and whether it is ready for requests."""

import asyncio

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints import StoreUnavailableError, TakesTooLongError
from components.services import Services
from words import _


def add_route(server: FastAPI, services: Services) -> None:
    check_health = HealthCheck(services)

    @server.get("/healthz")
    async def get_health() -> Response:
        if problem := await check_health():
            if services.store.database.separates_owners:
                # The reason may name files, and the whole network may ask.
                problem = _("The database is unavailable.")
            return JSONResponse({"status": "degraded", "store": problem}, status_code=503)
        return JSONResponse({"status": "ok", "store": services.store.database.kind})

    @server.get("/readyz")
    async def get_readiness() -> Response:
        """Say whether a run would begin at once: until the agent's libraries are loaded, runs wait for them."""
        if not services.is_loaded():
            return JSONResponse({"status": "starting"}, status_code=503)
        return await get_health()


class HealthCheck:
    """Let concurrent requests share a check of the database.

    A check may take as long as a lock is held, and every page polls. A check per request would use up the whole pool.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._pending_check: asyncio.Task[str] | None = None

    async def __call__(self) -> str:
        """Return the database's problem, or an empty text."""
        if self._pending_check is None or self._pending_check.done():
            self._pending_check = asyncio.create_task(self._check_database())
        return await asyncio.shield(self._pending_check)

    async def _check_database(self) -> str:
        try:
            await self._services.check()
        except (StoreUnavailableError, TakesTooLongError) as error:
            return str(error)
        return ""
