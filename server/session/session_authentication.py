"""Authentication by sessions: a cookie and a page key together let a browser's requests in.

The cookie alone does not, because browsers send it to every port of this host. The page keeps its key in `localStorage`,
separate for each port, and adds it to each request. A navigation can carry only the cookie. So the cookie alone gets the
page's frame and its static files, because they contain nothing personal. For the sign-in see `sign_in`, and people.sign_in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Message, Scope, Send

from server.addresses import build_address
from server.answers import build_key_page, build_page, build_refresh, build_text
from server.session.session_log import SessionLog
from server.session.sessions import MAX_SESSION_SECONDS, NotDurableError, Session, Sessions
from words import _

# It takes the kind of the event, its request, and the person.
Record = Callable[[str, Scope, str], Awaitable[None]]
# The page goes there when its session has ended.
SIGN_IN_PATH = "/sign-in"
PAGE_KEY_HEADER = "x-waymark-page-key"
# The port follows, because browsers share cookies between all ports of a host.
COOKIE_PREFIX = "waymark_"
# A page offers its socket this protocol and its key, because it cannot add a header.
SOCKET_PROTOCOL = "waymark"


class SessionAuthentication(ABC):
    """Recognize browsers by their sessions, and begin sessions.

    `address` is the page's, as browsers see it, without the last slash. `script` is the path of the script for the page key.
    """

    def __init__(
        self,
        sessions: Sessions,
        *,
        address: str,
        script: str,
        log: SessionLog | None = None,
    ) -> None:
        self.sessions = sessions
        self.log = log or SessionLog()
        self.address = address
        self.cookie_name = COOKIE_PREFIX + _read_port(self.address)
        self._script = script
        # The audit log replaces this function.
        self.record: Record = _record_nothing

    @abstractmethod
    def create_link(self) -> str:
        """Return the address to open."""

    @abstractmethod
    async def enter(self, scope: Scope, headers: Headers, session: Session | None) -> Response | None:
        """Return the answer to a request of the sign-in itself; None for all others."""

    @abstractmethod
    def explain_refusal(self) -> str:
        """Return a text for a request without a session."""

    @abstractmethod
    def build_way_in(self, scope: Scope, status: HTTPStatus) -> Response:
        """Build the page for a browser without a session."""

    def close(self) -> None:  # noqa: B027  (most hold nothing)
        """Release its resources."""

    async def answer(self, scope: Scope, headers: Headers, *, needs_page_key: bool) -> Response | None:
        """Return None for a request of a session, after noting the session in the scope's state; else a sign-in or a
        refusal.

        Raises `SessionsUnavailableError`.
        """
        session = await self.find_session(headers)
        if entering := await self.enter(scope, headers, session):
            return entering
        if session and not needs_page_key:
            return None
        if session and (key := _read_page_key(scope, headers)) and session.is_page_key(key):
            state = scope.setdefault("state", {})
            state["session"] = session
            if session.person:
                state["person"], state["role"] = session.person, session.role
            if not _is_of_stream(scope):
                await self.sessions.note_use(session)
            return None
        if session and _is_page(scope) and "text/html" in headers.get("accept", ""):
            return build_page(HTTPStatus.FORBIDDEN, _("Open this from Waymark"), _("Open Waymark, and go on from there."))
        return self.refuse(scope, headers)

    async def begin_session(
        self, scope: Scope, *, person: str = "", role: str = "", next_path: str = "/", credential: str | None = None
    ) -> Response:
        """Begin a new session of a browser, end its previous session, and send it the cookie and the key.

        `credential`: see `Sessions.begin`.
        """
        headers = Headers(scope=scope)
        former = await self.find_session(headers)
        created = await self.sessions.begin(headers.get("user-agent", ""), person, role, credential)
        self.log.note_sign_in(scope, created.session)
        # The new session replaces the previous session in any case.
        with suppress(NotDurableError):
            replaced = await self.sessions.end([former.id]) if former else []
            for each in (*replaced, *created.ended):
                self.log.note_replacement(each)
        await self.record("sign-in", scope, person)
        response = build_key_page(self._script, created.page_key, next_path, person)
        self.set_cookie(response, scope, self.cookie_name, created.cookie, MAX_SESSION_SECONDS)
        return response

    def set_cookie(self, response: Response, scope: Scope, name: str, value: str, seconds: int) -> None:
        is_secure = scope["scheme"] == "https" or self.address.startswith("https:")
        path = build_address("/")
        response.set_cookie(name, value, seconds, path=path, secure=is_secure, httponly=True, samesite="strict")

    def remove_cookie(self, response: Response) -> None:
        response.delete_cookie(self.cookie_name, path=build_address("/"), httponly=True, samesite="strict")

    async def find_session(self, headers: Headers) -> Session | None:
        """Return the session of a browser. Raises `SessionsUnavailableError`."""
        values = list_cookie_values(headers, self.cookie_name)
        return await self.sessions.find(*values) if values else None

    def refuse(self, scope: Scope, headers: Headers) -> Response:
        if _is_page(scope) and headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate":
            # Browsers hold the Strict cookie back for a link on another site, but not when this page asks again.
            # Two slashes at the beginning would name another host.
            path = "/" + quote(scope["path"]).lstrip("/")
            return build_refresh(build_address(f"{path}?{scope['query_string'].decode('latin-1')}"))
        is_shown = scope["path"] in ("/", SIGN_IN_PATH) or "text/html" in headers.get("accept", "")
        if not _is_page(scope) or not is_shown:
            return build_text(HTTPStatus.UNAUTHORIZED, self.explain_refusal())
        # The page at this address is for everybody: a browser's console would show its status as an error.
        return self.build_way_in(scope, HTTPStatus.OK if scope["path"] == SIGN_IN_PATH else HTTPStatus.UNAUTHORIZED)


def _read_port(address: str) -> str:
    """Return the port of a page's address, so every process behind the address has the same cookie name."""
    parts = urlsplit(address)
    return str(parts.port or (443 if parts.scheme == "https" else 80))


async def _record_nothing(_kind: str, _scope: Scope, _person: str) -> None:
    pass


def _is_page(scope: Scope) -> bool:
    return bool(scope["type"] == "http" and scope["method"] == "GET")


def _is_of_stream(scope: Scope) -> bool:
    """Return whether a page requests frames. It does so day and night without a person, so this is no use of the session."""
    return bool(scope["type"] == "websocket" or scope["path"].endswith("/events"))


def _read_page_key(scope: Scope, headers: Headers) -> str | None:
    if scope["type"] != "websocket":
        return headers.get(PAGE_KEY_HEADER)
    protocol, _, key = headers.get("sec-websocket-protocol", "").partition(",")
    return key.strip() if protocol.strip() == SOCKET_PROTOCOL else None


def list_cookie_values(headers: Headers, name: str) -> list[str]:
    """Return all values of a cookie. http.cookies would stop at the first invalid cookie of other servers."""
    pairs = [pair.strip().partition("=") for line in headers.getlist("cookie") for pair in line.split(";")]
    return [value for key, _, value in pairs if key == name]


def accept_protocol(send: Send) -> Send:
    """Name the protocol offered by the page: without it in the answer, a browser closes the socket."""

    async def send_protocol(message: Message) -> None:
        is_accepted = message["type"] == "websocket.accept"
        await send({**message, "subprotocol": SOCKET_PROTOCOL} if is_accepted else message)

    return send_protocol
