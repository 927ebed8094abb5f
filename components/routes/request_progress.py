"""The progress of a page's long request, and its cancellation."""

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from starlette.responses import JSONResponse, Response

from checkpoints.values.progress import Progress
from components.services import Services
from words import _


def _describe_progress(progress: Progress) -> dict[str, Any]:
    detail = _format_progress(progress.detail) if progress.detail else ""
    return {**asdict(progress), "phase": _(progress.phase), "noun": _(progress.noun), "detail": detail}


def _format_progress(progress: Progress) -> str:
    if progress.total is None:
        return _("{phase}…", phase=_(progress.phase))
    values = {"phase": _(progress.phase), "done": progress.done, "total": progress.total, "noun": _(progress.noun)}
    return _("{phase}: {done:,} of {total:,} {noun}", **values)


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/requests/{identifier}")
    async def get_progress(identifier: str) -> Response:
        """Return the progress of a page's request; nothing if it has not reported yet or has ended."""
        progress = await services.long_requests.find_progress(identifier)
        return JSONResponse(_describe_progress(progress)) if progress else Response(status_code=HTTPStatus.NO_CONTENT)

    @server.post("/api/requests/{identifier}/cancel")
    async def cancel_request(identifier: str) -> Response:
        await services.long_requests.cancel(identifier)
        return Response(status_code=HTTPStatus.NO_CONTENT)
