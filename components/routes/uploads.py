"""Uploads: a file is the raw body of a request, and the answer is its id. An action of the page then names the id."""

from collections.abc import AsyncIterator
from http import HTTPStatus

from fastapi import FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from checkpoints.values.progress import Progress, Report
from components.services import Services
from components.transfers.long_requests import get_progress_callback
from components.transfers.uploads import MAX_UPLOAD_BYTES, UPLOADS_PREFIX
from words import N_


def add_route(server: FastAPI, services: Services) -> None:
    @server.post(UPLOADS_PREFIX + "{purpose}")
    async def take_upload(purpose: str, request: Request) -> Response:
        """Keep the body. The guard refuses a body that is too large for its purpose."""
        if purpose not in MAX_UPLOAD_BYTES:
            return Response(status_code=HTTPStatus.NOT_FOUND)
        try:
            identifier = await services.uploads.receive(_read_pieces(request, get_progress_callback()))
        except ClientDisconnect:
            # The page has cancelled the upload, so nobody reads the answer.
            return Response(status_code=HTTPStatus.BAD_REQUEST)
        return JSONResponse({"id": identifier})


async def _read_pieces(request: Request, report: Report) -> AsyncIterator[bytes]:
    """Yield the pieces of a body and report their progress. Raises `RequestCancelledError` and `ClientDisconnect`."""
    length, arrived = int(request.headers.get("content-length", "0")), 0
    async for piece in request.stream():
        arrived += len(piece)
        report(Progress(N_("Uploading"), arrived // 1000, length // 1000 or None, "kB"))
        yield piece
