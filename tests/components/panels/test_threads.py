"""The list of conversations as the page gets it: first a portion, then what has changed, and several changed at once."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.datastructures import QueryParams

from checkpoints.values.limits import MAX_SELECTED_THREADS, MAX_TAGS
from components.actions import Action
from components.page_state import PageLocation
from components.panels import threads, toast
from components.routes import thread_list
from components.services import Services
from components.shapes import MalformedRequestError
from tests.app_process import ROOT
from tests.components.parts import open_services


def run(story: Callable[[Services], Awaitable[None]]) -> None:
    async def play() -> None:
        async with open_services() as services:
            await story(services)

    asyncio.run(play())


def read(services: Services, seen: str | None = None) -> dict[str, Any]:
    return threads.show(services, PageLocation(None, {}, None, seen and datetime.fromisoformat(seen)))["threads"]["data"]  # type: ignore[arg-type]


def fill(services: Services, count: int) -> list[str]:
    return [services.store.create_thread(title=f"Number {number}").id for number in range(count)]


def test_a_page_that_has_the_list_gets_only_what_has_changed() -> None:
    async def story(services: Services) -> None:
        now = datetime.now(UTC)
        services.store.now = lambda: now - timedelta(hours=1)
        made = fill(services, 150)
        services.store.now = lambda: now
        first = read(services)
        assert (len(first["threads"]), first["more"], first["since"]) == (100, True, None)
        services.store.now = lambda: now + timedelta(minutes=30)
        services.store.rename_thread(made[0], "New")
        services.store.archive_thread(made[1], archived=True)
        changed = read(services, first["seen"])
        assert ([each["title"] for each in changed["threads"]], changed["gone"]) == (["New"], [made[1]])
        assert read(services, changed["seen"])["since"] == changed["seen"]
        services.store.now = lambda: now  # the clock was set back
        assert read(services, changed["seen"])["since"] is None

    run(story)


def test_several_are_archived_or_deleted_with_one_undo() -> None:
    async def story(services: Services) -> None:
        made = fill(services, 3)
        gone = services.store.create_thread().id
        services.store.delete_thread(gone)
        fields = {"type": "archive", "request_id": "a", "threads": [*made, gone], "archived": True}
        answer = await threads.ACTIONS["threads"]["archive"](services, Action.parse(fields, None))
        assert answer.update is not None
        notice = answer.update["toast"]
        assert notice["text"] == "Archived 3 conversations"
        assert services.store.list_thread_portion() == []
        undo = notice["undo"]
        assert undo is not None
        services.store.rename_thread(made[1], "Changed meanwhile")
        assert len(await toast.undo_changes(services, undo)) == 1
        assert {thread.id for thread in services.store.list_thread_portion()} == {made[0], made[2]}

    run(story)


def test_several_are_tagged_with_one_undo_and_rows_have_ids_whose_names_come_once() -> None:
    async def story(services: Services) -> None:
        made = fill(services, 3)
        services.store.tag_thread(made[0], add=["Work"])
        fields = {"type": "tag", "request_id": "a", "threads": made, "add": ["work"], "remove": []}
        answer = await threads.ACTIONS["threads"]["tag"](services, Action.parse(fields, None))
        assert answer.update is not None
        notice = answer.update["toast"]
        assert (notice["text"], notice["undo"] and len(notice["undo"]["others"])) == (
            "Changed the tags of 2 conversations",
            1,
        )
        shown = read(services)
        [tag] = shown["tags"]
        assert (tag["name"], [each["tags"] for each in shown["threads"]]) == ("Work", [[tag["id"]]] * 3)
        assert notice["undo"] is not None
        await toast.undo_changes(services, notice["undo"])
        assert [each.id for each in services.store.list_thread_portion(text="tag:work")] == [made[0]]
        with pytest.raises(MalformedRequestError):
            Action.parse({**fields, "add": ["x"] * (MAX_TAGS + 1)}, None)

    run(story)


def test_an_action_takes_as_many_conversations_as_the_page_selects() -> None:
    fields = {"type": "archive", "request_id": "a", "archived": True}
    taken = Action.parse({**fields, "threads": ["x"] * MAX_SELECTED_THREADS}, None)
    assert len(taken.fields["threads"]) == MAX_SELECTED_THREADS
    with pytest.raises(MalformedRequestError, match=r"^At most 1,000 conversations can be named at once\.$"):
        Action.parse({**fields, "threads": ["x"] * (MAX_SELECTED_THREADS + 1)}, None)
    selection = (ROOT / "assets/modules/threads/selection.mjs").read_text()
    assert f"const MAX_SELECTED = {MAX_SELECTED_THREADS};" in selection  # which says the limit


@pytest.mark.parametrize("query", [{"view": "none"}, {"limit": "-1"}, {"after": "x", "updated": "soon"}])
def test_a_portion_that_no_page_asks_for_is_a_bad_request(query: dict[str, str]) -> None:
    async def story(services: Services) -> None:
        with pytest.raises(MalformedRequestError):
            thread_list.read_query(services.store, QueryParams(query))

    run(story)


def test_the_next_portion_follows_the_last_row_of_the_page() -> None:
    async def story(services: Services) -> None:
        fill(services, 5)
        first = thread_list.read_query(services.store, QueryParams({"limit": "3"}))
        last = first["threads"][-1]
        place = {"after": last["id"], "updated": last["updated"], "pinned": "false"}
        rest = thread_list.read_query(services.store, QueryParams(place))
        titles = [each["title"] for each in first["threads"] + rest["threads"]]
        assert (sorted(titles), first["more"], rest["more"]) == ([f"Number {number}" for number in range(5)], True, False)

    run(story)
