"""The sessions of a person: their dialog shows and ends them, and a page signs itself out."""

import asyncio
import logging
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from components.panels.sessions import OTHERS
from tests.page_key import read_page_key
from tests.running_app import opened, post_callback, press_row

Browser = httpx.AsyncClient
BODY = "sessions-dialog-body.children"


async def sign_in(app: Any, browser: Browser, name: str = "Firefox/1") -> dict[str, str]:
    """Sign a browser in; the headers that its page sends from then on."""
    browser.cookies.clear()
    answer = await browser.get(app.create_link(), headers={"user-agent": name})
    headers = {"cookie": f"waymark_8050={browser.cookies['waymark_8050']}", "x-waymark-page-key": read_page_key(answer.text)}
    browser.cookies.clear()
    return {key: value for key, value in headers.items() if value}


async def read_sessions(browser: Browser) -> str:
    return (await post_callback(browser, "sessions-dialog-opened.data", {"url.pathname": "/"}, output=BODY)).text


async def end_session(browser: Browser, session_id: str) -> str:
    return (await press_row(browser, "end-session", session_id, {}, output=BODY)).text


async def end_others(browser: Browser) -> str:
    return await end_session(browser, OTHERS)


def find_ids(shown: str) -> list[str]:
    """The other sessions of a person: each has a button that ends it."""
    return sorted({*re.findall(r'"row":"(\w+)"', shown.replace(" ", ""))} - {OTHERS})


def test_the_page_sees_its_own_session_and_the_others(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            await sign_in(app, browser, "Chrome/1 Linux")
            browser.headers.update(await sign_in(app, browser))
            shown = await read_sessions(browser)
            assert (shown.count('"session"'), len(find_ids(shown))) == (2, 1)
            assert re.search(r"Firefox.*This browser.*Sign out.*Chrome on Linux.*End Chrome on Linux", shown)
            assert len(set(re.findall(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", shown))) >= 2
            assert "hash" not in shown

    asyncio.run(story())


def test_all_others_are_signed_out_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            others = [await sign_in(app, browser) for _ in range(3)]
            here = await sign_in(app, browser)
            browser.headers.update(here)
            assert (await end_others(browser)).count('"session"') == 1
            answers = [await browser.get("/_dash-layout", headers=each) for each in (here, *others)]
            assert [answer.status_code for answer in answers] == [200, 401, 401, 401]
        async with opened(tmp_path / "data") as (_, browser):
            answers = [await browser.get("/_dash-layout", headers=each) for each in (here, *others)]
            assert [answer.status_code for answer in answers] == [200, 401, 401, 401]

    asyncio.run(story())


def test_ending_another_session_takes_it_from_the_list_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "waymark.sessions")

    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            other = await sign_in(app, browser, "Chrome/1")
            browser.headers.update(await sign_in(app, browser))
            [session_id] = find_ids(await read_sessions(browser))
            shown = await end_session(browser, session_id)
            assert (shown.count('"session"'), find_ids(shown)) == (1, [])
            assert (await end_session(browser, session_id)).count('"session"') == 1
            assert (await browser.get("/_dash-layout", headers=other)).status_code == 401
            [line] = [each for each in caplog.messages if each.startswith("signed out")]
            assert re.fullmatch(rf"signed out: session {session_id[:8]} \(Chrome\) by session \w+, from 127.0.0.1", line)

    asyncio.run(story())


def test_signing_out_ends_the_session_takes_the_cookie_away_and_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "waymark.sessions")

    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            here = await sign_in(app, browser)
            assert (await browser.get("/api/sessions", headers=here)).status_code == 204
            answer = await browser.post("/api/sessions/current/end", headers=here)
            assert "Max-Age=0" in answer.headers["set-cookie"]
            assert (await browser.get("/", headers=here)).status_code == 401
            assert (await browser.get("/api/sessions", headers=here)).status_code == 401
            lines = [each for each in caplog.messages if each.startswith("signed")]
            assert [each.partition(":")[0] for each in lines] == ["signed in", "signed out"]
            assert re.fullmatch(r"signed out: session \w+ \(Firefox\) from 127.0.0.1", lines[1])

    asyncio.run(story())


def test_an_end_that_cannot_be_saved_is_said(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            browser.headers.update(await sign_in(app, browser))
            (tmp_path / "data" / "sessions-8050.new").mkdir()
            assert "could not be saved" in await end_others(browser)
            answer = await browser.post("/api/sessions/current/end")
            assert (answer.status_code, "could not be saved" in answer.text) == (507, True)

    asyncio.run(story())


def test_without_a_sign_in_there_are_no_sessions(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            for shown in (await read_sessions(browser), await end_others(browser)):
                assert '"sessions-dialog-body":{"children":[]}' in shown
            assert (await browser.post("/api/sessions/current/end")).status_code == 404

    asyncio.run(story())
