"""The guard: the outermost ASGI layer, for HTTP and WebSocket alike. It refuses every request that no rule allows.

It exists because the inner layers do not see every request: HTTP middleware never runs for a WebSocket, Dash answers every
unknown path with its page, reads bodies of any size, and looks at neither Host nor Origin over HTTP. A page anywhere on the
web can send requests to this machine; Host stops DNS rebinding, Origin stops forged commands, the cookie everybody else.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.headers import (
    IMMUTABLE_CACHING,
    IMMUTABLE_FILE_CACHING,
    INERT_POLICY,
    SECURITY_HEADERS,
    choose_file_caching,
)
from server.request_bodies import read_body, replay_body
from server.session import MAX_COOKIE_SECONDS, Session

MAX_BODY_BYTES = 1_000_000
ALLOWED_METHODS = ("GET", "HEAD", "POST")
_log = logging.getLogger("waymark.guard")


@dataclass(frozen=True)
class AllowedRoutes:
    """The allowed addresses. A prefix allows everything below it; an address in no field is not found."""

    paths: frozenset[str]
    prefixes: tuple[str, ...] = ()
    public_paths: frozenset[str] = frozenset({"/healthz"})  # open without a cookie
    static_prefixes: tuple[str, ...] = ()  # of files that a browser may keep
    immutable_prefixes: tuple[str, ...] = ()  # of those files whose address contains the content's hash
    user_file_prefixes: tuple[str, ...] = ()  # of users' files: a browser may cache them, and nothing in them may act
    max_body_bytes: Mapping[str, int] = field(default_factory=dict)  # prefix -> bytes, where MAX_BODY_BYTES does not fit

    def is_allowed(self, path: str) -> bool:
        return (
            path in self.paths
            or path in self.public_paths
            or path.startswith(self.prefixes + self.static_prefixes + self.user_file_prefixes)
        )

    def find_body_limit(self, path: str) -> int:
        return max(
            (limit for prefix, limit in self.max_body_bytes.items() if path.startswith(prefix)), default=MAX_BODY_BYTES
        )


class Guard:
    """The ASGI app to serve. `hosts` are the allowed values of the Host header, port included.

    `session` None requires no cookie (AUTH=none). `on_stale_link` is called when a used link is opened and no other is
    valid: the app then prints a new one.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: frozenset[str],
        session: Session | None,
        content_security_policy: Callable[[], str],
        routes: AllowedRoutes,
        on_stale_link: Callable[[], None],
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._session = session
        self._policy = content_security_policy
        self._routes = routes
        self._on_stale_link = on_stale_link

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            if self._answer_early(scope):
                await send({"type": "websocket.close", "code": 1008})  # before accept: the server answers 403
            else:
                await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve_http(scope, receive, self._add_headers(scope, send))

    async def _serve_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answer_early(scope) or self._refuse_body(scope)
        if answer is None and _has_unknown_length(scope):
            body = await read_body(receive, self._routes.find_body_limit(scope["path"]))
            answer = None if body is not None else _build_text(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            receive = replay_body(body or b"", receive)
        if answer:
            await answer(scope, receive, send)
        else:
            await self._run_app(scope, receive, send)

    def _answer_early(self, scope: Scope) -> Response | None:
        """Return the answer to a request that must not reach the app: a refusal or a sign-in; None for all others.

        The order matters: a refusal must not reveal which addresses exist.
        """
        headers = Headers(scope=scope)
        host = [value.lower() for value in headers.getlist("host")]
        if len(host) != 1 or host[0] not in self._hosts:
            return _build_text(HTTPStatus.BAD_REQUEST, "This address is not served here.")
        is_socket = scope["type"] == "websocket"
        if not is_socket and scope["method"] not in ALLOWED_METHODS:
            return _build_text(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(ALLOWED_METHODS)})
        if is_socket or scope["method"] == "POST":
            scheme = scope["scheme"].replace("ws", "http")
            if headers.getlist("origin") != [f"{scheme}://{host[0]}"]:
                return _build_text(HTTPStatus.FORBIDDEN, "Only the page itself may do this.")
        if self._session and scope["path"] not in self._routes.public_paths:
            answer = self._sign_in(self._session, scope, headers)
            if answer:
                return answer
        return None if self._routes.is_allowed(scope["path"]) else _build_text(HTTPStatus.NOT_FOUND)

    def _sign_in(self, session: Session, scope: Scope, headers: Headers) -> Response | None:
        """Return None for a valid cookie, a cookie for a valid link, and otherwise a refusal."""
        is_signed_in = any(session.is_valid(value) for value in _list_cookie_values(headers, session.cookie_name))
        is_page = scope["type"] == "http" and scope["method"] == "GET"
        token = parse_qs(scope["query_string"].decode("latin-1")).get("token") if is_page and scope["path"] == "/" else None
        if token:
            return self._redeem_link(session, scope, is_signed_in, token[0])
        if is_signed_in:
            return None
        if is_page and headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate":
            # A link on another site: browsers hold the Strict cookie back, but not when this page asks once more.
            query = scope["query_string"].decode("latin-1")
            return _build_refresh(f"{quote(scope['path'])}?{query}" if self._routes.is_allowed(scope["path"]) else "/")
        text = "Open the link that Waymark printed in the terminal."
        if is_page and (scope["path"] == "/" or "text/html" in headers.get("accept", "")):
            return _build_page(HTTPStatus.UNAUTHORIZED, "This browser is not signed in", text)
        return _build_text(HTTPStatus.UNAUTHORIZED, text)

    def _redeem_link(self, session: Session, scope: Scope, is_signed_in: bool, token: str) -> Response:
        """Swap the token of a link for a cookie, once."""
        if session.redeem_link_token(token):
            response = _build_refresh("/")
            secure = scope["scheme"] == "https"
            response.set_cookie(
                session.cookie_name,
                session.issue_cookie(),
                MAX_COOKIE_SECONDS,
                path="/",
                secure=secure,
                httponly=True,
                samesite="strict",
            )
            return response
        if is_signed_in:
            return _build_refresh("/")
        if not session.has_open_link:  # else the terminal shows a good link already, and strangers cannot fill it
            self._on_stale_link()
        return _build_page(
            HTTPStatus.FORBIDDEN,
            "This link no longer works",
            "A link works once. Open the newest link that Waymark printed in the terminal.",
        )

    def _refuse_body(self, scope: Scope) -> Response | None:
        for length in Headers(scope=scope).getlist("content-length"):
            if not (length.isascii() and length.isdigit()):
                return _build_text(HTTPStatus.BAD_REQUEST)
            if len(length) > 18 or int(length) > self._routes.find_body_limit(scope["path"]):
                return _build_text(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return None

    async def _run_app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app; a failure, also one that the app itself answers with 500, becomes a text with an id and no more."""
        status = 0

        async def forward_message(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            if status != HTTPStatus.INTERNAL_SERVER_ERROR:
                await send(message)

        error: Exception | None = None
        try:
            await self._app(scope, receive, forward_message)
        except Exception as failure:  # noqa: BLE001  the outer edge: no other layer handles the error
            error = failure
        if error and status not in (0, HTTPStatus.INTERNAL_SERVER_ERROR):
            raise error  # half an answer is sent: the server cuts the connection, so that it is not taken for complete
        if error or status == HTTPStatus.INTERNAL_SERVER_ERROR:
            number = secrets.token_hex(4)
            _log.error("error %s: %s %s", number, scope["method"], quote(scope["path"]), exc_info=error)
            text = f"Something went wrong (error {number}); the details are in the log.\n"
            await PlainTextResponse(text, 500)(scope, receive, send)

    def _choose_caching(self, scope: Scope) -> str:
        if scope["path"].startswith(self._routes.immutable_prefixes):
            return IMMUTABLE_FILE_CACHING
        return choose_file_caching(scope["path"], scope["query_string"])

    def _add_headers(self, scope: Scope, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_file = scope["path"].startswith(self._routes.static_prefixes) and message["status"] in (200, 206, 304)
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                headers["Content-Security-Policy"] = self._policy()
                headers["Cache-Control"] = self._choose_caching(scope) if is_file else "no-store"
                if scope["path"].startswith(self._routes.user_file_prefixes) and message["status"] == HTTPStatus.OK:
                    headers.update({"Content-Security-Policy": INERT_POLICY, "Cache-Control": IMMUTABLE_CACHING})
            await send(message)

        return send_with_headers


def _build_text(status: HTTPStatus, text: str = "", headers: Mapping[str, str] | None = None) -> Response:
    return PlainTextResponse((text or status.phrase) + "\n", status, headers)


def _build_page(status: HTTPStatus, title: str, text: str) -> Response:
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Waymark</title><h1>{escape(title)}</h1>'
    return HTMLResponse(f"{head}<p>{escape(text)}</p></html>", status)


def _build_refresh(address: str) -> Response:
    """Send the browser to an address of ours from a page of ours.

    Not a redirect: the browser remembers that a redirect chain began on another site, and withholds a Strict cookie from
    all of it, also the cookie that the redirect itself has just set.
    """
    refresh = f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
    return HTMLResponse(f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Waymark</title>{refresh}</html>')


def _list_cookie_values(headers: Headers, name: str) -> list[str]:
    """Return all values of a cookie. By hand, because http.cookies stops at the first invalid cookie of other servers."""
    pairs = [pair.strip().partition("=") for line in headers.getlist("cookie") for pair in line.split(";")]
    return [value for key, _, value in pairs if key == name]


def _has_unknown_length(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return "transfer-encoding" in headers or (scope["method"] == "POST" and "content-length" not in headers)
