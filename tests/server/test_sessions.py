"""The sessions: kept over a restart, ended for good, ended by time, and a file that is damaged."""

import os
import time
from pathlib import Path

import pytest

from server.sessions import MAX_IDLE_SECONDS, MAX_SESSION_SECONDS, MAX_SESSIONS, Sessions, describe_browser, load_sessions

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
def sessions(tmp_path: Path, clock: Clock) -> Sessions:
    return Sessions(tmp_path / "sessions-8050.json", read_clock=clock)


def use(sessions: Sessions, cookie: str) -> bool:
    """Use a session, as the page does; whether it was still open."""
    if found := sessions.find(cookie):
        sessions.note_use(found)
    return found is not None


def test_a_session_outlives_a_restart(tmp_path: Path) -> None:
    first = load_sessions(tmp_path, 8050)
    cookie = first.begin(FIREFOX).cookie
    first.save()
    found = load_sessions(tmp_path, 8050).find(cookie)
    assert found is not None
    assert found.browser == "Firefox on Linux"
    assert load_sessions(tmp_path, 8051).find(cookie) is None


def test_an_ended_session_stays_ended_over_a_restart(tmp_path: Path) -> None:
    first = load_sessions(tmp_path, 8050)
    ended, other = first.begin(FIREFOX).cookie, first.begin(EDGE).cookie
    found = first.find(ended)
    assert found is not None
    first.end(found.id)
    first.save()
    assert [sessions.find(ended) for sessions in (first, load_sessions(tmp_path, 8050))] == [None, None]
    assert load_sessions(tmp_path, 8050).find(other) is not None


def test_a_session_ends_after_a_week_without_use_and_not_before(sessions: Sessions, clock: Clock) -> None:
    cookie = sessions.begin("").cookie
    clock.now += MAX_IDLE_SECONDS - 1
    assert use(sessions, cookie)
    clock.now += MAX_IDLE_SECONDS - 1
    assert use(sessions, cookie)
    clock.now += MAX_IDLE_SECONDS + 1
    assert not use(sessions, cookie)
    assert sessions.list_open() == []


def test_a_session_that_is_used_every_day_ends_after_thirty_days(sessions: Sessions, clock: Clock) -> None:
    cookie = sessions.begin("").cookie
    days = 0
    while use(sessions, cookie) and days < 99:
        days, clock.now = days + 1, clock.now + 24 * 3600
    assert days == MAX_SESSION_SECONDS // (24 * 3600)


def test_the_last_use_outlives_a_restart(tmp_path: Path, sessions: Sessions, clock: Clock) -> None:
    cookie = sessions.begin("").cookie
    clock.now += 3600
    found = sessions.find(cookie)
    assert found is not None
    assert sessions.note_use(found), "it is to be saved"
    sessions.save()
    assert [each.seen_at for each in Sessions(tmp_path / "sessions-8050.json", read_clock=clock).list_open()] == [clock.now]


@pytest.mark.parametrize("days", [1, 400])
def test_a_clock_that_steps_back_signs_nobody_out(days: int, sessions: Sessions, clock: Clock) -> None:
    cookie = sessions.begin("").cookie
    clock.now -= days * 24 * 3600
    assert use(sessions, cookie)
    clock.now += 3600
    assert use(sessions, cookie)


@pytest.mark.parametrize("damaged", [b"", b"short", b"\0" * 32, b"[]", b'{"sessions": [{"id": 1}]}', b"[" * 100_000])
def test_a_damaged_file_is_replaced_by_a_new_one(tmp_path: Path, damaged: bytes, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "sessions-8050.json").write_bytes(damaged)
    cookie = (made := load_sessions(tmp_path, 8050)).begin("").cookie
    made.save()
    assert load_sessions(tmp_path, 8050).find(cookie) is not None
    assert "is damaged" in caplog.text


@pytest.mark.parametrize("name", ["sessions-8050.json", "sessions-8050.new"])
def test_a_pipe_in_the_place_of_the_file_does_not_hold_up_the_start(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    load_sessions(tmp_path, 8050)
    assert (tmp_path / "sessions-8050.json").is_file()


def test_the_sessions_have_a_bound(sessions: Sessions, clock: Clock) -> None:
    first = sessions.begin("").cookie
    for _ in range(MAX_SESSIONS):
        clock.now += 1
        last = sessions.begin("").cookie
    assert len(sessions.list_open()) == MAX_SESSIONS
    assert (sessions.find(first) is None, sessions.find(last) is None) == (True, False)


@pytest.mark.parametrize(("header", "name"), [(FIREFOX, "Firefox on Linux"), (EDGE, "Edge on Windows"), ("", "A program")])
def test_a_browser_is_named(header: str, name: str) -> None:
    assert describe_browser(header) == name
