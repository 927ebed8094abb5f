"""The people of one server: the layer in which each request acts for its person, and names in memory for each of them.

The guard has recognized the person (see server.trusted_proxy).
"""

from starlette.types import ASGIApp, Receive, Scope, Send

from checkpoints import NOBODY, act_for, get_acting_owner


class PersonLayer:
    """The ASGI layer that lets a request, and all tasks that it starts, act for the person of the request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with act_for(scope.get("state", {}).get("person", NOBODY)):
            await self._app(scope, receive, send)


def name_for_owner(name: str) -> str:
    """Return the name of something in memory that no other owner finds under the same name."""
    return (
        f"{get_acting_owner()}\0{name}"  # no owner has a NUL; a space would let "ann" and "smith x" meet "ann smith" and "x"
    )
