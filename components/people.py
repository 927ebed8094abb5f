"""The people of one server: the layer in which each request acts for its person, and names in memory for each of them.

The guard has recognized the person (see server.trusted_proxy, and server.session.session_authentication).
"""

from contextvars import ContextVar

from starlette.types import ASGIApp, Receive, Scope, Send

from checkpoints import NOBODY, act_for, get_acting_owner

ADMIN, READER = "admin", "reader"  # of the roles: see checkpoints.people.account_rows
_acting_role: ContextVar[str | None] = ContextVar("acting_role", default=None)


def get_acting_role() -> str | None:
    """Return the role of the person who acts; None where nobody has one."""
    return _acting_role.get()


class PersonLayer:
    """The ASGI layer that lets a request, and all tasks that it starts, act for the person of the request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope.get("state", {})
        role = state.get("role")
        token = _acting_role.set(role)
        try:
            with act_for(state.get("person", NOBODY), only_reads=role == READER):
                await self._app(scope, receive, send)
        finally:
            _acting_role.reset(token)


def name_for_owner(name: str) -> str:
    """Return the name of something in memory that no other owner finds under the same name."""
    return (
        f"{get_acting_owner()}\0{name}"  # no owner has a NUL; a space would let "ann" and "smith x" meet "ann smith" and "x"
    )


def read_owner(name: str) -> str:
    """Return the owner in a name of `name_for_owner`."""
    return name.partition("\0")[0]
