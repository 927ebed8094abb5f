"""Dash on the page's own server, and its requests checked in advance: it answers an unexpected one with an error.

A callback's body must name a callback with its inputs and outputs.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from dash.backends import get_backend
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.refusal_log import RefusalLog
from server.request_bodies import (
    has_large_number,
    has_more_separators,
    read_body,
    replay_body,
)

CALLBACK_PATH = "/_dash-update-component"
PAGE_REQUEST_PREFIXES = (CALLBACK_PATH, "/api/actions/", "/api/panels")
_JSON_PREFIXES = (CALLBACK_PATH, "/api/")
# The others are files, and forms.
_OTHER_BODIES = re.compile(r"/api/uploads/|.*/export\Z")
# A request of the page is parsed on the event loop: 2.5 MB of [] take 0.3 s.
MAX_REQUEST_VALUES = 20_000
# Dash writes `ALL` this way in the id of a pattern.
ANY_ROW = ["ALL"]
NOT_A_REQUEST_TEXT = "This is not a request of the page.\n"


class DashRequests:
    """The ASGI layer before Dash's server. A request with values that no page sends loses its body.

    `mend_texts` returns JSON whose escapes are valid text.
    """

    def __init__(self, app: ASGIApp, mend_texts: Callable[[bytes], bytes]) -> None:
        self._app = app
        self._mend_texts = mend_texts
        self._log = RefusalLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if has_json_body(scope):
            body = await read_body(receive) or b""
            receive = replay_body(b"" if has_strange_values(body) else self._mend_texts(body), receive)
            send = self._note_refusal(scope, send)
        await self._app(scope, receive, send)

    def _note_refusal(self, scope: Scope, send: Send) -> Send:
        async def send_and_note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 400:
                self._log.note_refusal(scope, 400)
            await send(message)

        return send_and_note


def has_json_body(scope: Scope) -> bool:
    """Return whether a request's body is read as JSON, whatever its content type says."""
    is_command = scope["type"] == "http" and scope["method"] == "POST"
    return is_command and scope["path"].startswith(_JSON_PREFIXES) and not _OTHER_BODIES.match(scope["path"])


def has_strange_values(body: bytes) -> bool:
    """Return whether the body of a request has values that no page sends."""
    return has_more_separators(body, MAX_REQUEST_VALUES) or has_large_number(body)


class CallbackCheck:
    """The ASGI layer inside Dash's own layer, after Dash has parsed the body of a callback."""

    def __init__(self, app: ASGIApp, get_callbacks: Callable[[], Mapping[str, Any]]) -> None:
        self._app = app
        self._get_callbacks = get_callbacks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_callback = scope["type"] == "http" and scope["path"] == CALLBACK_PATH and scope["method"] == "POST"
        if is_callback and not is_callback_request(scope["state"]["json_body"], self._get_callbacks()):
            await PlainTextResponse(NOT_A_REQUEST_TEXT, 400)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def answer_missing_file(_request: Request, _error: Exception) -> Response:
    """Answer a request for a file that no package has registered: Dash raises `DependencyException`."""
    return PlainTextResponse("Not Found\n", 404)


def is_callback_request(request: Any, callbacks: Mapping[str, Any]) -> bool:
    """Return whether a parsed body names a callback with exactly its inputs, states and outputs.

    Of the values only the address is checked, because every callback reads it before it can check anything.
    """
    if not isinstance(request, dict) or not isinstance(output := request.get("output"), str):
        return False
    callback = callbacks.get(output)
    changed = request.get("changedPropIds", [])
    return (
        callback is not None
        # Otherwise the callback runs in the browser.
        and "callback" in callback
        and _names_properties(request.get("inputs", []), callback["inputs"])
        and _names_properties(request.get("state", []), callback["state"])
        and _names_properties(_list_outputs(request.get("outputs")), _parse_output(output))
        and all(_is_address(each.get("value")) for each in _list_given_properties(request) if each["property"] == "pathname")
        and isinstance(changed, list)
        and all(isinstance(each, str) for each in changed)
    )


def _list_given_properties(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = [*request.get("inputs", []), *request.get("state", [])]
    return [each for each in given if isinstance(each, dict)]


def _is_address(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _names_properties(given: Any, expected: Sequence[Mapping[str, Any]]) -> bool:
    if not isinstance(given, list) or len(given) != len(expected):
        return False
    return all(_names_property(each, known) for each, known in zip(given, expected, strict=True))


def _names_property(given: Any, known: Mapping[str, Any]) -> bool:
    """Return whether a value is given for a property, or a list of them for the property of all rows of a list."""
    identifier, name = str(known["id"]), str(known["property"])
    if not identifier.startswith("{"):
        return isinstance(given, dict) and given.get("id") == identifier and given.get("property") == name
    pattern = json.loads(identifier)
    return isinstance(given, list) and all(
        isinstance(each, dict) and _fits_pattern(each.get("id"), pattern) and each.get("property") == name for each in given
    )


def _fits_pattern(identifier: Any, pattern: Mapping[str, Any]) -> bool:
    """Return whether an id is one of a pattern, in which `["ALL"]` stands for any text."""
    return (
        isinstance(identifier, dict)
        and identifier.keys() == pattern.keys()
        and all(
            isinstance(identifier[key], str) if value == ANY_ROW else identifier[key] == value
            for key, value in pattern.items()
        )
    )


def _list_outputs(outputs: Any) -> Any:
    return [outputs] if isinstance(outputs, dict) else outputs


def _parse_output(output: str) -> list[dict[str, str]]:
    """Return the properties in a callback's key, `id.property`, or `..id.property...id.property..`."""
    names = output[2:-2].split("...") if output.startswith("..") else [output]
    parts = [name.rpartition(".") for name in names]
    return [{"id": identifier, "property": name} for identifier, _, name in parts]


def make_backend(server: FastAPI) -> Any:
    """Return a backend whose new server is this server. If Dash is given a server, it imports Flask to compare the two."""
    dash_server: Any = get_backend("fastapi")

    class Backend(dash_server):  # type: ignore[misc]  # Dash ships no types
        # Dash 4.4's WebSocket callbacks bypass authentication and die with the tab.
        websocket_capability = False

        @staticmethod
        def create_app(*_: Any, **__: Any) -> FastAPI:
            return server

    return Backend


def remove_dash_variables(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove Dash's environment variables, in either case, so only Waymark's settings apply."""
    for name in [name for name in environ if name.upper().startswith("DASH_")]:
        del environ[name]
