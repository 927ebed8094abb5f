"""The sessions of a single person's browsers, in a file beside the database, whatever its kind."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, fields, replace
from pathlib import Path

from server.session.sessions import MAX_SESSIONS, SAVE_SECONDS, NewSession, NotDurableError, Session, hash_secret

_log = logging.getLogger(__name__)


class SessionFile:
    """The open sessions of browsers signed in by a link (see `Sessions`). They belong to a process, and its event loop."""

    def __init__(self, path: Path, *, read_clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._read_clock = read_clock
        self._saving = threading.Lock()
        self._saved_at = read_clock()
        self._endings: dict[str, asyncio.Event] = {}
        self._sessions = {each.cookie_hash: each for each in _load(path)}

    async def begin(self, user_agent: str, person: str = "", role: str = "", credential: str | None = None) -> NewSession:
        """Begin a session. If it cannot be saved, it is open until a restart."""
        created = NewSession.create(user_agent, self._read_clock(), person, role)
        self._sessions[created.session.cookie_hash] = created.session
        ended = [each for oldest in self._list_open()[MAX_SESSIONS:] for each in self._drop({oldest.id})]
        await self._save_if_possible()
        return replace(created, ended=ended)

    async def find(self, *cookies: str) -> Session | None:
        now, found = self._read_clock(), (self._sessions.get(hash_secret(each)) for each in cookies)
        return next((each for each in found if each and each.count_seconds_left(now) > 0), None)

    async def list_open(self, person: str = "") -> list[Session]:
        return self._list_open()

    async def note_use(self, session: Session) -> None:
        now = self._read_clock()
        if session.cookie_hash in self._sessions:
            self._sessions[session.cookie_hash] = replace(session, seen_at=now)
        if abs(now - self._saved_at) >= SAVE_SECONDS:
            self._saved_at = now
            await self._save_if_possible()

    async def end(self, session_ids: Collection[str]) -> list[Session]:
        ended = self._drop(session_ids)
        try:
            await asyncio.to_thread(self.save)
        except OSError as error:
            raise NotDurableError from error
        return ended

    async def wait_for_end(self, session: Session) -> None:
        while (current := self._sessions.get(session.cookie_hash)) and (
            seconds := current.count_seconds_left(self._read_clock())
        ) > 0:
            try:
                async with asyncio.timeout(seconds):
                    await self._endings.setdefault(session.id, asyncio.Event()).wait()
            except TimeoutError:
                # The session may have been used since.
                continue

    def save(self) -> None:
        """Write the open sessions atomically. Raises `OSError`."""
        with self._saving:
            content = {"sessions": [asdict(session) for session in self._list_open()]}
            new = self._path.with_suffix(".new")
            new.unlink(missing_ok=True)
            with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(json.dumps(content, indent=1).encode())
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)

    async def _save_if_possible(self) -> None:
        try:
            await asyncio.to_thread(self.save)
        except OSError as error:
            _log.warning("the sessions could not be saved, and a restart would forget the newest: %s", error.strerror)

    def _list_open(self) -> list[Session]:
        now = self._read_clock()
        found = [session for session in self._sessions.values() if session.count_seconds_left(now) > 0]
        return sorted(found, key=lambda session: session.seen_at, reverse=True)

    def _drop(self, session_ids: Collection[str]) -> list[Session]:
        dropped = [session for session in self._sessions.values() if session.id in session_ids]
        self._sessions = {key: session for key, session in self._sessions.items() if session.id not in session_ids}
        for session in dropped:
            if ending := self._endings.pop(session.id, None):
                ending.set()
        return dropped


def load_sessions(folder: Path, port: int) -> SessionFile:
    """Load the sessions of the server at a port: browsers share cookies between ports, and pages share nothing.

    A damaged file is replaced by an empty file. This signs everybody out. Raises `OSError` if the folder cannot be used.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Until 2026-11 this key signed cookies that nobody could end.
    (folder / "session.key").unlink(missing_ok=True)
    sessions = SessionFile(folder / f"sessions-{port}.json")
    sessions.save()
    return sessions


def _load(path: Path) -> list[Session]:
    if not path.is_file():
        # Reading a pipe would wait forever.
        return []
    try:
        loaded = [_parse(each) for each in json.loads(path.read_bytes())["sessions"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        _log.warning("%s is damaged: a new one was made, and every browser has to open a new link", path)
        return []
    # Until 2026-11 the file also had people with passwords.
    return [each for each in loaded if not each.person]


def _parse(stored: dict[str, object]) -> Session:
    """Check the types of a stored session. Raises `TypeError` or `KeyError`."""
    types: dict[str, type] = {field.name: float if field.name.endswith("_at") else str for field in fields(Session)}
    given = {"person": "", "role": "", **stored}
    if not all(isinstance(given[name], kind) for name, kind in types.items()):
        raise TypeError
    return Session(**{name: given[name] for name in types})  # type: ignore[arg-type]  # checked
