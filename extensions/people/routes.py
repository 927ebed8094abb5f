"""The requests of the sign-in: its public pages and forms."""

from http import HTTPStatus
from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from checkpoints import StoreUnavailableError
from extensions.people.accounts import InvalidInvitationError
from extensions.people.admin import PeopleAdmin
from extensions.people.forms import clean_next_path, read_form
from extensions.people.pages import JOIN_PATH
from extensions.people.password_sign_in import PasswordSignIn
from server.addresses import read_path
from server.session.link_sign_in import read_token
from server.session.session_authentication import SIGN_IN_PATH
from words import _, say

PUBLIC_PATHS = frozenset({SIGN_IN_PATH, JOIN_PATH})


def add_routes(server: FastAPI, people: PeopleAdmin) -> None:
    authentication = people.authentication
    assert isinstance(authentication, PasswordSignIn)

    @server.get(SIGN_IN_PATH)
    async def show_sign_in(request: Request) -> Response:
        # It is the page whose session has ended.
        came_from = read_path(urlsplit(request.headers.get("referer", "")).path) or "/"
        return authentication.pages.build_sign_in(next_path=clean_next_path(came_from))

    @server.post(SIGN_IN_PATH)
    async def sign_in(request: Request) -> Response:
        fields = await read_form(request)
        try:
            return await authentication.sign_in(request.scope, fields)
        except StoreUnavailableError as error:
            return authentication.show_outage(fields, error)

    @server.get(JOIN_PATH)
    async def show_invitation(request: Request) -> Response:
        token = read_token(request.scope) or ""
        try:
            invitation = await people.services.run_blocking(authentication.accounts.find_invitation, token)
        except InvalidInvitationError as error:
            return _refuse_link(authentication, error)
        return authentication.pages.build_invitation(token, invitation.person)

    @server.post(JOIN_PATH)
    async def join(request: Request) -> Response:
        fields = await read_form(request)
        token, name, password = (fields.get(each, "") for each in ("token", "name", "password"))
        try:
            return await authentication.join(request.scope, token, name, password)
        except InvalidInvitationError as error:
            # The form may have been sent before without an answer. Then its link is used up, and its password fits.
            entered = await authentication.sign_in(request.scope, {"name": name, "password": password})
            return entered if entered.status_code == HTTPStatus.OK else _refuse_link(authentication, error)


def _refuse_link(authentication: PasswordSignIn, error: InvalidInvitationError) -> Response:
    return authentication.pages.build_notice(_("This link no longer works"), say(error), HTTPStatus.GONE)
