"""The page's own requests: no change of one is an error of the server, and a reply has all that the page needs."""

import asyncio
import logging
import random
from pathlib import Path
from typing import Any

import pytest

from components import action_routes, page
from tests.checkpoints.conversations import new
from tests.rounds import Rounds
from tests.running_app import JSON, opened, post_action, post_json, request_panels
from tests.server.test_dash_requests import spoil

SAVE = {"type": "save", "request_id": "1", "version": 1, "name": "a place", "description": ""}
SEND = {"type": "send", "version": 0, "text": "hello"}
FOREIGN_IDS = [{**SEND, "request_id": each} for each in ("erasure of bob", "", "x" * 65)]  # as no page makes them


@pytest.mark.parametrize(
    "action",
    [
        None,
        1,
        {},
        {"type": "send"},
        {"type": "send", "request_id": "1"},
        {"type": 1, "request_id": "1"},
        *FOREIGN_IDS,
    ],
)
def test_an_action_without_its_fields_is_a_bad_request(
    tmp_path: Path, action: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            assert (await post_action(browser, "composer-panel", action)).status_code == 400

    with caplog.at_level(logging.ERROR):
        asyncio.run(story())
    assert caplog.records == []


@pytest.mark.parametrize(
    "body",
    [
        [],
        1,
        {},
        {"pathname": 1},
        {"pathname": "/", "update": 1},
        {"pathname": "/", "window": []},
        {"pathname": "/t/x", "window": {}},
        {"pathname": "/", "list_only": 2},
    ],
)
def test_a_page_without_its_state_is_a_bad_request(tmp_path: Path, body: Any) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            assert (await post_json(browser, "/api/panels", body)).status_code == 400

    asyncio.run(story())


@pytest.mark.parametrize("content", [b"", b"[", b"\xff", b"[" * 100_000, b"[" + b"[]," * 300_000 + b"1]"])
def test_a_body_that_is_no_json_or_a_flood_of_values_is_a_bad_request(tmp_path: Path, content: bytes) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            assert (await browser.post("/api/panels", content=content)).status_code == 400

    asyncio.run(story())


def test_a_list_that_the_page_does_not_have_is_a_bad_request(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            assert (await post_action(browser, "nothing", SAVE)).status_code == 400

    asyncio.run(story())


def test_no_change_of_an_action_is_an_error_of_the_server(
    tmp_path: Path, rounds: Rounds, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            kinds = [(list_id, kind) for list_id, each in page.build_lists(page.PANELS).items() for kind in each.handlers]
            chance = random.Random(7)
            for _ in range(rounds(300)):
                list_id, kind = chance.choice(kinds)
                body: JSON = {"pathname": "/t/x", "update": {"tick": 1}, "window": None, "action": {**SAVE, "type": kind}}
                request = spoil(body, chance)
                answer = await post_json(browser, f"/api/actions/{list_id}", request)
                assert answer.status_code < 500, request
                assert not [each for each in caplog.records if each.levelno >= logging.ERROR], request

    asyncio.run(story())


@pytest.mark.parametrize("value", ["10000000000000000000000000", '"\\ud800"', "[[[]]]"])
def test_a_field_that_no_action_has_is_not_sent_back(tmp_path: Path, value: str) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            action = f'{{"type": "fork", "request_id": "x", "version": 1, "message": "none", "zz": {value}}}'
            content = f'{{"pathname": "/t/x", "update": {{"tick": 1}}, "window": null, "action": {action}}}'
            headers = {"Content-Type": "application/json"}
            answer = await browser.post("/api/actions/transcript", content=content, headers=headers)
            assert answer.status_code in (200, 400)
            assert "zz" not in answer.text

    asyncio.run(story())


def test_the_reply_to_the_first_message_has_the_address_at_its_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            action = {"type": "send", "request_id": "an-operation", "version": 0, "text": "hello"}
            reply = (await post_action(browser, "composer-panel", action)).json()
        assert list(reply) == ["composer-panel", "head"]
        assert reply["composer-panel"]["reply"] == {"request_id": "an-operation", "ok": True, "text": None}
        assert reply["head"]["data"]["go"].startswith("/t/")

    asyncio.run(story())


def test_a_later_message_makes_no_panel_read(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread = app.services.store.create_thread()
            action = {"type": "send", "request_id": "an-operation", "version": thread.version, "text": "hello"}
            reply = (await post_action(browser, "composer-panel", action, f"/t/{thread.id}")).json()
        assert list(reply) == ["composer-panel"]

    asyncio.run(story())


def test_the_reply_to_a_change_has_what_a_reading_of_the_panels_shows(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread = app.services.store.create_thread()
            app.services.store.append(thread.id, new("a question"))
            reply = (await post_action(browser, "history", SAVE, f"/t/{thread.id}")).json()
            read = (await request_panels(browser, f"/t/{thread.id}")).json()
        for panels in (reply["panels"], read):
            del panels["threads"]["data"]["seen"]  # the time of the reading
        assert [each["name"] for each in read["history"]["data"]["checkpoints"]] == ["a place"]
        assert reply["panels"] == read

    asyncio.run(story())


def test_a_dialog_is_opened_by_the_reply_to_the_action(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread_id = app.services.store.create_thread(title="Old").id
            reply = (await post_action(browser, "threads", {**SAVE, "type": "delete", "thread": thread_id})).json()
        assert reply["delete-thread"] == {"is_open": True}
        assert reply["delete-thread-subject"]["data"] == {**SAVE, "type": "confirm", "thread": thread_id}

    asyncio.run(story())


def test_panels_are_read_of_the_address_that_the_page_names(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread_id = app.services.store.create_thread(title="Old").id
            shown, missing, start = [
                (await request_panels(browser, path)).json() for path in (f"/t/{thread_id}", "/t/missing", "/")
            ]
        assert shown["thread-title"] == {"children": "Old"}
        named = [{identifier: set(values) for identifier, values in each.items()} for each in (shown, missing, start)]
        assert len(named[0]) > 10
        assert named[0] == named[1] == named[2]

    asyncio.run(story())


def test_an_error_of_an_expected_kind_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(action_routes.MalformedRequestError):
        action_routes.report_error(action_routes.MalformedRequestError("request_id"))
    assert caplog.text == ""
