"""The branches of a conversation come in portions, and the current one always."""

import asyncio
from typing import Any

from checkpoints import Caller, Store
from components.actions import Action, ActionFields
from components.page_state import PageLocation
from components.panels import timeline
from components.panels.timeline import PORTION_BRANCHES
from tests.checkpoints.conversations import talked
from tests.components.parts import open_services

COUNT = 2 * PORTION_BRANCHES + 50


def write_branches(store: Store) -> str:
    """Make branches; the first one is the current one."""
    thread_id = talked(store, "a", "b")
    first = store.get_thread(thread_id).branch_id
    for _ in range(COUNT - 1):
        store.fork(thread_id, None)
    store.switch(thread_id, first)
    return thread_id


def ask_for_branches(count: int | None = None) -> tuple[list[str], dict[str, Any]]:
    """Return the names of all branches, and the portion of a view, or of an action."""

    async def story() -> tuple[list[str], dict[str, Any]]:
        async with open_services() as services:
            thread_id = write_branches(services.store)
            names = [branch.name for branch, _ in services.store.list_branches(thread_id)]
            if count is None:
                [shown] = timeline.show(services, PageLocation(thread_id, {}))
                return names, shown
            action = Action("branches", ActionFields(count=count), Caller(), thread_id)
            return names, (await timeline.ACTIONS[timeline.Ids.LIST]["branches"](services, action)).reply

    return asyncio.run(story())


def test_a_view_sends_the_newest_branches_and_the_current_one() -> None:
    names, shown = ask_for_branches()
    assert [row["name"] for row in shown["branches"]] == [names[0], *names[-PORTION_BRANCHES:]]
    assert [row["current"] for row in shown["branches"]] == [True] + [False] * PORTION_BRANCHES
    assert shown["branch_count"] == COUNT


def test_more_branches_are_sent_when_the_page_asks_for_them() -> None:
    names, portion = ask_for_branches(2 * PORTION_BRANCHES)
    assert [row["name"] for row in portion["branches"]] == [names[0], *names[-2 * PORTION_BRANCHES :]]
    names, portion = ask_for_branches(10 * COUNT)
    assert [row["name"] for row in portion["branches"]] == names
    assert [row["name"] for row in ask_for_branches(-1)[1]["branches"]] == names[:1]
