"""The sessions: kept over a restart, ended for good, ended by time, and a file that is damaged."""

import os
import time
from asyncio import run
from pathlib import Path

import pytest

from server.session import session_file
from server.session.session_file import SessionFile, load_sessions
from server.session.sessions import MAX_IDLE_SECONDS, MAX_SESSION_SECONDS

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
EDGE = "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0 Safari/537.36 Edg/143.0"


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(tmp_path: Path, clock: Clock) -> SessionFile:
    return SessionFile(tmp_path / "sessions-8050.json", read_clock=clock)


def use(sessions: SessionFile, cookie: str) -> bool:
    """Use a session, as the page does; whether it was still open."""
    if found := run(sessions.find(cookie)):
        run(sessions.note_use(found))
    return found is not None


def test_a_session_outlives_a_restart(tmp_path: Path) -> None:
    first = load_sessions(tmp_path, 8050)
    cookie = run(first.begin(FIREFOX)).cookie
    found = run(load_sessions(tmp_path, 8050).find(cookie))
    assert found is not None
    assert found.browser == "Firefox on Linux"
    assert run(load_sessions(tmp_path, 8051).find(cookie)) is None


def test_an_ended_session_stays_ended_over_a_restart(tmp_path: Path) -> None:
    first = load_sessions(tmp_path, 8050)
    ended, other = run(first.begin(FIREFOX)).cookie, run(first.begin(EDGE)).cookie
    found = run(first.find(ended))
    assert found is not None
    assert run(first.end([found.id])) == [found]
    assert [run(sessions.find(ended)) for sessions in (first, load_sessions(tmp_path, 8050))] == [None, None]
    assert run(load_sessions(tmp_path, 8050).find(other)) is not None


def test_a_session_ends_after_a_week_without_use_and_not_before(sessions: SessionFile, clock: Clock) -> None:
    cookie = run(sessions.begin("")).cookie
    clock.now += MAX_IDLE_SECONDS - 1
    assert use(sessions, cookie)
    clock.now += MAX_IDLE_SECONDS - 1
    assert use(sessions, cookie)
    clock.now += MAX_IDLE_SECONDS + 1
    assert not use(sessions, cookie)
    assert run(sessions.list_open()) == []


def test_a_session_that_is_used_every_day_ends_after_thirty_days(sessions: SessionFile, clock: Clock) -> None:
    cookie = run(sessions.begin("")).cookie
    days = 0
    while use(sessions, cookie) and days < 99:
        days, clock.now = days + 1, clock.now + 24 * 3600
    assert days == MAX_SESSION_SECONDS // (24 * 3600)


def test_the_last_use_outlives_a_restart(tmp_path: Path, sessions: SessionFile, clock: Clock) -> None:
    cookie = run(sessions.begin("")).cookie
    clock.now += 3600
    found = run(sessions.find(cookie))
    assert found is not None
    run(sessions.note_use(found))
    again = SessionFile(tmp_path / "sessions-8050.json", read_clock=clock)
    assert [each.seen_at for each in run(again.list_open())] == [clock.now]


@pytest.mark.parametrize("days", [1, 400])
def test_a_clock_that_steps_back_signs_nobody_out(days: int, sessions: SessionFile, clock: Clock) -> None:
    cookie = run(sessions.begin("")).cookie
    clock.now -= days * 24 * 3600
    assert use(sessions, cookie)
    clock.now += 3600
    assert use(sessions, cookie)


@pytest.mark.parametrize("damaged", [b"", b"short", b"\0" * 32, b"[]", b'{"sessions": [{"id": 1}]}', b"[" * 100_000])
def test_a_damaged_file_is_replaced_by_a_new_one(tmp_path: Path, damaged: bytes, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "sessions-8050.json").write_bytes(damaged)
    cookie = run(load_sessions(tmp_path, 8050).begin("")).cookie
    assert run(load_sessions(tmp_path, 8050).find(cookie)) is not None
    assert "is damaged" in caplog.text


@pytest.mark.parametrize("name", ["sessions-8050.json", "sessions-8050.new"])
def test_a_pipe_in_the_place_of_the_file_does_not_hold_up_the_start(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    load_sessions(tmp_path, 8050)
    assert (tmp_path / "sessions-8050.json").is_file()


def test_the_sessions_have_a_bound(sessions: SessionFile, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_file, "MAX_SESSIONS", 3)
    first = run(sessions.begin("")).cookie
    for _ in range(3):
        clock.now += 1
        last = run(sessions.begin(""))
    assert len(run(sessions.list_open())) == 3
    assert (run(sessions.find(first)), run(sessions.find(first, last.cookie))) == (None, last.session)
    assert len(last.ended) == 1
