"""The branches and the checkpoints of a conversation come in portions, and the current ones always."""

import asyncio
from typing import Any

from checkpoints import Caller, Store
from components.actions import Action, ActionFields
from components.page_state import PageLocation
from components.panels import history
from components.panels.history import PORTION_BRANCHES, PORTION_CHECKPOINTS
from components.views.list_rows import MAX_SHOWN_DESCRIPTION_CHARS
from tests.checkpoints.conversations import new, talked
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
                return names, history.show(services, PageLocation(thread_id, {}))[history.Ids.LIST]["data"]
            action = Action("portion", ActionFields(count=count, text=""), Caller(), thread_id)
            return names, (await history.ACTIONS[history.Ids.LIST]["portion"](services, action)).reply

    return asyncio.run(story())


def test_a_view_sends_the_newest_branches_and_the_current_one() -> None:
    names, shown = ask_for_branches()
    assert [row["name"] for row in shown["branches"]] == [names[0], *names[-PORTION_BRANCHES:]]
    assert [row["current"] for row in shown["branches"]] == [True] + [False] * PORTION_BRANCHES
    assert shown["branch_count"] == COUNT


def test_more_branches_are_sent_when_the_page_asks_for_them() -> None:
    names, portion = ask_for_branches(2)
    assert [row["name"] for row in portion["branches"]] == [names[0], *names[-2 * PORTION_BRANCHES :]]
    names, portion = ask_for_branches(10)
    assert [row["name"] for row in portion["branches"]] == names
    assert len(ask_for_branches(-1)[1]["branches"]) == 1 + PORTION_BRANCHES


def test_a_search_finds_branches_that_the_page_does_not_hold_and_their_checkpoints() -> None:
    async def story() -> dict[str, Any]:
        async with open_services() as services:
            store, thread_id = services.store, write_branches(services.store)
            current, named, other = (branch.id for branch, _ in store.list_branches(thread_id)[:3])
            store.rename_branch(thread_id, named, "A Heron")
            store.switch(thread_id, other)
            store.append(thread_id, new("there"))
            store.save(thread_id, name="heron's place")
            store.switch(thread_id, current)
            action = Action("portion", ActionFields(count=1, text="heron"), Caller(), thread_id)
            reply = (await history.ACTIONS[history.Ids.LIST]["portion"](services, action)).reply
            assert isinstance(reply, dict)
            return reply

    found = asyncio.run(story())
    assert [(row["name"], row["current"]) for row in found["branches"]] == [("main", True), ("A Heron", False)]
    assert [row["name"] for row in found["elsewhere"]] == ["heron's place"]


def save_many(store: Store) -> str:
    """Save checkpoints on the first message, the first of them pinned; the newest but one is alone at the head."""
    thread_id = store.create_thread().id
    store.append(thread_id, new("a"))
    for number in range(PORTION_CHECKPOINTS + 50):
        store.save(thread_id, name=f"Place {number}", description="x" * 10_000 if number % 100 == 0 else "A needle")
    store.change_checkpoint(thread_id, store.list_checkpoints(thread_id)[0].id, pinned=True)
    return thread_id


def ask_for_checkpoints(*, count: int = 0, words: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """Return the portion of a view, or of an action with words, and the names in it."""

    async def story() -> dict[str, Any]:
        async with open_services() as services:
            thread_id = save_many(services.store)
            if words is None:
                return history.show(services, PageLocation(thread_id, {}))[history.Ids.LIST]["data"]
            action = Action("portion", ActionFields(count=count, text=words), Caller(), thread_id)
            reply = (await history.ACTIONS[history.Ids.LIST]["portion"](services, action)).reply
            assert isinstance(reply, dict)
            return reply

    shown = asyncio.run(story())
    return shown, [row["name"] for row in shown["checkpoints"]]


def test_a_view_sends_the_newest_checkpoints_and_the_pinned_ones() -> None:
    shown, names = ask_for_checkpoints()
    assert names == ["Place 0", *(f"Place {50 + number}" for number in range(PORTION_CHECKPOINTS))]
    assert shown["checkpoint_count"] == PORTION_CHECKPOINTS + 50
    assert [row["name"] for row in shown["checkpoints"] if row["here"]] == [names[-1]]


def test_more_checkpoints_are_sent_when_the_page_asks_for_them() -> None:
    assert len(ask_for_checkpoints(count=2, words="")[1]) == PORTION_CHECKPOINTS + 50
    assert len(ask_for_checkpoints(count=-1, words="")[1]) == PORTION_CHECKPOINTS + 1


def test_a_search_finds_checkpoints_that_the_page_does_not_hold() -> None:
    assert ask_for_checkpoints(count=1, words="PLACE 7")[1] == [
        "Place 7",
        *(f"Place {n}" for n in range(70, 80)),
    ]
    shown, names = ask_for_checkpoints(count=1, words="needle")
    assert (len(names), names[-1], shown["checkpoint_count"]) == (PORTION_CHECKPOINTS, "Place 249", PORTION_CHECKPOINTS + 47)


def test_a_long_description_is_cut_and_names_the_address_of_the_whole() -> None:
    row = ask_for_checkpoints()[0]["checkpoints"][0]
    assert len(row["description"]) == MAX_SHOWN_DESCRIPTION_CHARS
    assert row["more"]["chars"] == 10_000 - MAX_SHOWN_DESCRIPTION_CHARS
    assert row["more"]["address"].endswith(f"/checkpoints/{row['id']}/description")
