"""The guard: the outermost ASGI layer, for HTTP and WebSocket alike. It refuses every request unless a rule allows it.

The inner layers do not see every request. HTTP middleware never runs for a WebSocket. Dash answers every unknown path with
its page, reads bodies of any size, and checks neither Host nor Origin over HTTP. Any page on the web can send requests to
this machine: the check of Host stops DNS rebinding, the check of Origin stops forged commands, and the sign-in stops
everybody else.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import quote, unquote_to_bytes

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.answers import build_text
from server.bounded_log import read_client
from server.headers import (
    INERT_POLICY,
    SECURITY_HEADERS,
    SHARED_PAGE_HEADERS,
    choose_file_caching,
)
from server.refusal_log import RefusalLog
from server.request_bodies import has_unknown_length, read_body, replay_body
from server.request_rate import RequestRate
from server.session.session_authentication import SIGN_IN_PATH, SOCKET_PROTOCOL, SessionAuthentication, accept_protocol
from server.session.sessions import SessionsUnavailableError
from server.trusted_proxy import TrustedProxy
from words import _, set_language
from words.requests import choose_language

MAX_BODY_BYTES = 1_000_000
ALLOWED_METHODS = ("GET", "HEAD", "POST")
CLOSE_SESSION_ENDED = 4401
# The limits are for requests for shared pages from one address.
MAX_STRANGER_BURST = 60
MAX_STRANGER_REQUESTS_PER_SECOND = 1
_log = logging.getLogger("waymark.guard")


@dataclass(frozen=True)
class AllowedRoutes:
    """The allowed addresses. A prefix allows everything below it. An address in no field is not found."""

    paths: frozenset[str]
    prefixes: tuple[str, ...] = ()
    # These addresses have the page's frame, which holds no data. It is at "/" as well.
    page_prefixes: tuple[str, ...] = ()
    public_paths: frozenset[str] = frozenset({"/healthz", "/readyz", "/metrics"})
    # Strangers read these pages. Nothing in them may act.
    shared_paths: frozenset[str] = frozenset()
    # The page of the sign-in needs these static files.
    public_prefixes: tuple[str, ...] = ()
    # A browser may keep these files.
    static_prefixes: tuple[str, ...] = ()
    # The address of these static files contains the content's hash.
    immutable_prefixes: tuple[str, ...] = ()
    # These are users' files. Nothing in them may act.
    user_file_prefixes: tuple[str, ...] = ()
    # The limits are in bytes by prefix, where MAX_BODY_BYTES does not fit.
    max_body_bytes: Mapping[str, int] = field(default_factory=dict)

    def is_allowed(self, path: str) -> bool:
        return (
            path in self.paths
            or path in self.public_paths
            or path.startswith(self.prefixes + self.page_prefixes + self.static_prefixes + self.user_file_prefixes)
        )

    def is_public(self, path: str) -> bool:
        return path in self.public_paths or path.startswith(self.public_prefixes)

    def holds_data(self, path: str) -> bool:
        return path != "/" and not path.startswith(self.page_prefixes + self.static_prefixes)

    def find_body_limit(self, path: str) -> int:
        return max(
            (limit for prefix, limit in self.max_body_bytes.items() if path.startswith(prefix)), default=MAX_BODY_BYTES
        )


class Guard:
    """The ASGI app to serve. `hosts` are the allowed values of the Host header, port included.

    A `proxy` names the person of each request. Without it and without `sign_in`, nobody signs in (AUTH=none). The
    `public_url` is the page's address behind a proxy.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: frozenset[str],
        sign_in: SessionAuthentication | None,
        proxy: TrustedProxy | None = None,
        public_url: str | None = None,
        content_security_policy: Callable[[], str],
        routes: AllowedRoutes,
        refusals: RefusalLog | None = None,
        rate: RequestRate | None = None,
        read_address: Callable[[Scope], str] = read_client,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._sign_in = sign_in
        self._proxy = proxy
        self._public_url = public_url
        self._policy = content_security_policy
        self._routes = routes
        self._refusals = refusals or RefusalLog()
        self._rate = rate or RequestRate()
        self._rate_of_strangers = RequestRate(max_burst=MAX_STRANGER_BURST, per_second=MAX_STRANGER_REQUESTS_PER_SECOND)
        self._read_address = read_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        set_language(choose_language(Headers(scope=scope)))
        if scope["type"] == "websocket":
            if await self._answer_early(scope):
                # Before an accept, the server answers 403.
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self._serve_socket(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve_http(scope, receive, self._add_headers(scope, send))

    async def _serve_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._answer_early(scope) or self._refuse_surplus(scope) or self._refuse_body(scope)
        if answer is None and has_unknown_length(scope):
            body = await read_body(receive, self._routes.find_body_limit(scope["path"]))
            answer = None if body is not None else build_text(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            receive = replay_body(body or b"", receive)
        if answer:
            await answer(scope, receive, send)
        else:
            await self._run_app(scope, receive, send)

    async def _serve_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app. For the app, the end of the session looks like a socket closed by the browser."""
        session = scope.get("state", {}).get("session")
        if SOCKET_PROTOCOL in Headers(scope=scope).get("sec-websocket-protocol", ""):
            send = accept_protocol(send)
        if self._sign_in is None or session is None:
            await self._app(scope, receive, send)
            return
        ending = asyncio.ensure_future(self._sign_in.sessions.wait_for_end(session))

        async def receive_until_end() -> Message:
            receiving = asyncio.ensure_future(receive())
            try:
                await asyncio.wait({receiving, ending}, return_when=asyncio.FIRST_COMPLETED)
                if receiving.done():
                    return receiving.result()
            finally:
                receiving.cancel()
            await send({"type": "websocket.close", "code": CLOSE_SESSION_ENDED})
            return {"type": "websocket.disconnect", "code": CLOSE_SESSION_ENDED}

        try:
            await self._app(scope, receive_until_end, send)
        finally:
            ending.cancel()

    async def _answer_early(self, scope: Scope) -> Response | None:
        """Return the answer to a request kept from the app, a refusal or a sign-in; None for all others."""
        answer = await self._check_sender(scope)
        if answer is None:
            is_found = _is_text(scope) and self._routes.is_allowed(scope["path"])
            return None if is_found else build_text(HTTPStatus.NOT_FOUND)
        if answer.status_code >= HTTPStatus.BAD_REQUEST and scope["path"] != SIGN_IN_PATH:
            self._refusals.note_refusal(scope, answer.status_code)
        return answer

    async def _check_sender(self, scope: Scope) -> Response | None:
        """Return the answer to a request from outside of the page. It must not reveal which addresses exist."""
        headers = Headers(scope=scope)
        host = [value.lower() for value in headers.getlist("host")]
        if len(host) != 1 or host[0] not in self._hosts:
            return build_text(
                HTTPStatus.BAD_REQUEST,
                _("This address is not served here. Open the one that PUBLIC_URL sets.")
                if self._public_url
                else _("This address is not served here. Set PUBLIC_URL to the address in the browser."),
            )
        is_socket = scope["type"] == "websocket"
        if not is_socket and scope["method"] not in ALLOWED_METHODS:
            return build_text(HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": ", ".join(ALLOWED_METHODS)})
        is_command = is_socket or scope["method"] == "POST"
        if is_command and headers.getlist("origin") != [self._find_origin(scope, host[0])]:
            return build_text(HTTPStatus.FORBIDDEN, _("Only the page itself may do this."))
        return await self._recognize(scope, headers, is_command=is_command)

    async def _recognize(self, scope: Scope, headers: Headers, *, is_command: bool) -> Response | None:
        """Return None for a permitted request, after noting its person in the scope's state. Otherwise return the answer."""
        is_public = self._routes.is_public(scope["path"])
        if self._proxy is not None:
            return self._proxy.recognize(scope, is_public=is_public)
        if self._sign_in is None or is_public:
            return None
        needs_page_key = is_command or self._routes.holds_data(scope["path"])
        try:
            return await self._sign_in.answer(scope, headers, needs_page_key=needs_page_key)
        except SessionsUnavailableError:
            return _build_outage()

    def _find_origin(self, scope: Scope, host: str) -> str:
        """Return the origin of the page. A proxy may have replaced the Host header, and only the proxy speaks TLS."""
        if self._public_url and (self._proxy or self._public_url.endswith(f"://{host}")):
            return self._public_url
        return f"{scope['scheme'].replace('ws', 'http')}://{host}"

    def _refuse_surplus(self, scope: Scope) -> Response | None:
        """Refuse a request for data if its session sends too many. Sockets are limited by their handshakes."""
        path = scope["path"]
        if path in self._routes.shared_paths:
            is_admitted = self._rate_of_strangers.admit(self._read_address(scope))
        elif self._routes.is_public(path) or not self._routes.holds_data(path):
            return None
        else:
            state = scope.get("state", {})
            is_admitted = self._rate.admit(state["session"].id if "session" in state else state.get("person", ""))
        if is_admitted:
            return None
        self._refusals.note_refusal(scope, HTTPStatus.TOO_MANY_REQUESTS)
        return build_text(HTTPStatus.TOO_MANY_REQUESTS, _("Too many requests. Try again in a moment."), {"Retry-After": "1"})

    def _refuse_body(self, scope: Scope) -> Response | None:
        for length in Headers(scope=scope).getlist("content-length"):
            if not (length.isascii() and length.isdigit()):
                return build_text(HTTPStatus.BAD_REQUEST)
            if len(length) > 18 or int(length) > self._routes.find_body_limit(scope["path"]):
                return build_text(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return None

    async def _run_app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app. A failure, even if the app itself answered 500, becomes a text with nothing but an id."""
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
            # Half an answer is sent. The server cuts the connection, so nobody takes the answer for complete.
            raise error
        if isinstance(error, SessionsUnavailableError):
            await _build_outage()(scope, receive, send)
        elif error or status == HTTPStatus.INTERNAL_SERVER_ERROR:
            number = secrets.token_hex(4)
            _log.error("error %s: %s %s", number, scope["method"], quote(scope["path"]), exc_info=error)
            text = _("Something went wrong (error {number}); the details are in the log.\n", number=number)
            await PlainTextResponse(text, 500)(scope, receive, send)

    def _add_headers(self, scope: Scope, send: Send) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_file = scope["path"].startswith(self._routes.static_prefixes) and message["status"] in (200, 206, 304)
                headers = MutableHeaders(scope=message)
                headers.update(SECURITY_HEADERS)
                headers["Content-Security-Policy"] = self._policy()
                caching = choose_file_caching(scope["path"], scope["query_string"], self._routes.immutable_prefixes)
                headers["Cache-Control"] = caching if is_file else "no-store"
                if scope["path"].startswith(self._routes.user_file_prefixes) and message["status"] == HTTPStatus.OK:
                    headers["Content-Security-Policy"] = INERT_POLICY
                if scope["path"] in self._routes.shared_paths:
                    headers.update(SHARED_PAGE_HEADERS)
            await send(message)

        return send_with_headers


def _build_outage() -> Response:
    """Build the answer while nobody can be recognized. It is not a refusal: the page stays, and asks again."""
    return build_text(HTTPStatus.SERVICE_UNAVAILABLE, _("The database server does not answer."), {"Retry-After": "1"})


def _is_text(scope: Scope) -> bool:
    """Return whether the address is UTF-8. The server would decode others, such as half a surrogate pair, to marks."""
    try:
        unquote_to_bytes(scope.get("raw_path") or b"").decode()
    except UnicodeDecodeError:
        return False
    return True
