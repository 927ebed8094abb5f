"""A thing in memory is found under its id by the person alone who put it there."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from agent.events import MessageAdded
from checkpoints import ThreadNotFoundError, act_for
from checkpoints.values.progress import Progress
from components.people import name_for_owner
from components.routes.stream import MAX_UNREAD_THREAD_PAGES, OpenPages
from components.services import Services
from components.streams.thread_frames import stream_frames
from components.transfers import uploads
from components.transfers.long_requests import LongRequests
from components.transfers.uploads import Uploads
from tests.checkpoints.conversations import new
from tests.components.parts import open_services


def test_an_upload_is_found_and_dropped_by_its_person_alone() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"x"

    async def story() -> None:
        kept = Uploads()
        with act_for("ann"):
            upload = await kept.receive(pieces())
        with act_for("bob"):
            assert await kept.find(upload) is None
            await kept.forget(upload)
        with act_for("ann"):
            assert await kept.find(upload)
            await kept.forget(upload)
            assert await kept.find(upload) is None

    asyncio.run(story())


def test_uploads_of_one_person_push_out_none_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MAX_KEPT_BYTES", 100)
    monkeypatch.setattr(uploads, "MAX_KEPT_UPLOADS", 5)

    async def pieces(*sizes: int) -> AsyncIterator[bytes]:
        for size in sizes:
            yield bytes(size)

    async def story() -> None:
        kept = Uploads()
        with act_for("bob"):
            of_bob = await kept.receive(pieces(20, 10))
        with act_for("ann"):
            for _ in range(8):
                await kept.receive(pieces(0))  # many
            for _ in range(8):
                of_ann = await kept.receive(pieces(10, 10))  # large
            assert await kept.find(of_ann)
            whole = await kept.receive(pieces(*[10] * 7))
            assert await kept.find(whole)
            assert await kept.find(of_ann) is None
        with act_for("bob"):
            assert await kept.find(of_bob)

    asyncio.run(story())


def test_a_request_is_followed_and_cancelled_by_its_person_alone() -> None:
    async def story() -> None:
        requests = LongRequests()
        with act_for("ann"):
            async with requests.follow("one") as own:
                own.report(Progress("Exporting"))
                with act_for("bob"):
                    async with requests.follow("one"):
                        assert await requests.find_progress("one") is None
                        await requests.cancel("one")
                assert await requests.find_progress("one") == Progress("Exporting")
                own.report(Progress("Exporting"))

    asyncio.run(story())


def test_no_number_of_pages_takes_the_places_of_another_person() -> None:
    async def story() -> None:
        pages, tasks = OpenPages(), [asyncio.create_task(asyncio.sleep(60)) for _ in range(MAX_UNREAD_THREAD_PAGES + 2)]
        places = []
        for number, task in enumerate(tasks):
            with act_for("bob" if number else "ann"):
                places.append(pages.enter(name_for_owner("thread"), task))
                places[-1].__enter__()
        assert [pages.was_replaced(task) for task in tasks[:3]] == [False, True, False]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(story())


def test_a_version_that_two_people_ask_for_at_once_is_told_to_its_owner_alone() -> None:
    async def story() -> None:
        async with open_services() as services:
            thread_id = separate(services)
            asked = []
            for person in ("bob", "ann"):
                with act_for(person):
                    asked.append(asyncio.create_task(services.read_version(thread_id)))
            theirs, own = await asyncio.gather(*asked, return_exceptions=True)
            assert (type(theirs), own) == (ThreadNotFoundError, 1)

    asyncio.run(story())


def test_a_page_gets_its_frames_though_another_person_asked_for_them_first() -> None:
    async def story() -> None:
        async with open_services() as services:
            thread_id = separate(services)
            streams, asked = [], []
            for person in ("bob", "ann"):
                with act_for(person):
                    streams.append(stream_frames(services, thread_id))
                    asked.append(asyncio.create_task(anext(streams[-1])))
            theirs, hello = await asyncio.gather(*asked, return_exceptions=True)
            assert isinstance(theirs, ThreadNotFoundError)
            assert isinstance(hello, dict)
            with act_for("ann"):
                [question] = services.store.list_messages(thread_id)
                services.hub.publish(thread_id, MessageAdded(question, 1))
                frame = await anext(streams[-1])
            assert (frame["kind"], frame["message"]["id"]) == ("message", question.id)
            for stream in streams:
                await stream.aclose()

    asyncio.run(story())


def separate(services: Services) -> str:
    """Separate owners; the id of a conversation of Ann's."""
    services.store.database.separate_owners()
    with act_for("ann"):
        thread_id = services.store.create_thread().id
        services.store.append(thread_id, new("Good morning"))
    return thread_id


@pytest.mark.parametrize(("owner", "name"), [("ann", "smith thread"), ("ann smith", "thread en"), ("annsmith", "thread")])
def test_no_name_of_a_person_and_of_a_thing_are_another_persons_together(owner: str, name: str) -> None:
    with act_for("ann smith"):
        own = name_for_owner("thread")
    with act_for(owner):
        assert name_for_owner(name) != own
