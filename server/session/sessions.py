"""Sessions: the signed-in browsers, with the times of their sign-in and last use. `Sessions` says where they are kept.

Only hashes of the secrets are stored, so neither a record nor a copy of it opens anything.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

MAX_SESSION_SECONDS = 30 * 24 * 3600
MAX_IDLE_SECONDS = 7 * 24 * 3600
# One person may have this many sessions.
MAX_SESSIONS = 100
# A use is saved only after this time. A killed process may forget uses for this long.
SAVE_SECONDS = 300.0
BROWSERS = {"Firefox/": "Firefox", "Edg/": "Edge", "OPR/": "Opera", "Chrome/": "Chrome", "Safari/": "Safari"}
SYSTEMS = {"Android": "Android", "iPhone": "iOS", "iPad": "iOS", "Windows": "Windows", "Mac OS X": "macOS", "Linux": "Linux"}


class SessionsUnavailableError(Exception):
    """It is not known now whether a session is open. Nobody is signed out by this error."""


class NotDurableError(Exception):
    """Sessions have ended, but a restart would bring them back."""


@dataclass(frozen=True)
class Session:
    """A signed-in browser. Times are seconds since 1970."""

    id: str
    cookie_hash: str
    page_key_hash: str
    browser: str
    signed_in_at: float
    seen_at: float
    # The person is empty where one person signs in, by a link.
    person: str = ""
    role: str = ""

    def count_seconds_left(self, now: float) -> float:
        """Return the seconds until it ends. Times in the future end nothing: the clock was set back since."""
        return min(self.signed_in_at + MAX_SESSION_SECONDS, self.seen_at + MAX_IDLE_SECONDS) - now

    @property
    def short_name(self) -> str:
        """The name for the log. It opens nothing."""
        return self.id[:8]

    def is_page_key(self, value: str) -> bool:
        return secrets.compare_digest(hash_secret(value), self.page_key_hash)


@dataclass(frozen=True)
class NewSession:
    """A new session, and its secrets: the first for the cookie, the second for the page's own storage."""

    session: Session
    cookie: str
    page_key: str
    # These sessions were ended to make room for the new session.
    ended: Sequence[Session] = ()

    @classmethod
    def create(cls, user_agent: str, now: float, person: str = "", role: str = "") -> NewSession:
        cookie, page_key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        hashes = hash_secret(cookie), hash_secret(page_key)
        session = Session(secrets.token_hex(8), *hashes, describe_browser(user_agent), now, now, person, role)
        return cls(session, cookie, page_key)


class Sessions(Protocol):
    """The open sessions, in a file of a single process (session_file) or in a shared database (people.person_sessions)."""

    async def begin(self, user_agent: str, person: str = "", role: str = "", credential: str | None = None) -> NewSession:
        """Begin a session. `credential` is the proof just shown by the person, as stored in their account.

        It begins only if the account has this role, and this credential if it is given.
        """
        ...

    async def find(self, *cookies: str) -> Session | None:
        """Return the open session for any of the cookies: other servers of the host may have set cookies of the same name.

        Raises `SessionsUnavailableError`.
        """
        ...

    async def list_open(self, person: str = "") -> list[Session]:
        """List the open sessions of a person, the last used first."""
        ...

    async def note_use(self, session: Session) -> None:
        """Note the use of a session."""
        ...

    async def end(self, session_ids: Collection[str]) -> list[Session]:
        """End sessions, close their streams, and return them. Raises `NotDurableError`."""
        ...

    async def wait_for_end(self, session: Session) -> None:
        """Return when the session has ended, also for lack of use."""
        ...


def describe_browser(user_agent: str) -> str:
    """Name the browser and the system of a User-Agent header: "Firefox on Linux"."""
    browser = next((name for mark, name in BROWSERS.items() if mark in user_agent), "A program")
    system = next((name for mark, name in SYSTEMS.items() if mark in user_agent), None)
    return f"{browser} on {system}" if system else browser


def hash_secret(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
