"""The mapping from the store's errors to HTTP answers, for every route that does not handle them itself."""

from collections.abc import Awaitable, Callable

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from checkpoints import NotFoundError, StateError, StoreUnavailableError, TakesTooLongError
from checkpoints.values.errors import DamagedFileError, DamagedMessageError, ReadOnlyError
from components.shapes import MalformedRequestError
from components.workers.redacted_exports import TooManyExportsError
from words import say

# An error that is not listed takes the code of its nearest ancestor.
STATUS_CODES: dict[type[StateError], int] = {
    NotFoundError: 404,
    DamagedMessageError: 410,
    DamagedFileError: 410,
    StoreUnavailableError: 503,
    TakesTooLongError: 503,
    TooManyExportsError: 503,
    ReadOnlyError: 403,
    StateError: 400,
}


def add_error_responses(server: FastAPI) -> None:
    """Answer an error with its status code and its sentence. Errors of callbacks do not get here: Dash handles them."""
    for error, status_code in STATUS_CODES.items():
        server.add_exception_handler(error, _create_error_handler(status_code))
    server.add_exception_handler(MalformedRequestError, _create_error_handler(400))


def _create_error_handler(status_code: int) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer_error(_: Request, error: Exception) -> Response:
        return PlainTextResponse(say(error), status_code)

    return answer_error
