"""The requests of the sign-in at a provider, all public: its page, the way there and the way back.

`oidc_sign_in` checks the callback, and `provider` checks the token.
"""

from urllib.parse import urlsplit

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from extensions.people.admin import PeopleAdmin
from extensions.people.forms import clean_next_path, read_form
from extensions.people.oidc_sign_in import CALLBACK_PATH, OidcSignIn
from server.addresses import read_path
from server.session.session_authentication import SIGN_IN_PATH

# A person opens this page by signing out.
SIGNED_OUT = "signed-out"
PUBLIC_PATHS = frozenset({SIGN_IN_PATH, CALLBACK_PATH})


def add_routes(server: FastAPI, people: PeopleAdmin) -> None:
    authentication = people.authentication
    assert isinstance(authentication, OidcSignIn)

    @server.get(SIGN_IN_PATH)
    async def show_sign_in(request: Request) -> Response:
        is_own = request.headers.get("sec-fetch-site", "same-origin") == "same-origin"
        if SIGNED_OUT in request.query_params and is_own:
            return await authentication.leave_provider()
        # It is the page whose session has ended.
        came_from = read_path(urlsplit(request.headers.get("referer", "")).path) or "/"
        return authentication.pages.build_button(next_path=clean_next_path(came_from))

    @server.post(SIGN_IN_PATH)
    async def begin(request: Request) -> Response:
        return await authentication.begin(request, (await read_form(request)).get("next", ""))

    @server.get(CALLBACK_PATH)
    async def finish(request: Request) -> Response:
        return await authentication.finish(request)
