"""The log of sign-ins and sign-outs: each is a line, without a secret, and no number of them fills the disk."""

import logging
from asyncio import run
from pathlib import Path

import pytest

from server.bounded_log import MAX_LINES
from server.session import session_file
from server.session.link_sign_in import LinkSignIn
from server.session.session_file import SessionFile
from server.session.session_log import SessionLog
from server.session.sessions import Session
from tests.server.test_guard import HOST, Entrance
from tests.server.test_refusal_log import Windows

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0"
SCOPE = {"client": ("127.0.0.1", 50000)}


@pytest.fixture
def sessions(tmp_path: Path) -> SessionFile:
    return SessionFile(tmp_path / "sessions-8050.json")


@pytest.fixture
def sign_in(sessions: SessionFile) -> LinkSignIn:
    return LinkSignIn(sessions, address=f"http://{HOST}", script="/assets/sign-in.js")


@pytest.fixture(autouse=True)
def _everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "waymark.sessions")


def open_link(sign_in: LinkSignIn, **headers: str) -> None:
    link = sign_in.create_link().removeprefix(f"http://{HOST}")
    assert Entrance(sign_in=sign_in).knock(link, **{"user-agent": FIREFOX}, **headers).status == 200


def test_a_sign_in_is_logged_without_its_secrets(sign_in: LinkSignIn, caplog: pytest.LogCaptureFixture) -> None:
    open_link(sign_in)
    [session] = run(sign_in.sessions.list_open())
    assert caplog.messages == [f"signed in: session {session.id[:8]} (Firefox on Linux) from an unknown address"]


def test_a_browser_that_signs_in_again_ends_its_former_session(
    sign_in: LinkSignIn, sessions: SessionFile, caplog: pytest.LogCaptureFixture
) -> None:
    former = run(sessions.begin(FIREFOX))
    open_link(sign_in, cookie=f"waymark_8050={former.cookie}")
    name = former.session.short_name
    assert f"signed out: session {name} (Firefox on Linux) by a later sign-in" in caplog.messages


def test_a_session_too_many_is_logged(
    sign_in: LinkSignIn, sessions: SessionFile, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_file, "MAX_SESSIONS", 2)
    oldest = run(sessions.begin(""))
    run(sessions.begin(""))
    open_link(sign_in)
    assert f"signed out: session {oldest.session.short_name} (A program) by a later sign-in" in caplog.messages


def test_signing_out_names_the_session_and_its_end_by_another_one_both(
    sessions: SessionFile, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = run(sessions.begin(FIREFOX)).session, run(sessions.begin("")).session
    log = SessionLog(lambda *_: None)
    log.note_sign_out(SCOPE, here, here)
    log.note_sign_out(SCOPE, there, here)
    assert caplog.messages == [
        f"signed out: session {here.short_name} (Firefox on Linux) from 127.0.0.1",
        f"signed out: session {there.short_name} (A program) by session {here.short_name}, from 127.0.0.1",
    ]


def test_many_sign_ins_are_few_lines(caplog: pytest.LogCaptureFixture) -> None:
    waiting = Windows().waiting
    log = SessionLog(lambda _, function: waiting.append(function))
    for _ in range(1000):
        log.note_sign_in(SCOPE, Session("id", "", "", "Firefox", 0, 0))
    assert len(caplog.messages) == MAX_LINES
    waiting.pop()()
    assert caplog.messages[-1] == f"{1000 - MAX_LINES} more sign-ins and sign-outs within 60 seconds"
