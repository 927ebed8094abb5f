"""The sign-in with a name and a password, or by an invitation.

An unknown name costs the same check as a wrong password, and gets the same answer.
"""

import hashlib
import hmac
import logging
import secrets
from functools import partial
from http import HTTPStatus
from math import ceil

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from checkpoints import StoreUnavailableError
from checkpoints.rows.account_rows import Account, InvalidAccountError, Role, clean_person_name
from checkpoints.values.names import fold_person_name
from extensions.people import sign_in_limits
from extensions.people.accounts import THE_SERVER
from extensions.people.forms import clean_next_path, read_next_path
from extensions.people.pages import JOIN_PATH, Pages
from extensions.people.passwords import Passwords, TooBusyError, check_password
from extensions.people.person_sign_in import PersonSignIn, SignInParts
from extensions.people.sign_in_limits import Counter
from extensions.people.stored_sessions import AccountChangedError
from server.bounded_log import WINDOW_SECONDS, LineLimiter, schedule_on_loop
from server.client_address import read_client_address
from server.session.session_authentication import list_cookie_values
from server.session.sessions import Session
from words import N_, _, ngettext, say

FIRST_LINK_DAYS = 1
KNOWN_BROWSER_SECONDS = 365 * 24 * 3600
_WRONG = N_("The name or the password is wrong.")
_BUSY = N_("Many people are signing in right now. Try again in a moment.")
_log = logging.getLogger("waymark.people")


