"""The log of sign-ins and sign-outs, without secrets. Its lines are limited, like those of refused requests."""

import logging

from starlette.types import Scope

from server.bounded_log import WINDOW_SECONDS, LineLimiter, Schedule, read_client, schedule_on_loop
from server.session.sessions import Session

_log = logging.getLogger("waymark.sessions")


class SessionLog:
    def __init__(self, schedule: Schedule = schedule_on_loop) -> None:
        self._limiter = LineLimiter(_report_changes, schedule)

    def note_sign_in(self, scope: Scope, session: Session) -> None:
        self._write("signed in: session %s from %s", session, read_client(scope))

    def note_sign_out(self, scope: Scope, session: Session, current: Session | None) -> None:
        """Log the end of a session by a request of its own page, or of another session's page."""
        is_own = current is not None and current.id == session.id
        by = f"by session {current.short_name}, " if current and not is_own else ""
        self._write("signed out: session %s %sfrom %s", session, by, read_client(scope))

    def note_replacement(self, session: Session) -> None:
        """Log the end of a session by a sign-in: in the same browser, or beyond the limit of sessions."""
        self._write("signed out: session %s by a later sign-in", session)

    def _write(self, text: str, session: Session, *values: str) -> None:
        if self._limiter.admit_line():
            person = f"{session.person!r}, " if session.person else ""
            _log.info(text, f"{session.short_name} ({person}{session.browser})", *values)


def _report_changes(suppressed: int) -> None:
    _log.info("%d more sign-ins and sign-outs within %d seconds", suppressed, WINDOW_SECONDS)
