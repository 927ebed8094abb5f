"""Undo and Redo change the conversation that the page shows, at the version that it shows."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from components.panels.undo_redo import Ids
from tests.checkpoints.conversations import new, talked
from tests.running_app import opened, post_action, request_panels


def test_no_callback_sends_back_the_contents_of_a_panel(tmp_path: Path) -> None:
    """They may be larger than a request can be; a reference is enough."""

    async def story() -> tuple[set[str], set[str]]:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            callbacks = (await browser.get("/_dash-dependencies")).json()
            parts = [
                part for each in callbacks if not each["clientside_function"] for part in each["inputs"] + each["state"]
            ]
            shown = (await request_panels(browser, "/")).json()
            contents = {f"{identifier}.{name}" for identifier, values in shown.items() for name in values}
            return {f"{part['id']}.{part['property']}" for part in parts}, contents

    sent_back, contents = asyncio.run(story())
    assert "transcript.data" in contents
    assert sent_back
    assert sent_back & contents <= {"undo-state.data"}  # the conversation, and its version


def test_undo_and_redo_change_the_shown_version_and_no_later_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("components.services.MAX_READ_SECONDS", 600.0)  # a busy machine reads, too

    async def story() -> list[int]:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store = app.services.store
            thread_id = talked(store, "a", "b")
            store.append(thread_id, new("c"))

            async def press(button: Ids, shown: Any = None) -> int:
                if shown is None:
                    shown = (await request_panels(browser, f"/t/{thread_id}")).json()[Ids.SHOWN_STATE]["data"]
                action = {"type": str(button), "request_id": f"press-{shown['version']}", **shown}
                reply = (await post_action(browser, "log", action, f"/t/{thread_id}")).json()
                assert reply["panels"]["transcript"]["data"]["version"] == store.get_thread(thread_id).version
                return store.count_messages(thread_id)

            shown = {"thread": thread_id, "version": store.get_thread(thread_id).version}
            lengths = [
                await press(Ids.UNDO),
                await press(Ids.UNDO, shown),
                await press(Ids.REDO),
            ]  # the second: a repetition
            return [*lengths, await press(Ids.UNDO, shown | {"version": shown["version"] - 1})]

    assert asyncio.run(story()) == [2, 2, 3, 3]


def test_the_menu_has_what_can_apply(tmp_path: Path) -> None:
    """Without a sign-in there are no sessions and nobody to audit, and the start page has no conversation."""

    async def story() -> tuple[dict[str, bool], dict[str, bool]]:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread_id = talked(app.services.store, "a", "b")
            ids = ("sessions", "audit", "show-log", "export", "share", Ids.CHANGES)
            shown = [(await request_panels(browser, path)).json() for path in ("/", f"/t/{thread_id}")]
            start, conversation = [{name: each[name]["hidden"] for name in ids} for each in shown]
            return start, conversation

    start, conversation = asyncio.run(story())
    assert all(start.values())
    assert [name for name, is_hidden in conversation.items() if is_hidden] == ["sessions", "audit"]
