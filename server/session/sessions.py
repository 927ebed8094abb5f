"""Sessions: which browsers are signed in, since when, and when each was last seen. Where they are kept: see `Sessions`.

Only hashes of the secrets are kept: neither a record nor a copy of it opens anything.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

MAX_SESSION_SECONDS = 30 * 24 * 3600
MAX_IDLE_SECONDS = 7 * 24 * 3600
MAX_SESSIONS = 100  # of one person
SAVE_SECONDS = 300.0  # a use that is not saved yet; less than a killed process may forget
BROWSERS = {"Firefox/": "Firefox", "Edg/": "Edge", "OPR/": "Opera", "Chrome/": "Chrome", "Safari/": "Safari"}
SYSTEMS = {"Android": "Android", "iPhone": "iOS", "iPad": "iOS", "Windows": "Windows", "Mac OS X": "macOS", "Linux": "Linux"}


class SessionsUnavailableError(Exception):
    """Whether a session is open cannot be told now. Nobody is signed out by it."""


class NotDurableError(Exception):
    """Sessions have ended, but a restart would bring them back."""


@dataclass(frozen=True)
class Session:
    """One signed-in browser. Times are seconds since 1970."""

    id: str
    cookie_hash: str
    page_key_hash: str
    browser: str
    signed_in_at: float
    seen_at: float
    person: str = ""  # empty where one person signs in, by a link
    role: str = ""

    def count_seconds_left(self, now: float) -> float:
        """Return the seconds until it ends; a moment in the future ends nothing: the clock was stepped back since."""
        return min(self.signed_in_at + MAX_SESSION_SECONDS, self.seen_at + MAX_IDLE_SECONDS) - now

    @property
    def short_name(self) -> str:
        """Return the name for the log. It opens nothing."""
        return self.id[:8]

    def is_page_key(self, value: str) -> bool:
        return secrets.compare_digest(hash_secret(value), self.page_key_hash)


@dataclass(frozen=True)
class NewSession:
    """A new session, and its secrets: one for the cookie, one for the page's own storage."""

    session: Session
    cookie: str
    page_key: str
    ended: Sequence[Session] = ()  # to make room for it

    @classmethod
    def create(cls, user_agent: str, now: float, person: str = "", role: str = "") -> NewSession:
        cookie, page_key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        hashes = hash_secret(cookie), hash_secret(page_key)
        session = Session(secrets.token_hex(8), *hashes, describe_browser(user_agent), now, now, person, role)
        return cls(session, cookie, page_key)


class Sessions(Protocol):
    """The open sessions, in a file of one process (session_file) or in a shared database (people.person_sessions)."""

    async def begin(self, user_agent: str, person: str = "", role: str = "", credential: str | None = None) -> NewSession:
        """Begin a session. `credential`: the proof that the person has just shown, as their account keeps it.

        It begins only if the account has this role, and this credential if one is given.
        """
        ...

    async def find(self, *cookies: str) -> Session | None:
        """Return the open session of one of the cookies: other servers of the host may have set some of the same name.

        Raises `SessionsUnavailableError`.
        """
        ...

    async def list_open(self, person: str = "") -> list[Session]:
        """List the open sessions of a person, the last seen first."""
        ...

    async def note_use(self, session: Session) -> None:
        """Note that a session is used now."""
        ...

    async def end(self, session_ids: Collection[str]) -> list[Session]:
        """End sessions, close their streams, and return them. Raises `NotDurableError`."""
        ...

    async def wait_for_end(self, session: Session) -> None:
        """Return when the session has ended, also for want of use."""
        ...


def describe_browser(user_agent: str) -> str:
    """Name the browser and the system of a User-Agent header: "Firefox on Linux"."""
    browser = next((name for mark, name in BROWSERS.items() if mark in user_agent), "A program")
    system = next((name for mark, name in SYSTEMS.items() if mark in user_agent), None)
    return f"{browser} on {system}" if system else browser


def hash_secret(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
