"""The sign-in by a provider of OpenID Connect: the browser goes there with our request, and comes back with a code."""

import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from html import escape
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from checkpoints.rows.account_rows import Account, Role
from extensions.people import sign_in_limits
from extensions.people.forms import clean_next_path, read_next_path
from extensions.people.identities import Admission, ErasedPersonError, Identities
from extensions.people.pages import Pages
from extensions.people.person_sign_in import PersonSignIn, SignInParts
from extensions.people.provider import Provider
from extensions.people.provider_claims import Claims, GroupRoles, read_groups, read_person_name
from extensions.people.sign_in_errors import CANCELLED, NO_GROUP, OUTDATED, REPORTED, SURPLUS, SignInError, UnreachableError
from extensions.people.sign_in_limits import Counter
from extensions.people.stored_sessions import AccountChangedError
from server.addresses import build_address
from server.answers import build_refresh
from server.bounded_log import WINDOW_SECONDS, LineLimiter, schedule_on_loop
from server.client_address import read_client_address
from server.session.session_authentication import SIGN_IN_PATH, list_cookie_values
from words import _, say

CALLBACK_PATH = f"{SIGN_IN_PATH}/callback"
MAX_SECONDS = 600
MAX_NEXT_CHARS = 1_000
_log = logging.getLogger("waymark.people")


class OidcPages(Pages):
    """The page before the sign-in: a single button."""

    def build_button(self, *, next_path: str, status: HTTPStatus = HTTPStatus.OK) -> HTMLResponse:
        kept = f'<input type="hidden" name="next" value="{escape(next_path)}">'
        about = f'<p class="sign-in-about">{escape(_("You sign in at your organisation, and come back here."))}</p>'
        button = f'<button class="btn btn-primary" autofocus>{escape(_("Sign in"))}</button>'
        form = f'<form method="post" action="{build_address(SIGN_IN_PATH)}">{kept}{about}{button}</form>'
        return self._build(_("Sign in"), form, status)