class PasswordSignIn(PersonSignIn):
    """The sign-in of people who have passwords."""

    def __init__(self, parts: SignInParts, passwords: Passwords, pages: Pages) -> None:
        super().__init__(parts)
        self.passwords = passwords
        self.pages = pages
        self._known_cookie = self.cookie_name.replace("_", "_known_", 1)
        self._wrong_tries = LineLimiter(_report_wrong_tries, schedule_on_loop)

    def create_link(self) -> str:
        """Return the page's address, or a link for the first admin as long as there is no admin."""
        if self.accounts.has_admin():
            return f"{self.address}/"
        token = create_token()
        self.accounts.invite(token, Role.ADMIN, made_by=THE_SERVER, days=FIRST_LINK_DAYS, replaces=True)
        return self.build_link(token)

    def close(self) -> None:
        self.passwords.close()
        super().close()

    def build_link(self, token: str) -> str:
        return f"{self.address}{JOIN_PATH}?token={token}"

    def build_way_in(self, scope: Scope, status: HTTPStatus) -> Response:
        return self.pages.build_sign_in(next_path=read_next_path(scope), status=status)

    async def sign_in(self, scope: Scope, fields: dict[str, str]) -> Response:
        name, password = fields.get("name", ""), fields.get("password", "")
        next_path = clean_next_path(fields.get("next", ""))
        account = await self._run_blocking(self.accounts.find_account, name)
        counters = self._list_counters(scope, name, account)

        def show(problem: str, status: HTTPStatus) -> Response:
            return self.pages.build_sign_in(next_path=next_path, problem=problem, name=name, status=status)

        if wait := await self._run_blocking(self._limits.take, counters):
            return _ask_to_wait(show(describe_wait(wait), HTTPStatus.TOO_MANY_REQUESTS), wait)
        try:
            fits = await self.passwords.verify(account.password_hash if account else None, password)
            if account is None or not fits:
                await self._note_wrong_try(scope, account)
                return show(_(_WRONG), HTTPStatus.UNAUTHORIZED)
            await self._run_blocking(self._limits.give_back, counters)
            return await self._admit(scope, await self._renew_hash(account, password), next_path)
        except TooBusyError:
            await self._run_blocking(self._limits.give_back, counters)
            return _ask_to_wait(show(_(_BUSY), HTTPStatus.SERVICE_UNAVAILABLE), 1)
        except AccountChangedError as error:
            return show(say(error), HTTPStatus.CONFLICT)

    def show_outage(self, fields: dict[str, str], error: StoreUnavailableError) -> Response:
        """Answer the sign-in form while the database does not answer. It keeps the typed fields, except for the password."""
        next_path, name = clean_next_path(fields.get("next", "")), fields.get("name", "")
        status = HTTPStatus.SERVICE_UNAVAILABLE
        return _ask_to_wait(self.pages.build_sign_in(next_path=next_path, problem=say(error), name=name, status=status), 1)

    async def join(self, scope: Scope, token: str, name: str, password: str) -> Response:
        """Answer the form of an invitation. Raises `InvalidInvitationError`."""
        invitation = await self._run_blocking(self.accounts.find_invitation, token)
        try:
            name = invitation.person or clean_person_name(name)
            check_password(password, name)
            hashed = await self.passwords.hash(password)
            account = await self._run_blocking(self.accounts.accept_invitation, token, name, hashed)
        except InvalidAccountError as error:
            return self._show_invitation(token, invitation.person, name, say(error), HTTPStatus.BAD_REQUEST)
        except TooBusyError:
            return self._show_invitation(token, invitation.person, name, _(_BUSY), HTTPStatus.SERVICE_UNAVAILABLE)
        _log.info("%s by a link: %r", "a new password" if invitation.person else f"a new {account.role}", account.name)
        return await self._admit(scope, account, "/")

    async def change_password(self, scope: Scope, session: Session, former: str, new: str) -> str:
        """Change the password of a session's person, and end their other sessions. Return the problem, or an empty text."""
        account = await self._run_blocking(self.accounts.find_account, session.person)
        counters = [Counter(sign_in_limits.BY_KNOWN_BROWSER, ("change", session.person))]
        if wait := await self._run_blocking(self._limits.take, counters):
            return describe_wait(wait)
        try:
            if account is None or not await self.passwords.verify(account.password_hash, former):
                await self._note_wrong_try(scope, account)
                return _("The present password is wrong.")
            await self._run_blocking(self._limits.give_back, counters)
            check_password(new, account.name)
            hashed, former_hash = await self.passwords.hash(new), account.password_hash
        except TooBusyError:
            await self._run_blocking(self._limits.give_back, counters)
            return _(_BUSY)
        except InvalidAccountError as error:
            return say(error)
        change = partial(self.accounts.change_password, account.name, former_hash, hashed, session_id=session.id)
        if not await self._run_blocking(change):
            return _("The password was changed elsewhere in the meantime.")
        _log.info("a new password, by session %s: %r", session.short_name, account.name)
        return ""

    def _show_invitation(self, token: str, person: str | None, name: str, problem: str, status: HTTPStatus) -> Response:
        return self.pages.build_invitation(token, person, problem=problem, name=name, status=status)

    async def _renew_hash(self, account: Account, password: str) -> Account:
        """Hash the password again if the parameters are stronger now, and there is time."""
        if not self.passwords.is_outdated(account.password_hash):
            return account
        try:
            hashed = await self.passwords.hash(password)
        except TooBusyError:
            return account
        renewed: Account = await self._run_blocking(self.accounts.renew_hash, account, hashed)
        return renewed

    async def _admit(self, scope: Scope, account: Account, next_path: str) -> Response:
        given = {"person": account.name, "role": account.role, "credential": account.password_hash}
        response = await self.begin_session(scope, **given, next_path=next_path)
        nonce = secrets.token_urlsafe(16)
        value = f"{nonce}.{_sign_browser(account, nonce)}"
        self.set_cookie(response, scope, self._known_cookie, value, KNOWN_BROWSER_SECONDS)
        return response

    def _list_counters(self, scope: Scope, name: str, account: Account | None) -> list[Counter]:
        """Return the counters of a try. A browser used by its person before has its own counter."""
        if account and (nonce := self._find_known_browser(scope, account)):
            return [Counter(sign_in_limits.BY_KNOWN_BROWSER, ("browser", account.name, nonce))]
        address, folded = read_client_address(scope, self._proxies), fold_person_name(name)
        return [
            Counter(sign_in_limits.BY_NAME_AND_ADDRESS, ("both", folded, address)),
            Counter(sign_in_limits.BY_ADDRESS, ("address", address)),
            Counter(sign_in_limits.BY_NAME, ("name", folded)),
        ]

    def _find_known_browser(self, scope: Scope, account: Account) -> str | None:
        for value in list_cookie_values(Headers(scope=scope), self._known_cookie):
            nonce, _dot, signature = value.partition(".")
            if hmac.compare_digest(signature.encode("latin-1", "replace"), _sign_browser(account, nonce).encode()):
                return nonce
        return None

    async def _note_wrong_try(self, scope: Scope, account: Account | None) -> None:
        """Note a wrong password without the typed name: some people type their password there."""
        if self._wrong_tries.admit_line():
            _log.warning("a wrong password from %s", read_client_address(scope, self._proxies))
            await self.record("sign-in-refused", scope, account.name if account else "")


def create_token() -> str:
    return secrets.token_urlsafe(32)


def describe_wait(seconds: float) -> str:
    minutes = max(1, ceil(seconds / 60))
    return ngettext(
        "Too many wrong passwords. Try again in {count} minute.",
        "Too many wrong passwords. Try again in {count} minutes.",
        minutes,
    )


def _ask_to_wait(response: Response, seconds: float) -> Response:
    response.headers["Retry-After"] = str(int(seconds) + 1)
    return response


def _sign_browser(account: Account, nonce: str) -> str:
    """Sign a browser's knowledge of an account's password. A new password invalidates these signatures."""
    return hmac.new(account.password_hash.encode(), nonce.encode("latin-1", "replace"), hashlib.sha256).hexdigest()


def _report_wrong_tries(suppressed: int) -> None:
    _log.warning("%d more wrong passwords within %d seconds", suppressed, WINDOW_SECONDS)
