"""The sign-in of a single person: a link for a single use is exchanged for a session."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from server.addresses import build_address
from server.answers import build_page, build_refresh
from server.session.session_authentication import SIGN_IN_PATH, SessionAuthentication
from server.session.session_log import SessionLog
from server.session.sessions import Session, Sessions
from words import N_, _

_NOT_SIGNED_IN = N_("This browser is not signed in")
_LINK_TEXT = N_(
    "Open the link that Waymark printed in the terminal. A link works once; opening a used one prints a new one."
)


class LinkSignIn(SessionAuthentication):
    """The sign-in by links. `on_stale_link` gets a new link when somebody opens a used link and no other link is valid."""

    def __init__(
        self,
        sessions: Sessions,
        *,
        address: str,
        script: str,
        on_stale_link: Callable[[str], None] = lambda _: None,
        log: SessionLog | None = None,
    ) -> None:
        super().__init__(sessions, address=address, script=script, log=log)
        self._on_stale_link = on_stale_link
        self._token: bytes | None = None

    def create_link(self) -> str:
        """Return a new link to sign in a single browser, once. An earlier unused link stops working."""
        token = secrets.token_urlsafe(32)
        self._token = token.encode()
        return f"{self.address}/?token={token}"

    async def enter(self, scope: Scope, headers: Headers, session: Session | None) -> Response | None:
        is_page = scope["type"] == "http" and scope["method"] == "GET"
        if is_page and scope["path"] == "/" and (token := read_token(scope)):
            return await self._redeem_link(scope, session, token)
        return self.refuse(scope, headers) if scope["path"] == SIGN_IN_PATH else None

    def explain_refusal(self) -> str:
        return _(_LINK_TEXT)

    def build_way_in(self, scope: Scope, status: HTTPStatus) -> Response:
        return build_page(status, _(_NOT_SIGNED_IN), _(_LINK_TEXT))

    async def _redeem_link(self, scope: Scope, session: Session | None, token: str) -> Response:
        """Exchange the token of a link for a cookie and a page key, once."""
        if self._use_token(token):
            return await self.begin_session(scope)
        # Otherwise the terminal already shows a valid link, and strangers cannot fill the terminal.
        if self._token is None:
            self._on_stale_link(self.create_link())
        if session:
            # The link stays in the terminal for a page that has lost its key.
            return build_refresh(build_address("/"))
        text = _("A link works once. Open the newest link that Waymark printed in the terminal.")
        return build_page(HTTPStatus.FORBIDDEN, _("This link no longer works"), text)

    def _use_token(self, token: str) -> bool:
        """Use up the link's token; return False for any other token. The comparison takes the same time for every guess."""
        if self._token is None or not secrets.compare_digest(token.encode("utf-8", "replace"), self._token):
            return False
        self._token = None
        return True


def read_token(scope: Scope) -> str | None:
    tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    return tokens[0] if tokens else None
