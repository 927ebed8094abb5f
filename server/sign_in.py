"""The way in: a link that works once is swapped for a cookie and a page key, and both together open the door.

The cookie alone does not: browsers send it to every port of this host. The page keeps its key in `localStorage`, which
belongs to one port, and adds it to each request. A navigation can carry the cookie alone, so the cookie alone gets the
page's frame and its static files, which hold nothing of anybody.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from server.answers import build_key_page, build_page, build_refresh, build_text
from server.session_log import SessionLog
from server.sessions import MAX_SESSION_SECONDS, Session, Sessions
from words import N_, _

SIGN_IN_PATH = "/sign-in"  # the page goes there when its session has ended
PAGE_KEY_HEADER = "x-waymark-page-key"
COOKIE_PREFIX = "waymark_"  # the port follows: browsers share cookies between all ports of a host
SOCKET_PROTOCOL = "waymark"  # a page offers its socket this protocol and its key: it cannot add a header
_NOT_SIGNED_IN = N_("This browser is not signed in")
_LINK_TEXT = N_(
    "Open the link that Waymark printed in the terminal. A link works once; opening a used one prints a new one."
)
_log = logging.getLogger(__name__)


class SignIn:
    """Signs browsers in, and recognizes them. `on_stale_link` is called with a new link when a used one is opened and no
    other is valid. `script` is the address of the script that keeps the page key. `public_url` is the address behind a
    proxy.
    """

    def __init__(
        self,
        sessions: Sessions,
        *,
        address: str,
        public_url: str | None = None,
        script: str,
        on_stale_link: Callable[[str], None] = lambda _: None,
        log: SessionLog | None = None,
    ) -> None:
        self.sessions = sessions
        self.log = log or SessionLog()
        self.cookie_name = COOKIE_PREFIX + address.rpartition(":")[2]
        self._address = public_url or address
        self._script = script
        self._on_stale_link = on_stale_link
        self._token: bytes | None = None

    def create_link(self) -> str:
        """Return a new link, which signs one browser in, once. An earlier one that was not used stops working."""
        token = secrets.token_urlsafe(32)
        self._token = token.encode()
        return f"{self._address}/?token={token}"

    async def answer(self, scope: Scope, headers: Headers, *, needs_page_key: bool) -> Response | None:
        """Return None for a request of a session, which is then in the scope's state; else a sign-in or a refusal."""
        session = self._find_session(headers)
        is_page = scope["type"] == "http" and scope["method"] == "GET"
        if is_page and scope["path"] == "/" and (token := _read_token(scope)):
            return await self._redeem_link(scope, headers, session, token)
        if scope["path"] == SIGN_IN_PATH:
            return self._refuse(scope, headers)
        if session and not needs_page_key:
            return None
        if session and (key := _read_page_key(scope, headers)) and session.is_page_key(key):
            scope.setdefault("state", {})["session"] = session
            if self.sessions.note_use(session):
                await self._save()
            return None
        if session and is_page and "text/html" in headers.get("accept", ""):
            return build_page(
                HTTPStatus.FORBIDDEN, _("This opens from the page alone"), _("Open Waymark, and go on from there.")
            )
        return self._refuse(scope, headers)

    def remove_cookie(self, response: Response) -> None:
        response.delete_cookie(self.cookie_name, path="/", httponly=True, samesite="strict")

    def _find_session(self, headers: Headers) -> Session | None:
        values = _list_cookie_values(headers, self.cookie_name)
        return next((session for value in values if (session := self.sessions.find(value))), None)

    def _refuse(self, scope: Scope, headers: Headers) -> Response:
        is_page = scope["type"] == "http" and scope["method"] == "GET"
        if is_page and headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate":
            # A link on another site: browsers hold the Strict cookie back, but not when this page asks once more.
            # One slash: two would begin the name of another host.
            path = "/" + quote(scope["path"]).lstrip("/")
            return build_refresh(f"{path}?{scope['query_string'].decode('latin-1')}")
        if not is_page or not (scope["path"] in ("/", SIGN_IN_PATH) or "text/html" in headers.get("accept", "")):
            return build_text(HTTPStatus.UNAUTHORIZED, _(_LINK_TEXT))
        return build_page(HTTPStatus.UNAUTHORIZED, _(_NOT_SIGNED_IN), _(_LINK_TEXT))

    async def _redeem_link(self, scope: Scope, headers: Headers, session: Session | None, token: str) -> Response:
        """Swap the token of a link for a cookie and a page key, once."""
        if self._use_token(token):
            if session and (former := self.sessions.end(session.id)):  # of the same browser
                self.log.note_replacement(former)
            created = self.sessions.begin(headers.get("user-agent", ""))
            self.log.note_sign_in(scope, created.session)
            for surplus in created.ended:
                self.log.note_replacement(surplus)
            await self._save()
            response = build_key_page(self._script, created.page_key)
            response.set_cookie(
                self.cookie_name,
                created.cookie,
                MAX_SESSION_SECONDS,
                path="/",
                secure=scope["scheme"] == "https" or self._address.startswith("https:"),
                httponly=True,
                samesite="strict",
            )
            return response
        if self._token is None:  # else the terminal shows a good link already, and strangers cannot fill it
            self._on_stale_link(self.create_link())
        if session:
            return build_refresh("/")  # the link stays in the terminal for a page that has lost its key
        text = _("A link works once. Open the newest link that Waymark printed in the terminal.")
        return build_page(HTTPStatus.FORBIDDEN, _("This link no longer works"), text)

    def _use_token(self, token: str) -> bool:
        """Use the link's token up; false for any other. The comparison takes the same time for every guess."""
        if self._token is None or not secrets.compare_digest(token.encode("utf-8", "replace"), self._token):
            return False
        self._token = None
        return True

    async def _save(self) -> None:
        try:
            await asyncio.to_thread(self.sessions.save)
        except OSError as error:
            _log.warning("the sessions could not be saved, and a restart would forget the newest: %s", error.strerror)


def _read_token(scope: Scope) -> str | None:
    tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    return tokens[0] if tokens else None


def _read_page_key(scope: Scope, headers: Headers) -> str | None:
    if scope["type"] != "websocket":
        return headers.get(PAGE_KEY_HEADER)
    protocol, _, key = headers.get("sec-websocket-protocol", "").partition(",")
    return key.strip() if protocol.strip() == SOCKET_PROTOCOL else None


def _list_cookie_values(headers: Headers, name: str) -> list[str]:
    """Return all values of a cookie. By hand, because http.cookies stops at the first invalid cookie of other servers."""
    pairs = [pair.strip().partition("=") for line in headers.getlist("cookie") for pair in line.split(";")]
    return [value for key, _, value in pairs if key == name]
