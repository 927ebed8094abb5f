"""The changes after a turn make of the shown panels what reading them anew would show."""

import asyncio
from functools import partial
from typing import Any

import pytest

from agent.events import HeadMoved, RunFinished, RunStarted
from checkpoints import Caller, RunState
from components.page import PANELS, describe_turn, read_panels
from components.page_state import PageLocation
from components.properties import Properties
from components.services import Services
from components.streams import turns
from components.streams.thread_frames import stream_frames
from tests.checkpoints.conversations import new
from tests.components.parts import open_services


def change_data(data: dict[str, Any], change: Any) -> dict[str, Any]:
    """The same as `assets/modules/state/shown-panels.mjs`."""
    changed = {**data, **change.get("fields", {})}
    for name, common in change.get("every", {}).items():
        changed[name] = [{**item, **common} for item in changed[name]]
    for name, items in change.get("items", {}).items():
        for item in items:
            known = [each["id"] for each in changed[name]]
            place = known.index(item["id"]) if item["id"] in known else len(known)
            before = changed[name][place] if place < len(known) else {}
            changed[name] = [*changed[name][:place], {**before, **item}, *changed[name][place + 1 :]]
    for name, item in change.get("first", {}).items():
        changed[name] = [item, *(each for each in changed[name] if each["id"] != item["id"])]
    return changed


def apply(shown: Properties, turn: Any) -> Properties:
    changed = {identifier: dict(values) for identifier, values in shown.items()}
    for identifier, values in turn["properties"].items():
        changed[identifier] |= values
    for identifier, change in turn["data"].items():
        changed[identifier]["data"] = change_data(changed[identifier]["data"], change)
    return changed


def look(parts: Services, thread_id: str) -> Properties:
    with parts.store.database.begin_read():
        shown = read_panels(PANELS, parts, PageLocation(thread_id, {}))
    del shown["threads"]["data"]["seen"]  # the time of the reading
    return shown


async def say(parts: Services, thread_id: str | None, text: str) -> tuple[str, str]:
    run = await parts.runner.send(thread_id, text, caller=Caller())
    async with parts.hub.subscribe(run.thread_id) as following:
        while following.live_run is not None and not any(
            isinstance(event, RunFinished) for event in await following.receive()
        ):
            pass
    return run.thread_id, run.id


async def prepare(parts: Services, story: str) -> str:
    thread_id, _ = await say(parts, None, "Hello")
    await say(parts, None, "Another conversation")
    store = parts.store
    match story:
        case "a checkpoint at the head":
            store.save(thread_id, name="Here")
        case "a branch":
            store.fork(thread_id, store.list_messages(thread_id)[0].id)
        case "after a restore":
            saved = store.save(thread_id, name="Here").operation.result
            await say(parts, thread_id, "More")
            store.restore(thread_id, saved)  # type: ignore[arg-type]
        case "after an undo":
            store.save(thread_id, name="Here")
            store.undo(thread_id)
    return thread_id


def expect_same_as_a_reading(story: str, text: str) -> None:
    """Apply a turn to the panels of a conversation, and compare them with panels that are read anew."""

    async def play() -> None:
        async with open_services() as parts:
            thread_id = await prepare(parts, story)
            before = look(parts, thread_id)
            _, run_id = await say(parts, thread_id, text)
            turn = describe_turn(PANELS, parts, thread_id, run_id)
            assert turn is not None
            assert turn["base"] == before["transcript"]["data"]["version"]
            assert apply(before, turn) == look(parts, thread_id)

    asyncio.run(play())


STORIES = ["plain", "a checkpoint at the head", "a branch", "after a restore", "after an undo"]


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("text", ["And then?", "What is 12 * (3 + 4)?"])
def test_a_turn_applied_is_what_a_new_reading_shows(story: str, text: str) -> None:
    expect_same_as_a_reading(story, text)


@pytest.mark.parametrize("story", STORIES)
def test_a_turn_that_is_at_work_applied_is_what_a_new_reading_shows(story: str) -> None:
    async def play() -> None:
        async with open_services() as parts:
            thread_id = await prepare(parts, story)
            before = look(parts, thread_id)
            run = parts.runs.begin_run(thread_id, new("And then?")[0])
            turn = describe_turn(PANELS, parts, thread_id, run.id)
            assert turn is not None
            assert turn["version"] == parts.store.get_thread(thread_id).version
            assert apply(before, turn) == look(parts, thread_id)

    asyncio.run(play())


