"""The requests of admins about people: their list, links for new people, roles, and erasure. Others get a 404."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import Scope
from typing_extensions import TypedDict

from checkpoints import RunActiveError, act_for
from checkpoints.people.account_rows import Account, InvalidAccountError, Role
from checkpoints.people.accounts import MAX_INVITATION_DAYS
from checkpoints.upkeep.person_erasure import PersonErasure, erase_person, plan_person_erasure
from checkpoints.values.audit_entry import THE_COMMAND_LINE
from checkpoints.values.progress import Report
from checkpoints.values.sentence import sentence
from components.services import Services
from components.shapes import Count, parse_body
from components.transfers.long_requests import RequestCancelledError, get_progress_callback
from people.password_sign_in import PasswordSignIn, create_token
from people.running_answers import stop_answers
from server.session.sessions import Session
from words import _, ngettext, say

if TYPE_CHECKING:
    from people.oidc_sign_in import OidcSignIn

PEOPLE_PATH = "/api/people"
MAX_ERASURE_TRIES = 3
RoleName = Literal["admin", "member", "reader"]
_log = logging.getLogger("waymark.people")


class _Link(TypedDict):
    role: NotRequired[RoleName]
    days: NotRequired[Count]
    person: NotRequired[str]


class _Ended(TypedDict):
    id: str


class _Named(TypedDict):
    name: str


class _Roled(TypedDict):
    name: str
    role: RoleName


class _Erased(TypedDict):
    name: str
    confirmed: str


@dataclass(frozen=True)
class PeopleAdmin:
    """The sign-in of people, and the parts for an admin's requests."""

    authentication: "PasswordSignIn | OidcSignIn"
    services: Services

    @property
    def has_passwords(self) -> bool:
        """Return whether people have passwords and invitations. Otherwise a provider knows them and their roles."""
        return isinstance(self.authentication, PasswordSignIn)

    async def change_password(self, request: Scope, former: str, new: str) -> str:
        """Change the password of a request's person. Return the problem, or an empty text."""
        assert isinstance(self.authentication, PasswordSignIn)
        return await self.authentication.change_password(request, request["state"]["session"], former, new)

    async def describe(self, current: Session) -> dict[str, Any]:
        run, accounts = self.services.run_blocking, self.authentication.accounts
        return {
            "people": [await self._describe_account(each, current) for each in await run(accounts.list_accounts)],
            "links": [
                {
                    "id": each.id,
                    "role": each.role,
                    "person": each.person,
                    "made_by": _("the command line") if each.made_by == THE_COMMAND_LINE else each.made_by,
                    "expires_at": each.expires_at.isoformat(),
                }
                for each in (await run(accounts.list_invitations) if self.has_passwords else ())
            ],
            "max_days": MAX_INVITATION_DAYS,
            "has_passwords": self.has_passwords,
        }

    async def _describe_account(self, account: Account, current: Session) -> dict[str, Any]:
        browsers = len(await self.authentication.sessions.list_open(account.name))
        is_self = account.name == current.person
        return {"name": account.name, "role": account.role, "browsers": browsers, "is_self": is_self}

    async def make_link(self, current: Session, fields: _Link) -> str:
        """Make a link for a single use. Raises `InvalidAccountError`."""
        assert isinstance(self.authentication, PasswordSignIn)
        token, role = create_token(), Role(fields.get("role", Role.MEMBER))
        made = await self.services.run_blocking(
            self.authentication.accounts.invite,
            token,
            role,
            made_by=current.person,
            days=fields.get("days", 7),
            person=fields.get("person"),
        )
        _note(current, "made a link %s for %s", made.id, repr(made.person) if made.person else f"a new {made.role}")
        return self.authentication.build_link(token)

    async def end_link(self, current: Session, link_id: str) -> None:
        await self.services.run_blocking(self.authentication.accounts.revoke_invitation, link_id)
        _note(current, "ended the link %r", link_id)

    async def change_role(self, current: Session, name: str, role: Role) -> None:
        """Change a role, end the person's sessions, and stop the answers of a new reader. Raises `InvalidAccountError`."""
        person = await self.services.run_blocking(self.authentication.accounts.change_role, name, role)
        if role == Role.READER:
            await stop_answers(self.services, person)
        _note(current, "made %r a %s", name, role)

    async def erase(self, current: Session, name: str) -> PersonErasure:
        """Stop a person's answers, and erase everything of theirs. Raises `InvalidAccountError`."""
        report = get_progress_callback()
        await self.services.run_blocking(self.authentication.accounts.check_erasable, name)
        await self.authentication.sessions.end([each.id for each in await self.authentication.sessions.list_open(name)])
        erased = await self._stop_and_erase(name, report, MAX_ERASURE_TRIES)
        _note(current, "erased %r", name)
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


