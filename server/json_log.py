"""A log for programs: each record is a line of JSON, with the ids of its request and its run."""

import json
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

from starlette.types import ASGIApp, Receive, Scope, Send

ReadIds = Callable[[], Mapping[str, str]]
_request: ContextVar[Mapping[str, str]] = ContextVar("request", default=MappingProxyType({}))


def note_requests(app: ASGIApp) -> ASGIApp:
    """Wrap the app, and give the records of each request a unique id and the path."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            _request.set({"request": secrets.token_hex(8), "path": scope["path"]})
        await app(scope, receive, send)

    return serve


def read_request_id() -> str:
    """Return the id of the request in progress; empty outside of a request."""
    return str(_request.get().get("request", ""))


class JsonFormatter(logging.Formatter):
    """Format a record as a JSON object. `read_ids` are called where the record is written."""

    def __init__(self, read_ids: Sequence[ReadIds]) -> None:
        super().__init__()
        self._read_ids = (_request.get, *read_ids)

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for read in self._read_ids:
            fields |= read()
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        # The line is ASCII only, without a line break.
        return json.dumps(fields)
