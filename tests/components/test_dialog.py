"""The dialogs of the page, and the actions that confirmations send: once, about what they were opened for."""

import asyncio
import json
from functools import reduce
from pathlib import Path
from typing import Any

import httpx
import pytest
from dash import html
from dash_bootstrap_components import Modal

from checkpoints import Store
from components import actions, dialog, page
from tests.checkpoints.conversations import new, talked
from tests.running_app import JSON, opened, post_action

NEW_THREAD = "fork-dialog of a new conversation"
ASKED: dict[str, tuple[str, JSON, JSON]] = {  # by dialog: the list and the action that open it, and the choices in it
    "delete-checkpoint": ("history", {"type": "delete", "checkpoint": "<checkpoint>"}, {}),
    "delete-branch": ("history", {"type": "delete-branch", "branch": "<branch>"}, {}),
    "delete-branches": ("history", {"type": "prune"}, {}),
    "restore-dialog": ("history", {"type": "restore", "checkpoint": "<checkpoint>"}, {"keep": "on"}),
    "clear-dialog": ("history", {"type": "clear"}, {}),
    "fork-dialog": ("history", {"type": "fork", "message": "<message>"}, {"length": "with", "destination": "branch"}),
    NEW_THREAD: ("transcript", {"type": "fork", "message": "<message>"}, {"length": "before", "destination": "thread"}),
    "delete-thread": ("threads", {"type": "delete", "thread": "<thread>"}, {}),
    "delete-threads": ("threads", {"type": "delete-all", "threads": ["<thread>"]}, {}),
}
LEAVING = (NEW_THREAD, "delete-thread", "delete-threads")  # whose page goes elsewhere


def test_no_dialog_fades() -> None:
    """One that is closed in its first moments would stay above the page, unseen (see `dialog.build_modal`)."""
    dialogs = [each for each in html.Div(page.build_parts(page.PANELS))._traverse() if isinstance(each, Modal)]
    assert len(dialogs) > 5
    assert [each.id for each in dialogs if each.fade is not False] == []


def test_every_confirmation_is_a_list_of_one_action_and_its_choices_are_fields_of_it() -> None:
    forms = [
        each
        for each in html.Div(page.build_parts(page.PANELS))._traverse()
        if isinstance(each, html.Form) and hasattr(each, "data-dialog")
    ]
    names = [part.name for form in forms for part in form._traverse() if getattr(part, "name", None)]
    lists = {name for name, each in page.build_lists(page.PANELS).items() if list(each.handlers) == [dialog.CONFIRM]}
    assert {getattr(form, "data-dialog") for form in forms} == lists
    assert lists == {name.partition(" ")[0] for name in ASKED} | {"summarise-dialog"}
    assert sorted(names) == ["destination", "keep", "length", "name"]
    assert set(names) < actions._Fields.__annotations__.keys()


def count_changes(store: Store, thread_id: str) -> tuple[int, int]:
    """Count the changes of a conversation, and all conversations."""
    return len(store.list_operations(thread_id, last=100)), len(store.list_threads()) + len(store.list_deleted_threads())


async def open_dialog(store: Store, browser: httpx.AsyncClient, name: str) -> tuple[JSON, str]:
    """Open a dialog on a conversation of three messages with another branch; return the action that it holds."""
    thread_id = talked(store, "a", "b")
    message, main = store.list_messages(thread_id)[0].id, store.get_thread(thread_id).branch_id
    marks = {"<thread>": thread_id, "<message>": message, "<checkpoint>": store.list_checkpoints(thread_id)[0].id}
    marks["<branch>"] = store.fork(thread_id, message, name="Other").result
    store.switch(thread_id, main)
    store.append(thread_id, new("c"))
    list_id, fields, choices = ASKED[name]
    asked = json.loads(reduce(lambda text, mark: text.replace(*mark), marks.items(), json.dumps(fields)))
    asked |= {"request_id": "an-operation", "version": store.get_thread(thread_id).version}
    reply = (await post_action(browser, list_id, asked, f"/t/{thread_id}")).json()
    dialog_id = name.partition(" ")[0]
    assert reply[dialog_id] == {"is_open": True}
    return {**reply[f"{dialog_id}-subject"]["data"], **choices}, thread_id


@pytest.mark.parametrize("name", ASKED)
def test_a_confirmation_that_comes_twice_is_done_once_and_its_reply_brings_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("components.services.MAX_READ_SECONDS", 600.0)  # a busy machine reads, too

    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store, dialog_id = app.services.store, name.partition(" ")[0]
            action, thread_id = await open_dialog(store, browser, name)
            before = sum(count_changes(store, thread_id))
            replies = [(await post_action(browser, dialog_id, action, f"/t/{thread_id}")).json() for _ in range(2)]
            assert sum(count_changes(store, thread_id)) == before + 1
            for reply in replies:
                assert reply[dialog_id] == {"is_open": False}
                toast = reply["head"]["data"].get("toast")
                assert toast is None or toast["undo"], toast  # no refusal
                if name in LEAVING:
                    assert reply["head"]["data"]["go"] != f"/t/{thread_id}"
                else:
                    assert reply["panels"]["undo-state"]["data"]["version"] == store.get_thread(thread_id).version

    asyncio.run(story())


def confirm_deletion(folder: Path, pathname: str, **changed: Any) -> tuple[int, httpx.Response]:
    """Confirm that a checkpoint is deleted; how many there are afterwards, and the answer."""

    async def story() -> tuple[int, httpx.Response]:
        async with opened(folder, auth="none") as (app, browser):
            action, thread_id = await open_dialog(app.services.store, browser, "delete-checkpoint")
            answer = await post_action(browser, "delete-checkpoint", action | changed, pathname)
            return len(app.services.store.list_checkpoints(thread_id)), answer

    return asyncio.run(story())


def test_a_confirmation_is_about_its_subject_wherever_the_page_is_by_now(tmp_path: Path) -> None:
    left, answer = confirm_deletion(tmp_path / "data", "/t/elsewhere")
    assert (left, answer.json()["delete-checkpoint"]["is_open"]) == (0, False)


def test_a_confirmation_without_a_subject_is_a_bad_request(tmp_path: Path) -> None:
    left, answer = confirm_deletion(tmp_path / "data", "/", thread=None)
    assert (left, answer.status_code) == (1, 400)


def test_a_subject_keeps_the_version_that_the_user_saw(tmp_path: Path) -> None:
    left, answer = confirm_deletion(tmp_path / "data", "/", version=1)
    assert left == 1
    assert "changed elsewhere" in answer.json()["head"]["data"]["toast"]["text"]


def test_a_confirmation_that_is_refused_closes_with_a_toast(tmp_path: Path) -> None:
    left, answer = confirm_deletion(tmp_path / "data", "/", checkpoint="none")
    assert (left, answer.json()["delete-checkpoint"]["is_open"]) == (1, False)
    assert "no longer exists" in answer.json()["head"]["data"]["toast"]["text"]