_Answer = Callable[[Session, Any], Awaitable[dict[str, Any]]]


def add_routes(server: FastAPI, people: PeopleAdmin) -> None:
    for_admins = partial(_serve_admins, server, people)

    async def describe(_session: Session, _fields: Any) -> dict[str, Any]:
        return {}

    async def make_link(session: Session, fields: _Link) -> dict[str, Any]:
        return {"link": await people.make_link(session, fields)}

    async def end_link(session: Session, fields: _Ended) -> dict[str, Any]:
        await people.end_link(session, fields["id"])
        return {}

    async def change_role(session: Session, fields: _Roled) -> dict[str, Any]:
        await people.change_role(session, fields["name"], Role(fields["role"]))
        return {}

    async def count(_session: Session, fields: _Named) -> dict[str, Any]:
        plan = await people.services.run_blocking(
            plan_person_erasure, people.services.store.database, fields["name"], get_progress_callback()
        )
        return {"things": describe_things(plan)}

    async def erase(session: Session, fields: _Erased) -> dict[str, Any]:
        if fields["confirmed"] != fields["name"]:
            raise InvalidAccountError(sentence("Write the person's name to confirm."))
        return {"erased": describe_things(await people.erase(session, fields["name"]))}

    if people.has_passwords:
        for_admins(f"{PEOPLE_PATH}/links", make_link, _Link)
        for_admins(f"{PEOPLE_PATH}/links/end", end_link, _Ended)
        for_admins(f"{PEOPLE_PATH}/role", change_role, _Roled)
    for_admins(PEOPLE_PATH, describe, dict)
    for_admins(f"{PEOPLE_PATH}/count", count, _Named)
    for_admins(f"{PEOPLE_PATH}/erase", erase, _Erased)


def _serve_admins(server: FastAPI, people: PeopleAdmin, path: str, answer: _Answer, shape: Any) -> None:
    """Answer admins' requests to a path with the result of `answer` for their fields, and the current list of people."""

    async def answer_request(request: Request) -> Response:
        session: Session = request.state.session
        if session.role != Role.ADMIN:
            return PlainTextResponse(HTTPStatus.NOT_FOUND.phrase + "\n", HTTPStatus.NOT_FOUND)
        fields = parse_body(shape, await request.body())
        try:
            more = await answer(session, fields)
        except (InvalidAccountError, RunActiveError, RequestCancelledError) as error:
            return JSONResponse({"problem": say(error)})
        return JSONResponse({"problem": None, **await people.describe(session), **more})

    server.post(path)(answer_request)


def describe_things(found: PersonErasure) -> list[str]:
    """Describe the things of a person, counted: "3 conversations", "12 messages"."""
    threads = found.threads
    parts = [
        (len(threads.threads), ngettext("{count} conversation", "{count} conversations", len(threads.threads))),
        (threads.messages, ngettext("{count:,} message", "{count:,} messages", threads.messages)),
        (threads.checkpoints, ngettext("{count:,} checkpoint", "{count:,} checkpoints", threads.checkpoints)),
        (threads.files, ngettext("{count:,} attached file", "{count:,} attached files", threads.files)),
        (found.tags, ngettext("{count} tag", "{count} tags", found.tags)),
        (found.prompts, ngettext("{count} saved prompt", "{count} saved prompts", found.prompts)),
    ]
    return [text for number, text in parts if number] or [_("nothing yet")]


def _note(current: Session, text: str, *values: object) -> None:
    _log.info("%s (session %s) " + text, repr(current.person), current.short_name, *values)
