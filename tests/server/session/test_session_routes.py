"""The page's requests about sessions: it sees them, ends others, and signs itself out."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from server.session import session_routes
from tests.page_key import read_page_key
from tests.running_app import opened

Browser = httpx.AsyncClient


async def sign_in(app: Any, browser: Browser, name: str = "Firefox/1") -> dict[str, str]:
    """Sign a browser in; the headers that its page sends from then on."""
    browser.cookies.clear()
    answer = await browser.get(app.create_link(), headers={"user-agent": name})
    headers = {"cookie": f"waymark_8050={browser.cookies['waymark_8050']}", "x-waymark-page-key": read_page_key(answer.text)}
    browser.cookies.clear()
    return {key: value for key, value in headers.items() if value}


def test_the_page_sees_its_own_session_and_the_others(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            await sign_in(app, browser, "Chrome/1 Linux")
            here = await sign_in(app, browser)
            sessions = (await browser.get("/api/sessions", headers=here)).json()["sessions"]
            assert {each["browser"]: each["is_current"] for each in sessions} == {"Firefox": True, "Chrome on Linux": False}
            assert all(each["signed_in_at"] <= each["seen_at"] for each in sessions)
            assert set(sessions[0]) == {"id", "browser", "signed_in_at", "seen_at", "is_current"}

    asyncio.run(story())


def test_all_others_are_signed_out_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            others = [await sign_in(app, browser) for _ in range(3)]
            here = await sign_in(app, browser)
            assert len((await browser.post("/api/sessions/end-others", headers=here)).json()["sessions"]) == 1
            answers = [await browser.get("/_dash-layout", headers=each) for each in (here, *others)]
            assert [answer.status_code for answer in answers] == [200, 401, 401, 401]
        async with opened(tmp_path / "data") as (_, browser):
            answers = [await browser.get("/_dash-layout", headers=each) for each in (here, *others)]
            assert [answer.status_code for answer in answers] == [200, 401, 401, 401]

    asyncio.run(story())


def test_signing_out_ends_the_session_takes_the_cookie_away_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "waymark.sessions")

    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            here = await sign_in(app, browser)
            [session] = (await browser.get("/api/sessions", headers=here)).json()["sessions"]
            answer = await browser.post(f"/api/sessions/{session['id']}/end", headers=here)
            assert "Max-Age=0" in answer.headers["set-cookie"]
            assert (await browser.get("/", headers=here)).status_code == 401
            await browser.post(f"/api/sessions/{session['id']}/end", headers=await sign_in(app, browser))
            lines = [each.partition(":")[0] for each in caplog.messages if "session" in each]
            assert lines == ["signed in", "signed out", "signed in"]
            assert f"signed out: session {session['id'][:8]} (Firefox) from 127.0.0.1" in caplog.messages

    asyncio.run(story())


def test_an_end_that_cannot_be_saved_is_said(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            here = await sign_in(app, browser)
            (tmp_path / "data" / "sessions-8050.new").mkdir()
            answer = await browser.post("/api/sessions/end-others", headers=here)
            assert (answer.status_code, "could not be saved" in answer.text) == (507, True)

    asyncio.run(story())


def test_without_a_sign_in_there_are_no_sessions(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            assert (await browser.get("/api/sessions")).json() == {"sessions": []}
            assert (await browser.post("/api/sessions/end-others")).status_code == 404

    asyncio.run(story())


def test_one_person_takes_not_the_places_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_routes, "MAX_WATCHING_PAGES", 1)
    server = FastAPI()
    session_routes.add_routes(server, None)

    async def name_person(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            scope["state"] = {"person": scope["query_string"].decode()}
        await server(scope, receive, send)

    with (
        TestClient(name_person) as browser,
        browser.websocket_connect("/api/sessions/end?ann"),
        browser.websocket_connect("/api/sessions/end?ann") as second,
    ):
        assert second.receive() == {"type": "websocket.close", "code": 1013, "reason": ""}
        with browser.websocket_connect("/api/sessions/end?bob") as other:
            other.send_text("still open")


def test_only_so_many_pages_wait_for_the_end_of_their_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_routes, "MAX_WATCHING_PAGES", 1)
    server = FastAPI()
    session_routes.add_routes(server, None)
    with TestClient(server) as browser:
        for _ in range(2):
            with browser.websocket_connect("/api/sessions/end"), browser.websocket_connect("/api/sessions/end") as second:
                assert second.receive() == {"type": "websocket.close", "code": 1013, "reason": ""}
