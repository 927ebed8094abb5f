"""The example of the first screen is each person's own, once, and goes like any conversation."""

import asyncio
from datetime import timedelta
from pathlib import Path

from checkpoints import Store, act_for
from checkpoints.interchange import transfer
from checkpoints.values.answer_spec import read_spec
from components.panels.example import build_example
from tests.running_app import opened, post_action, request_panels
from words import set_language


def test_a_press_makes_it_once_and_another_after_its_deletion(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store = app.services.store
            start = (await request_panels(browser, "/")).json()
            assert start["transcript"]["data"]["example"] is True
            made = set()
            for number in range(3):
                action = {"type": "example", "request_id": f"press-{number}"}
                reply = (await post_action(browser, "transcript", action, "/")).json()
                made.add(reply["head"]["data"]["go"])
                if number == 1:
                    [thread] = store.list_threads()
                    assert len(made) == 1
                    assert len(store.list_branches(thread.id)) == 2
                    assert [each.name for each in store.list_checkpoints(thread.id)] == ["First plan"]
                    store.delete_thread(thread.id)
            assert len(made) == 2
            [thread] = store.list_threads()
            store.undo(thread.id)
            assert store.list_threads() == []

    asyncio.run(story())


def test_its_times_are_near_and_its_answers_name_the_model_of_the_demo(memory_store: Store) -> None:
    now = memory_store.now()
    thread_id = transfer.import_thread(memory_store, build_example(now)).result or ""
    times = [each.created_at for each in memory_store.list_messages(thread_id)]
    [saved] = [each.timestamp for each in memory_store.list_checkpoints(thread_id)]
    assert times == sorted(set(times))
    assert saved == times[1]
    assert all(now - timedelta(minutes=10) < each <= now for each in times)
    answers = [each for each in memory_store.list_messages(thread_id) if each.type == "ai"]
    assert {read_spec(each.body["data"]["response_metadata"]) for each in answers} == {"demo"}
    later = transfer.import_thread(memory_store, build_example(now + timedelta(days=1)))
    assert (later.repeated, later.result) == (True, thread_id)


def test_each_person_has_their_own(memory_store: Store) -> None:
    memory_store.database.separate_owners()
    made = []
    for person in ("ann", "bob"):
        with act_for(person):
            made.append(transfer.import_thread(memory_store, build_example(memory_store.now())).result)
            assert [each.id for each in memory_store.list_threads()] == made[-1:]
    assert len(set(made)) == 2


def test_both_languages_can_be_side_by_side(memory_store: Store) -> None:
    try:
        for language in ("en", "de"):
            set_language(language)
            transfer.import_thread(memory_store, build_example(memory_store.now()))
    finally:
        set_language("en")
    assert len(memory_store.list_threads()) == 2
