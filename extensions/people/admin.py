"""The people of a server as its admins see and change them: a list, links for new people, roles, and erasure."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.types import Scope

from checkpoints import RunActiveError, act_for
from checkpoints.rows.account_rows import Account, Role
from checkpoints.upkeep.person_erasure import PersonErasure, erase_person, plan_person_erasure
from checkpoints.values.progress import Report
from components.services import Services
from components.transfers.long_requests import get_progress_callback
from extensions.people.accounts import Invitation
from extensions.people.password_sign_in import PasswordSignIn, create_token
from extensions.people.running_answers import stop_answers
from server.session.sessions import Session

if TYPE_CHECKING:
    from extensions.people.oidc_sign_in import OidcSignIn

MAX_ERASURE_TRIES = 3
_log = logging.getLogger("waymark.people")


@dataclass(frozen=True)
class PeopleAdmin:
    """The sign-in of people, and what the page asks of it: see `extensions.people.people_dialog`."""

    authentication: "PasswordSignIn | OidcSignIn"
    services: Services

    @property
    def has_passwords(self) -> bool:
        """Return whether people have passwords and invitations. Otherwise a provider knows them and their roles."""
        return isinstance(self.authentication, PasswordSignIn)

    async def change_password(self, request: Scope, former: str, new: str) -> str:
        """Change the password of a request's person. Return the problem, or an empty text."""
        assert isinstance(self.authentication, PasswordSignIn)
        return await self.authentication.change_password(request, _get_session(request), former, new)

    async def list_people(self) -> list[tuple[Account, int]]:
        """Return the accounts, each with the number of browsers where it is signed in."""
        accounts = await self.services.run_blocking(self.authentication.accounts.list_accounts)
        sessions = self.authentication.sessions
        return [(each, len(await sessions.list_open(each.name))) for each in accounts]

    async def list_links(self) -> Sequence[Invitation]:
        return await self.services.run_blocking(self.authentication.accounts.list_invitations)

    async def make_link(self, request: Scope, role: Role, days: int, person: str | None = None) -> str:
        """Make a link for a single use. Raises `InvalidAccountError`."""
        assert isinstance(self.authentication, PasswordSignIn)
        token, maker = create_token(), _get_session(request)
        invite = self.authentication.accounts.invite
        made = await self.services.run_blocking(invite, token, role, made_by=maker.person, days=days, person=person)
        _note(maker, "made a link %s for %s", made.id, repr(made.person) if made.person else f"a new {made.role}")
        return self.authentication.build_link(token)

    async def end_link(self, request: Scope, link_id: str) -> None:
        await self.services.run_blocking(self.authentication.accounts.revoke_invitation, link_id)
        _note(_get_session(request), "ended the link %r", link_id)

    async def change_role(self, request: Scope, name: str, role: Role) -> None:
        """Change a role, end the person's sessions, and stop the answers of a new reader. Raises `InvalidAccountError`."""
        person = await self.services.run_blocking(self.authentication.accounts.change_role, name, role)
        if role == Role.READER:
            await stop_answers(self.services, person)
        _note(_get_session(request), "made %r a %s", name, role)

    async def count_things(self, name: str) -> PersonErasure:
        """Count what `erase` would erase. Raises `InvalidAccountError`."""
        report = get_progress_callback()
        return await self.services.run_blocking(plan_person_erasure, self.services.store.database, name, report)

    async def erase(self, request: Scope, name: str) -> PersonErasure:
        """Stop a person's answers, and erase everything of theirs. Raises `InvalidAccountError`."""
        report = get_progress_callback()
        await self.services.run_blocking(self.authentication.accounts.check_erasable, name)
        await self.authentication.sessions.end([each.id for each in await self.authentication.sessions.list_open(name)])
        erased = await self._stop_and_erase(name, report, MAX_ERASURE_TRIES)
        _note(_get_session(request), "erased %r", name)
        return erased

    async def _stop_and_erase(self, name: str, report: Report, tries: int) -> PersonErasure:
        """Stop a person's answers and erase the person. Try again if a request on its way began an answer meanwhile."""
        with act_for(name):
            for thread_id in await self.services.run_blocking(self._list_running, name):
                await self.services.runner.stop(thread_id)
        try:
            return await self.services.run_blocking(erase_person, self.services.store.database, name, report)
        except RunActiveError:
            if tries == 1:
                raise
            return await self._stop_and_erase(name, report, tries - 1)

    def _list_running(self, name: str) -> list[str]:
        """Return the conversations with a running answer that are a person's, or where the person asked."""
        store, runs = self.services.store, self.services.runs
        found = [(each, runs.get_latest_run(each)) for each in runs.list_running_threads()]
        return [each for each, run in found if store.get_thread(each).owner == name or (run and run.person == name)]


def _get_session(request: Scope) -> Session:
    session: Session = request["state"]["session"]
    return session


def _note(current: Session, text: str, *values: object) -> None:
    _log.info("%s (session %s) " + text, repr(current.person), current.short_name, *values)
