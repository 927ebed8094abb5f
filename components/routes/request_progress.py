"""The progress of a page's long request, and its cancellation."""

from dataclasses import asdict
from http import HTTPStatus

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from components.services import Services


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/requests/{identifier}")
    async def get_progress(identifier: str) -> Response:
        """Return the progress of a request of this server's pages; nothing for one that has not reported or has ended."""
        progress = services.long_requests.find_progress(identifier)
        return JSONResponse(asdict(progress)) if progress else Response(status_code=HTTPStatus.NO_CONTENT)

    @server.post("/api/requests/{identifier}/cancel")
    async def cancel_request(identifier: str) -> Response:
        services.long_requests.cancel(identifier)
        return Response(status_code=HTTPStatus.NO_CONTENT)
