"""The sessions of people, in the database. A session ended by any process is refused by every process.

Each request reads its session. Waiting reads are joined, so strangers with invented cookies cost a statement at a time.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, replace
from typing import ParamSpec, TypeVar

from checkpoints import Store, StoreUnavailableError
from extensions.people.stored_sessions import SessionLimits, StoredSession, StoredSessions
from server.session.sessions import (
    MAX_IDLE_SECONDS,
    MAX_SESSION_SECONDS,
    MAX_SESSIONS,
    SAVE_SECONDS,
    NewSession,
    Session,
    SessionsUnavailableError,
    hash_secret,
)

# Ended sessions of open sockets are looked for after each such pause.
CHECK_SECONDS = 0.5
# During an outage, sessions stay as last read for this time: nobody can end any meanwhile.
MAX_OUTAGE_SECONDS = 600.0
MAX_REMEMBERED = 1_000
LIMITS = SessionLimits(MAX_SESSION_SECONDS, MAX_IDLE_SECONDS, MAX_SESSIONS)
P = ParamSpec("P")
T = TypeVar("T")
_log = logging.getLogger("waymark.sessions")


class PersonSessions:
    """The open sessions of people (see `server.session.sessions.Sessions`)."""

    def __init__(self, store: Store, limits: SessionLimits = LIMITS) -> None:
        self._stored = StoredSessions(store, limits)
        # The threads are separate: neither an import nor a change that waits for the database delays a read.
        self._readers = ThreadPoolExecutor(1, thread_name_prefix="waymark-session-read")
        self._writers = ThreadPoolExecutor(1, thread_name_prefix="waymark-session")
        # Tasks are by session.
        self._noting: dict[str, asyncio.Task[None]] = {}
        # The next read wants these sessions, by cookie hash.
        self._wanted: dict[str, asyncio.Future[Session | None]] = {}
        self._reading: asyncio.Task[None] | None = None
        # Sessions are kept as last read, with the time of the read. The newest comes last.
        self._remembered: dict[str, tuple[Session, float]] = {}

    async def begin(self, user_agent: str, person: str = "", role: str = "", credential: str | None = None) -> NewSession:
        """Begin a session of a person. Raises `AccountChangedError`."""
        created = NewSession.create(user_agent, time.time(), person, role)
        ended = await _run(self._writers, self._stored.begin, StoredSession(**asdict(created.session)), credential)
        return replace(created, ended=[_to_session(each) for each in ended])

    async def find(self, *cookies: str) -> Session | None:
        found = await asyncio.gather(*(self._read(hash_secret(each)) for each in cookies))
        return next((session for session in found if session), None)

    async def list_open(self, person: str = "") -> list[Session]:
        return [_to_session(each) for each in await _run(self._readers, self._stored.list_open, person)]

    async def note_use(self, session: Session) -> None:
        """Note the use beside the request, which does not wait for it."""
        if abs(time.time() - session.seen_at) >= SAVE_SECONDS and session.id not in self._noting:
            self._noting[session.id] = asyncio.create_task(self._note_use(session.id))

    async def end(self, session_ids: Collection[str]) -> list[Session]:
        return [_to_session(each) for each in await _run(self._writers, self._stored.end, list(session_ids))]

    async def wait_for_end(self, session: Session) -> None:
        """Return when the session has ended, in any process. All sockets check at once, with a single statement."""
        is_open = True
        while is_open:
            await asyncio.sleep(CHECK_SECONDS - time.monotonic() % CHECK_SECONDS)
            with suppress(SessionsUnavailableError):
                is_open = await self._read(session.cookie_hash) is not None

    def close(self) -> None:
        self._readers.shutdown()
        self._writers.shutdown()

    async def _read(self, cookie_hash: str) -> Session | None:
        """Read a session together with all others wanted now. Raises `SessionsUnavailableError`."""
        if cookie_hash not in self._wanted:
            self._wanted[cookie_hash] = asyncio.get_running_loop().create_future()
        wanted = self._wanted[cookie_hash]
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read_wanted())
        return await asyncio.shield(wanted)

    async def _read_wanted(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            try:
                found = {
                    each.cookie_hash: _to_session(each)
                    for each in await _run(self._readers, self._stored.find, list(wanted))
                }
                self._remember(wanted, found.values())
            except Exception as error:  # noqa: BLE001
                # No error may sign anybody out.
                if not isinstance(error, StoreUnavailableError):
                    _log.error("the sessions could not be read", exc_info=error)
                found = self._recall()
                for cookie_hash in wanted.keys() - found.keys():
                    unknown = wanted.pop(cookie_hash)
                    unknown.set_exception(SessionsUnavailableError())
                    # Its request may have gone away, so the error is retrieved here.
                    unknown.exception()
            for cookie_hash, future in wanted.items():
                future.set_result(found.get(cookie_hash))

    def _remember(self, cookie_hashes: Iterable[str], found: Iterable[Session]) -> None:
        for cookie_hash in cookie_hashes:
            self._remembered.pop(cookie_hash, None)
        now = time.monotonic()
        self._remembered |= {each.cookie_hash: (each, now) for each in found}
        while len(self._remembered) > MAX_REMEMBERED:
            del self._remembered[next(iter(self._remembered))]

    def _recall(self) -> dict[str, Session]:
        oldest = time.monotonic() - MAX_OUTAGE_SECONDS
        return {cookie_hash: session for cookie_hash, (session, at) in self._remembered.items() if at > oldest}

    async def _note_use(self, session_id: str) -> None:
        try:
            with suppress(StoreUnavailableError):
                await _run(self._writers, self._stored.note_use, session_id)
        finally:
            del self._noting[session_id]


async def _run(pool: ThreadPoolExecutor, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.get_running_loop().run_in_executor(pool, lambda: work(*args, **kwargs))


def limit_sessions(max_seconds: float) -> SessionLimits:
    """Return the limits for people of a provider, who sign in again after so many seconds."""
    return replace(LIMITS, max_seconds=max_seconds, are_of_provider=True)


def _to_session(stored: StoredSession) -> Session:
    return Session(**asdict(stored))