def test_the_end_of_a_run_brings_the_messages_that_a_dead_process_told_nobody_of() -> None:
    async def play() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id, _ = await say(parts, None, "Hello")
            frames = stream_frames(parts, thread_id, describe_turn=partial(describe_turn, PANELS))
            assert (await anext(frames))["run"] is None
            run = parts.runs.begin_run(thread_id, new("And then?")[0])
            parts.hub.deliver(thread_id, RunStarted(run.id, 3, None))
            before = look(parts, thread_id)
            parts.runs.commit_message(run, new("a question", "an answer")[1])
            version = parts.runs.end_run(run, RunState.INTERRUPTED)
            parts.hub.deliver(thread_id, RunFinished(run.id, RunState.INTERRUPTED, version))
            start, end = [await anext(frames) for _ in range(2)]
            assert (start["kind"], end["kind"]) == ("start", "end")
            assert apply(before, end["turn"]) == look(parts, thread_id)
            await frames.aclose()

    asyncio.run(play())


def test_a_turn_of_several_models_is_read_anew() -> None:
    async def play() -> None:
        async with open_services() as parts:
            thread_id, _ = await say(parts, None, "Hello")
            run = parts.runs.begin_run(thread_id, new("And then?")[0], models=["demo", "demo:brief"])
            assert describe_turn(PANELS, parts, thread_id, run.id) is None

    asyncio.run(play())


def test_a_turn_of_more_changes_than_usual_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "USUAL_OPERATIONS", 1)
    expect_same_as_a_reading("after an undo", "What is 12 * (3 + 4)?")


def test_a_run_that_wrote_nothing_leaves_undo_and_redo_as_they_are() -> None:
    async def play() -> None:
        async with open_services() as parts:
            thread_id, _ = await say(parts, None, "Hello")
            parts.store.save(thread_id, name="Here")
            parts.store.undo(thread_id)
            before = look(parts, thread_id)
            run = parts.runs.begin_run(thread_id, None)
            parts.runs.end_run(run, RunState.FAILED)
            turn = describe_turn(PANELS, parts, thread_id, run.id)
            assert turn is not None
            assert apply(before, turn) == look(parts, thread_id)

    asyncio.run(play())


def test_a_turn_in_which_more_happened_is_read_anew() -> None:
    async def play() -> None:
        async with open_services() as parts:
            thread_id, run_id = await say(parts, None, "Hello")
            parts.store.rename_thread(thread_id, "Another title", caller=Caller(undo_group=run_id))
            assert describe_turn(PANELS, parts, thread_id, run_id) is None

    asyncio.run(play())


def test_a_turn_that_closes_the_calls_of_the_one_before_is_read_anew() -> None:
    async def play() -> None:
        async with open_services() as parts:
            thread_id, _ = await say(parts, None, "Hello")
            question, closing = new("never mind", "not carried out")
            run = parts.runs.begin_run(thread_id, question, closing_messages=[closing])
            parts.runs.end_run(run, RunState.DONE)
            assert describe_turn(PANELS, parts, thread_id, run.id) is None

    asyncio.run(play())


def give_title(parts: Services, thread_id: str) -> int:
    run = parts.runs.get_latest_run(thread_id)
    assert run is not None
    receipt = parts.runs.give_title(run, "A word of greeting", model="demo", usage={})
    assert receipt is not None
    return receipt.version


def test_a_title_applied_is_what_a_new_reading_shows() -> None:
    async def play() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id, _ = await say(parts, None, "Hello")
            frames = stream_frames(parts, thread_id, describe_turn=partial(describe_turn, PANELS))
            assert (await anext(frames))["run"] is None
            before = look(parts, thread_id)
            version = give_title(parts, thread_id)
            parts.hub.publish(thread_id, HeadMoved(version))
            frame = await anext(frames)
            assert (frame["kind"], frame["version"]) == ("head", version)
            assert apply(before, frame["turn"]) == look(parts, thread_id)
            await frames.aclose()

    asyncio.run(play())


def test_a_turn_whose_title_came_first_is_what_a_new_reading_shows() -> None:
    async def play() -> None:
        async with open_services() as parts:
            thread_id, run_id = await say(parts, None, "Hello")
            before = look(parts, thread_id)
            give_title(parts, thread_id)
            turn = describe_turn(PANELS, parts, thread_id, run_id)
            assert turn is not None
            assert turn["base"] == 0
            assert apply(before, turn) == look(parts, thread_id)

    asyncio.run(play())


def test_another_change_than_a_title_is_read_anew() -> None:
    async def play() -> None:
        async with open_services() as parts:
            thread_id, _ = await say(parts, None, "Hello")
            give_title(parts, thread_id)
            parts.store.rename_thread(thread_id, "Another title")
            assert describe_turn(PANELS, parts, thread_id, None) is None
            parts.store.save(thread_id, name="Here")
            assert describe_turn(PANELS, parts, thread_id, None) is None

    asyncio.run(play())