class OidcSignIn(PersonSignIn):
    """The sign-in. People's roles are read from the provider at each sign-in."""

    def __init__(
        self,
        parts: SignInParts,
        identities: Identities,
        provider: Provider,
        pages: OidcPages,
        *,
        roles: GroupRoles,
        groups_claims: Sequence[str],
    ) -> None:
        super().__init__(parts)
        self.provider = provider
        self.pages = pages
        self._identities = identities
        self._roles = roles
        self._groups_claims = groups_claims
        self._stop_answers = parts.stop_answers
        self._refusals = LineLimiter(_report_refusals, schedule_on_loop)
        self._is_secure = self.address.startswith("https:")
        # A cookie of a whole host needs the path "/".
        kind = "__Secure-" if urlsplit(self.address).path else "__Host-"
        self._request_cookie = (kind if self._is_secure else "") + self.cookie_name.replace("_", "_request_", 1)

    def create_link(self) -> str:
        return f"{self.address}/"

    def build_way_in(self, scope: Scope, status: HTTPStatus) -> Response:
        return self.pages.build_button(next_path=read_next_path(scope), status=status)

    async def begin(self, request: Request, next_path: str) -> Response:
        """Send the browser to the provider. A cookie identifies the browser when it comes back."""
        request.scope["session"] = {"next": clean_next_path(next_path if len(next_path) <= MAX_NEXT_CHARS else "/")}
        try:
            response = build_refresh(await self.provider.begin(request))
        except SignInError as error:
            return await self._refuse(error)
        self._set_request_cookie(response, quote(json.dumps(request.session), safe=""), MAX_SECONDS)
        return response

    async def finish(self, request: Request) -> Response:
        if request.headers.get("sec-fetch-site") == "cross-site":
            # Asked once more, the browser also sends its former session.
            return build_refresh(build_address(f"{CALLBACK_PATH}?{request.scope['query_string'].decode('latin-1')}"))
        try:
            response = await self._finish(request)
        except SignInError as error:
            response = await self._refuse(error, came_back=request.scope)
        self._set_request_cookie(response, "", 0)
        return response

    async def leave_provider(self) -> Response:
        """Send a browser that has signed out here to the provider's own sign-out, if it has one."""
        try:
            address = await self.provider.build_end_address(f"{self.address}{SIGN_IN_PATH}")
        except SignInError as error:
            _log.warning("no sign-out at the provider: %s", error)
            address = None
        return build_refresh(address) if address else self.pages.build_button(next_path="/")

    async def _finish(self, request: Request) -> Response:
        if error := request.query_params.get("error"):
            # Some providers send the error without the state, and it has no effect.
            raise SignInError(CANCELLED if error == "access_denied" else REPORTED, f"the provider said {error[:80]!r}")
        request.scope["session"] = self._read_session(request)
        next_path = clean_next_path(str(request.session.get("next", "")))
        account = await self._admit(await self._identify(request))
        try:
            return await self.begin_session(request.scope, person=account.name, role=account.role, next_path=next_path)
        except AccountChangedError as error:
            raise SignInError(say(error), "the account was changed meanwhile", HTTPStatus.CONFLICT) from None

    def _read_session(self, request: Request) -> dict[str, Any]:
        """Return the session given to the browser when it began the sign-in of this state, under authlib's name for it.

        It is checked here, so an unexpected answer takes no try, and asks neither the provider nor the database.
        """
        state = request.query_params.get("state", "")
        for value in list_cookie_values(request.headers, self._request_cookie):
            with suppress(ValueError, RecursionError):
                session = json.loads(unquote(value))
                if isinstance(session, dict) and any(key.endswith(f"_{state}") for key in session):
                    return session
        raise SignInError(OUTDATED, "the browser did not begin this sign-in")

    async def _identify(self, request: Request) -> Claims:
        """Return the provider's claims about a person. Refused codes are counted by their sender's address."""
        counters = [Counter(sign_in_limits.BY_ADDRESS, ("provider", read_client_address(request.scope, self._proxies)))]
        if await self._run_blocking(self._limits.take, counters):
            raise SignInError(SURPLUS, "too many from one address", HTTPStatus.TOO_MANY_REQUESTS)
        try:
            claims = await self.provider.identify(request)
        except UnreachableError:
            await self._run_blocking(self._limits.give_back, counters)
            raise
        await self._run_blocking(self._limits.give_back, counters)
        return claims

    async def _admit(self, claims: Claims) -> Account:
        """Return the account of a person. Their first sign-in creates it."""
        issuer, subject = self.provider.issuer, str(claims["sub"])
        role = self._roles.choose_role(read_groups(claims, self._groups_claims))
        if role is None:
            # The person had access before, and may have sessions and answers open.
            if person := await self._run_blocking(self._identities.end_sessions, issuer, subject):
                await self._stop_answers(person)
            raise SignInError(NO_GROUP, "somebody in no group")
        try:
            admit = self._identities.admit
            found: Admission = await self._run_blocking(admit, issuer, subject, read_person_name(claims), role)
        except ErasedPersonError as error:
            raise SignInError(say(error), "an erased person") from None
        if found.has_new_role and role == Role.READER:
            await self._stop_answers(found.account.name)
        if found.is_new or found.has_new_role:
            what = "person" if found.is_new else "role"
            _log.info("a new %s by the provider: %r is a %s", what, found.account.name, found.account.role)
        return found.account

    def _set_request_cookie(self, response: Response, value: str, seconds: int) -> None:
        """Set or remove the cookie of a sign-in. It is Lax, because the provider sends the browser back."""
        name, is_secure = self._request_cookie, self._is_secure
        response.set_cookie(name, value, seconds, path=build_address("/"), secure=is_secure, httponly=True, samesite="lax")

    async def _refuse(self, error: SignInError, *, came_back: Scope | None = None) -> Response:
        """Answer a failed sign-in. Of returning browsers, the audit log has the first failures."""
        if self._refusals.admit_line():
            _log.warning("a sign-in failed: %s", error)
            if came_back is not None:
                await self.record("sign-in-refused", came_back, "")
        return self.pages.build_notice(_("You are not signed in"), _(error.text), error.status)


def _report_refusals(suppressed: int) -> None:
    _log.warning("%d more sign-ins failed within %d seconds", suppressed, WINDOW_SECONDS)
