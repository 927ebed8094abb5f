"""The dialogs of the page."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
from dash_bootstrap_components import Modal

from app import App
from components import dialog, page
from tests.checkpoints.conversations import new
from tests.test_app import opened, post_callback

FIELDS = {"type": "delete", "request_id": "an-operation", "version": 1, "thread": "t"}


def test_no_dialog_fades() -> None:
    """One that is closed in its first moments would stay above the page, unseen (see `dialog.build_modal`)."""
    dialogs = [each for each in page.layout()._traverse() if isinstance(each, Modal)]
    assert len(dialogs) > 5
    assert [each.id for each in dialogs if each.fade is not False] == []


def test_a_subject_keeps_the_version_that_the_user_saw() -> None:
    subject = dialog.Subject.of(FIELDS, "t")
    assert (subject.caller.request_id, subject.caller.expected_version) == ("an-operation", 1)
    assert subject.unversioned_caller.expected_version is None


def confirm(folder: Path, subject: Any, pathname: str = "/t/elsewhere") -> tuple[int, httpx.Response]:
    """Confirm that a checkpoint is deleted; how many there are afterwards, and the answer."""

    async def story() -> tuple[int, httpx.Response]:
        async with opened(folder, auth="none") as (app, browser):
            thread_id = save_one(app)
            filled = subject and {**subject, "thread_id": thread_id}
            if filled and not filled["fields"]:
                filled["fields"] = {"checkpoint": app.services.store.list_checkpoints(thread_id)[0].id}
            values = {"delete-checkpoint-confirm.n_clicks": 1, "delete-checkpoint-subject.data": filled}
            answer = await post_callback(browser, "delete-checkpoint-confirm.n_clicks", {**values, "url.pathname": pathname})
            return len(app.services.store.list_checkpoints(thread_id)), answer

    return asyncio.run(story())


def save_one(app: App) -> str:
    thread_id = app.services.store.create_thread().id
    app.services.store.append(thread_id, new("hello"))
    app.services.store.save(thread_id, name="One")
    return thread_id


def test_a_confirmation_is_about_its_subject_wherever_the_page_is_by_now(tmp_path: Path) -> None:
    left, answer = confirm(tmp_path / "data", {"request_id": "an-operation", "version": None, "fields": {}})
    assert (left, answer.json()["response"]["delete-checkpoint"]["is_open"]) == (0, False)


def test_a_confirmation_without_a_subject_only_closes(tmp_path: Path) -> None:
    left, answer = confirm(tmp_path / "data", None)
    assert (left, answer.json()["response"]) == (1, {"delete-checkpoint": {"is_open": False}})


def test_a_confirmation_that_is_refused_closes_with_a_toast(tmp_path: Path) -> None:
    fields = {"checkpoint": "none"}
    left, answer = confirm(tmp_path / "data", {"request_id": "an-operation", "version": None, "fields": fields})
    assert left == 1
    assert "no checkpoint 'none'" in answer.json()["response"]["head"]["data"]["toast"]["text"]
