"""Undo and Redo change the conversation that the page shows, at the version that it shows."""

import asyncio
from pathlib import Path
from typing import Any

from components.page import PANELS
from components.panels.undo_redo import Ids
from tests.checkpoints.conversations import new, talked
from tests.test_app import opened, post_callback, request_panels


def test_no_callback_sends_back_the_contents_of_a_panel(tmp_path: Path) -> None:
    """They may be larger than a request can be; a reference is enough."""
    contents = {f"{identifier}.{name}" for panel in PANELS for identifier, name in panel.shown}

    async def story() -> set[str]:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            callbacks = (await browser.get("/_dash-dependencies")).json()
            parts = [
                part for each in callbacks if not each["clientside_function"] for part in each["inputs"] + each["state"]
            ]
            return {f"{part['id']}.{part['property']}" for part in parts}

    assert asyncio.run(story()) & contents == {f"{Ids.SHOWN_STATE}.data"}


def test_undo_and_redo_change_the_shown_version_and_no_later_one(tmp_path: Path) -> None:
    async def story() -> list[int]:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store = app.services.store
            thread_id = talked(store, "a", "b")
            store.append(thread_id, new("c"))

            async def click(button: Ids, shown: Any = None) -> int:
                if shown is None:
                    shown = (await request_panels(browser, f"/t/{thread_id}")).json()[Ids.SHOWN_STATE]["data"]
                await post_callback(browser, f"{button}.n_clicks", {f"{Ids.SHOWN_STATE}.data": shown})
                return store.count_messages(thread_id)

            version = store.get_thread(thread_id).version
            lengths = [await click(Ids.UNDO), await click(Ids.REDO)]
            return [*lengths, await click(Ids.UNDO, {"thread": thread_id, "version": version})]

    assert asyncio.run(story()) == [2, 3, 3]
