"""The sessions: which browsers are signed in, since when, and when each was last seen.

They are kept in a file of their own beside the database, which may be of any kind. The file holds hashes alone: neither it
nor a copy of it opens anything.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

MAX_SESSION_SECONDS = 30 * 24 * 3600
MAX_IDLE_SECONDS = 7 * 24 * 3600
MAX_SESSIONS = 100
SAVE_SECONDS = 300.0  # a use that is not saved yet; less than a killed process may forget
BROWSERS = {"Firefox/": "Firefox", "Edg/": "Edge", "OPR/": "Opera", "Chrome/": "Chrome", "Safari/": "Safari"}
SYSTEMS = {"Android": "Android", "iPhone": "iOS", "iPad": "iOS", "Windows": "Windows", "Mac OS X": "macOS", "Linux": "Linux"}
_log = logging.getLogger(__name__)


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
        return secrets.compare_digest(_hash(value), self.page_key_hash)


@dataclass(frozen=True)
class NewSession:
    """A new session, and its secrets: one for the cookie, one for the page's own storage."""

    session: Session
    cookie: str
    page_key: str
    ended: tuple[Session, ...]  # to make room for it


class Sessions:
    """The open sessions of one server, either of people with names or of browsers that opened a link.

    All methods but `save` belong to the event loop's thread.
    """

    def __init__(self, path: Path, *, names_people: bool = False, read_clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._read_clock = read_clock
        self._saving = threading.Lock()
        self._saved_at = read_clock()
        self._endings: dict[str, asyncio.Event] = {}
        self._sessions = {each.cookie_hash: each for each in _load(path) if bool(each.person) == names_people}

    def begin(self, user_agent: str, person: str = "", role: str = "") -> NewSession:
        """Begin a session. It is not on disk before `save`."""
        cookie, page_key = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        now = self._read_clock()
        hashes = _hash(cookie), _hash(page_key)
        session = Session(secrets.token_hex(8), *hashes, describe_browser(user_agent), now, now, person, role)
        self._sessions[session.cookie_hash] = session
        surplus = tuple(self.list_open(person)[MAX_SESSIONS:])
        for oldest in surplus:
            self.end(oldest.id)
        return NewSession(session, cookie, page_key, surplus)

    def find(self, cookie: str) -> Session | None:
        """Return the open session of a cookie."""
        session = self._sessions.get(_hash(cookie))
        return session if session and session.count_seconds_left(self._read_clock()) > 0 else None

    def list_open(self, person: str | None = "") -> list[Session]:
        """List the open sessions of a person, or with None of all, the last seen first."""
        now = self._read_clock()
        found = [
            session
            for session in self._sessions.values()
            if person in (None, session.person) and session.count_seconds_left(now) > 0
        ]
        return sorted(found, key=lambda session: session.seen_at, reverse=True)

    def note_use(self, session: Session) -> bool:
        """Note that a session was used now. Return whether the sessions should be saved."""
        now = self._read_clock()
        if session.cookie_hash in self._sessions:
            self._sessions[session.cookie_hash] = replace(session, seen_at=now)
        is_due = abs(now - self._saved_at) >= SAVE_SECONDS
        if is_due:
            self._saved_at = now
        return is_due

    def end(self, session_id: str) -> Session | None:
        """End a session, close its streams, and return it. It is ended for good after `save`."""
        ended = next((session for session in self._sessions.values() if session.id == session_id), None)
        self._sessions = {key: session for key, session in self._sessions.items() if session.id != session_id}
        if ending := self._endings.pop(session_id, None):
            ending.set()
        return ended

    async def wait_for_end(self, session: Session) -> None:
        """Return when the session has ended, also for want of use."""
        while (current := self._sessions.get(session.cookie_hash)) and (
            seconds := current.count_seconds_left(self._read_clock())
        ) > 0:
            try:
                async with asyncio.timeout(seconds):
                    await self._endings.setdefault(session.id, asyncio.Event()).wait()
            except TimeoutError:
                continue  # it may have been used since

    def save(self) -> None:
        """Write the open sessions, never half of them. Raises `OSError`."""
        with self._saving:
            content = {"sessions": [asdict(session) for session in self.list_open(None)]}
            new = self._path.with_suffix(".new")
            new.unlink(missing_ok=True)
            with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(json.dumps(content, indent=1).encode())
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)


def load_sessions(folder: Path, port: int, *, names_people: bool = False) -> Sessions:
    """Load the sessions of the server at a port: browsers share cookies between ports, and pages share nothing.

    A file that is damaged is replaced by an empty one, which signs everybody out. Raises `OSError` when the folder cannot
    be used.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / "session.key").unlink(missing_ok=True)  # until 2026-11 it signed cookies that nobody could end
    sessions = Sessions(folder / f"sessions-{port}.json", names_people=names_people)
    sessions.save()
    return sessions


def describe_browser(user_agent: str) -> str:
    """Name the browser and the system of a User-Agent header: "Firefox on Linux"."""
    browser = next((name for mark, name in BROWSERS.items() if mark in user_agent), "A program")
    system = next((name for mark, name in SYSTEMS.items() if mark in user_agent), None)
    return f"{browser} on {system}" if system else browser


def _load(path: Path) -> list[Session]:
    if not path.is_file():  # reading a pipe would wait for ever
        return []
    try:
        return [_parse(each) for each in json.loads(path.read_bytes())["sessions"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        _log.warning("%s is damaged: a new one was made, and every browser has to open a new link", path)
        return []


def _parse(stored: dict[str, object]) -> Session:
    """Check the types of a stored session. Raises `TypeError` or `KeyError`."""
    types: dict[str, type] = {field.name: float if field.name.endswith("_at") else str for field in fields(Session)}
    given = {"person": "", "role": "", **stored}
    if not all(isinstance(given[name], kind) for name, kind in types.items()):
        raise TypeError
    return Session(**{name: given[name] for name in types})  # type: ignore[arg-type]  # checked


def _hash(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()
