"""The sign-in of people whose accounts and sessions are in the database: by a password, or by a provider."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from extensions.people.accounts import Accounts
from extensions.people.person_sessions import PersonSessions
from extensions.people.sign_in_limits import SignInLimits
from server.client_address import Network
from server.session.session_authentication import SessionAuthentication
from server.session.sessions import Session
from words import _


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInParts:
    """The parts for both sign-ins of people.

    `proxies` are the networks trusted to name a client's address. `stop_answers` stops the answers of a person who may no
    longer write.
    """

    sessions: PersonSessions
    accounts: Accounts
    limits: SignInLimits
    run_blocking: Callable[..., Awaitable[Any]]
    stop_answers: Callable[[str], Awaitable[None]]
    address: str
    script: str
    proxies: Sequence[Network] = ()


class PersonSignIn(SessionAuthentication):
    """The sign-in of people. Its pages are public: see `extensions.people.routes` and `extensions.people.oidc_routes`."""

    def __init__(self, parts: SignInParts) -> None:
        super().__init__(parts.sessions, address=parts.address, script=parts.script)
        self.accounts = parts.accounts
        self._run_blocking = parts.run_blocking
        self._proxies = parts.proxies
        self._limits = parts.limits
        self._close_sessions = parts.sessions.close

    async def enter(self, scope: Scope, headers: Headers, session: Session | None) -> Response | None:
        return None

    def explain_refusal(self) -> str:
        return _("Sign in first.")

    def close(self) -> None:
        self._close_sessions()
