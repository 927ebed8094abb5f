"""The sign-in: a key that is damaged, and a clock that is stepped."""

import time
from pathlib import Path

import pytest

from server.session import MAX_COOKIE_SECONDS, Session, load_secret


@pytest.mark.parametrize("damaged", [b"", b"short", b"\0" * 32, b"<html>not a key at all</html>" * 9])
def test_a_damaged_key_is_replaced_by_a_new_one_that_is_kept(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "session.key").write_bytes(damaged)
    made = load_secret(tmp_path)
    assert (len(made), made == damaged) == (32, False)
    assert load_secret(tmp_path) == made
    Session(made, port=8050)


def test_a_key_that_is_whole_is_kept(tmp_path: Path) -> None:
    assert load_secret(tmp_path) == load_secret(tmp_path)


@pytest.mark.parametrize(
    ("seconds", "is_valid"),
    [(-3600, True), (-MAX_COOKIE_SECONDS * 9, True), (MAX_COOKIE_SECONDS - 9, True), (MAX_COOKIE_SECONDS + 9, False)],
)
def test_a_clock_that_steps_back_signs_nobody_out(monkeypatch: pytest.MonkeyPatch, seconds: int, is_valid: bool) -> None:
    session = Session(b"0123456789abcdef" * 2, port=8050)
    cookie, now = session.issue_cookie(), time.time()
    monkeypatch.setattr(time, "time", lambda: now + seconds)
    assert session.is_valid(cookie) is is_valid
    assert not session.is_valid(f"{cookie}x")
