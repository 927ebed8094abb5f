"""The people of a server: the layer that lets each request act for its person, and per-person names in memory.

The guard has identified the person (see server.trusted_proxy, and server.session.session_authentication).
"""

from contextvars import ContextVar
from http import HTTPStatus
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from checkpoints import NOBODY, act_for, get_acting_owner
from words import _

# These are two of the roles in checkpoints.rows.account_rows.
ADMIN, READER = "admin", "reader"
# The header quotes a person's name, in a page's requests and in the answers that tell a page its person.
PERSON_HEADER = "waymark-person"
_acting_role: ContextVar[str | None] = ContextVar("acting_role", default=None)


def get_acting_role() -> str | None:
    """Return the role of the acting person; None if there are no roles."""
    return _acting_role.get()


class PersonLayer:
    """The ASGI layer that lets a request, and all its tasks, act for the request's person.

    A page names the person it was made for (`PERSON_HEADER`). If another person has signed in in the browser since, the
    request is refused.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope.get("state", {})
        role, person = state.get("role"), state.get("person", NOBODY)
        if person != NOBODY and _is_of_another_page(scope, person):
            text = _("Another person is signed in.")
            await PlainTextResponse(text, HTTPStatus.CONFLICT, {PERSON_HEADER: quote(person)})(scope, receive, send)
            return
        token = _acting_role.set(role)
        try:
            with act_for(person, only_reads=role == READER):
                await self._app(scope, receive, send)
        finally:
            _acting_role.reset(token)


def _is_of_another_page(scope: Scope, person: str) -> bool:
    """Return whether the request's page was made for another person. Other programs send no name."""
    return scope["type"] == "http" and Headers(scope=scope).get(PERSON_HEADER, quote(person)) != quote(person)


def name_for_owner(name: str) -> str:
    """Return a name for something in memory, unreachable for other owners."""
    return (
        # No owner has a NUL. A space would let "ann" and "smith x" collide with "ann smith" and "x".
        f"{get_acting_owner()}\0{name}"
    )


def read_owner(name: str) -> str:
    """Return the owner from a name made by `name_for_owner`."""
    return name.partition("\0")[0]
