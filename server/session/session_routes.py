"""The sessions of a person, for their dialog, and the requests of a page about its own session.

The sockets of a page tell it when its session ends: the guard closes them.
"""

from collections.abc import Collection
from http import HTTPStatus

from fastapi import FastAPI, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope

from server.session.session_authentication import SessionAuthentication
from server.session.sessions import NotDurableError, Session
from words import _

SESSIONS_PATH = "/api/sessions"


class OwnSessions:
    """The sessions of a request's person."""

    def __init__(self, sign_in: SessionAuthentication) -> None:
        self._sign_in = sign_in

    def find_current(self, request: Scope) -> Session | None:
        session: Session | None = request.get("state", {}).get("session")
        return session

    async def list_open(self, request: Scope) -> list[Session]:
        current = self.find_current(request)
        return await self._sign_in.sessions.list_open(current.person) if current else []

    async def end(self, request: Scope, session_ids: Collection[str]) -> str:
        """End those that are the person's own. Return a problem, or an empty text."""
        own = {session.id for session in await self.list_open(request)}
        try:
            ended = await self._sign_in.sessions.end(own.intersection(session_ids))
        except NotDurableError:
            return _("The sessions have ended, but this could not be saved: a restart would bring them back.")
        for each in ended:
            self._sign_in.log.note_sign_out(request, each, self.find_current(request))
        return ""


def add_routes(server: FastAPI, sign_in: SessionAuthentication | None) -> None:
    @server.get(SESSIONS_PATH)
    async def check_session() -> Response:
        """Answer only while the page's session is open: the guard refuses all other requests."""
        return Response(status_code=HTTPStatus.NO_CONTENT)

    @server.post(f"{SESSIONS_PATH}/current/end")
    async def sign_out(request: Request) -> Response:
        sessions = OwnSessions(sign_in) if sign_in else None
        current = sessions.find_current(request.scope) if sessions else None
        if sign_in is None or sessions is None or current is None:
            return PlainTextResponse(_("Nobody signs in here.\n"), HTTPStatus.NOT_FOUND)
        if problem := await sessions.end(request.scope, [current.id]):
            return PlainTextResponse(problem, HTTPStatus.INSUFFICIENT_STORAGE)
        response = Response(status_code=HTTPStatus.NO_CONTENT)
        sign_in.remove_cookie(response)
        return response
