"""The page's requests about sessions: their list, and their end. A socket tells a page when its own session ends."""

from collections import Counter
from contextlib import suppress
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from server.session.session_authentication import SessionAuthentication
from server.session.sessions import NotDurableError, Session
from words import _

SESSIONS_PATH = "/api/sessions"
# This many pages of one person may wait for the end of their session. The server bounds all connections.
MAX_WATCHING_PAGES = 200
CLOSE_TRY_AGAIN = 1013


def add_routes(server: FastAPI, sign_in: SessionAuthentication | None) -> None:
    """Serve the list of sessions, and their ends. Without a sign-in the list is empty."""
    watching = Counter[str]()

    @server.websocket(f"{SESSIONS_PATH}/end")
    async def watch_session(socket: WebSocket) -> None:
        """Send nothing until the session ends. Then the guard closes the socket."""
        await socket.accept()
        person: str = getattr(socket.state, "person", "")
        if watching[person] >= MAX_WATCHING_PAGES:
            await socket.close(CLOSE_TRY_AGAIN)
            return
        watching[person] += 1
        try:
            with suppress(WebSocketDisconnect):
                while True:
                    await socket.receive_text()
        finally:
            watching[person] -= 1

    @server.get(SESSIONS_PATH)
    async def list_sessions(request: Request) -> Response:
        return JSONResponse({"sessions": await _describe_sessions(sign_in, request)})

    @server.post(f"{SESSIONS_PATH}/end-others")
    async def end_others(request: Request) -> Response:
        current = _find_current(request)
        ids = [session.id for session in await _list_own(sign_in, request)]
        return await _end_sessions(sign_in, request, [each for each in ids if current and each != current.id])

    @server.post(f"{SESSIONS_PATH}/{{session_id}}/end")
    async def end_session(request: Request, session_id: str) -> Response:
        current = _find_current(request)
        is_own = session_id == "current" and current is not None
        return await _end_sessions(sign_in, request, [current.id if is_own and current else session_id])


async def _end_sessions(sign_in: SessionAuthentication | None, request: Request, session_ids: list[str]) -> Response:
    if sign_in is None:
        return PlainTextResponse(_("Nobody signs in here.\n"), 404)
    current = _find_current(request)
    own = {session.id for session in await _list_own(sign_in, request)}
    try:
        ended = await sign_in.sessions.end(own.intersection(session_ids))
    except NotDurableError:
        text = _("The sessions have ended, but this could not be saved: a restart would bring them back.")
        return PlainTextResponse(text, 507)
    for each in ended:
        sign_in.log.note_sign_out(request.scope, each, current)
    response = JSONResponse({"sessions": await _describe_sessions(sign_in, request)})
    if current and current.id in session_ids:
        sign_in.remove_cookie(response)
    return response


def _find_current(request: Request) -> Session | None:
    return getattr(request.state, "session", None)


async def _list_own(sign_in: SessionAuthentication | None, request: Request) -> list[Session]:
    current = _find_current(request)
    return await sign_in.sessions.list_open(current.person if current else "") if sign_in else []


async def _describe_sessions(sign_in: SessionAuthentication | None, request: Request) -> list[dict[str, Any]]:
    current = _find_current(request)
    return [
        {
            "id": session.id,
            "browser": session.browser,
            "signed_in_at": session.signed_in_at,
            "seen_at": session.seen_at,
            "is_current": current is not None and session.id == current.id,
        }
        for session in await _list_own(sign_in, request)
    ]
