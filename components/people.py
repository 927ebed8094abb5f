"""The people of one server: the layer in which each request acts for its person, and names in memory for each of them.

The guard has recognized the person (see server.trusted_proxy, and server.session.session_authentication).
"""

from contextvars import ContextVar
from http import HTTPStatus
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from checkpoints import NOBODY, act_for, get_acting_owner
from words import _

ADMIN, READER = "admin", "reader"  # of the roles: see checkpoints.people.account_rows
PERSON_HEADER = "waymark-person"  # quoted; of a page's requests, and of the answers that tell a page
_acting_role: ContextVar[str | None] = ContextVar("acting_role", default=None)


def get_acting_role() -> str | None:
    """Return the role of the person who acts; None where nobody has one."""
    return _acting_role.get()


class PersonLayer:
    """The ASGI layer that lets a request, and all tasks that it starts, act for the person of the request.

    A page names the person whom it was made for (`PERSON_HEADER`). It does nothing for another one, who has signed in in its
    browser since.
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
    """Return whether a request is of a page that was made for another person. Those of other programs name nobody."""
    return scope["type"] == "http" and Headers(scope=scope).get(PERSON_HEADER, quote(person)) != quote(person)


def name_for_owner(name: str) -> str:
    """Return the name of something in memory that no other owner finds under the same name."""
    return (
        f"{get_acting_owner()}\0{name}"  # no owner has a NUL; a space would let "ann" and "smith x" meet "ann smith" and "x"
    )


def read_owner(name: str) -> str:
    """Return the owner in a name of `name_for_owner`."""
    return name.partition("\0")[0]
