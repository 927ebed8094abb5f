"""The pages of other conversations learn of the end of a run by one frame, which is read once for all of them."""

import asyncio
from typing import Any

import pytest

from checkpoints import Caller, StoreUnavailableError
from components import list_broadcast
from components.broadcasts import Frame
from components.services import Services
from components.streams import list_changes
from components.streams.thread_frames import stream_frames
from tests.components.parts import open_services

MAX_SECONDS = 60  # on a machine however busy


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_broadcast, "PAUSE_SECONDS", 0.05)


class Follower:
    """A page of a conversation: the frames that it got."""

    def __init__(self, services: Services, thread_id: str) -> None:
        self.frames: list[Frame] = []
        self._task = asyncio.create_task(self._follow(services, thread_id))

    async def _follow(self, services: Services, thread_id: str) -> None:
        async for frame in stream_frames(services, thread_id):
            self.frames.append(frame)

    @property
    def changes(self) -> list[Any]:
        return [frame["change"] for frame in self.frames if frame["kind"] == "list"]

    async def wait(self, kind: str) -> None:
        async with asyncio.timeout(MAX_SECONDS):
            while kind not in [frame["kind"] for frame in self.frames]:  # noqa: ASYNC110  (frames tell nobody)
                await asyncio.sleep(0.01)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Note each reading of what ends change."""
    reads, read = list[None](), list_changes._read_change

    def note(*given: Any) -> Any:
        reads.append(None)
        return read(*given)

    monkeypatch.setattr(list_changes, "_read_change", note)
    return reads


def test_an_end_is_told_to_the_pages_of_other_conversations_by_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = count_reads(monkeypatch)

    async def story() -> None:
        async with open_services() as services:
            own, *others = [services.store.create_thread(title=f"Number {n}").id for n in range(3)]
            answering, *told = [Follower(services, each) for each in (own, *others, others[0])]
            for page in (answering, *told):
                await page.wait("hello")
            await services.runner.send(own, "hello", caller=Caller())
            for page in told:
                await page.wait("list")
                (change,) = page.changes
                assert change["fields"] == {"running": [], "waiting": []}
                assert [(row["id"], row["title"]) for row in change["threads"]] == [(own, "Number 0")]
            assert (answering.changes, len(reads)) == ([], 1)
            for page in (answering, *told):
                await page.close()

    asyncio.run(story())


def test_a_page_alone_is_told_of_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = count_reads(monkeypatch)

    async def story() -> None:
        async with open_services() as services:
            own, other = services.store.create_thread().id, services.store.create_thread().id
            pages = [Follower(services, own) for _ in range(2)]
            for page in pages:
                await page.wait("hello")
            await services.runner.send(own, "hello", caller=Caller())
            await pages[0].wait("end")
            assert not services.list_broadcast._changed
            for page in pages:
                await page.close()
            await services.runner.send(other, "hello", caller=Caller())  # nobody follows
            while services.hub.active_run_count:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            assert (services.list_broadcast._changed, reads) == ({}, [])

    asyncio.run(story())


def test_a_later_end_is_told_after_one_that_could_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read, fails = list_changes._read_change, [StoreUnavailableError(), ValueError("unexpected")]

    def fail_first(*given: Any) -> Any:
        if fails:
            raise fails.pop()
        return read(*given)

    monkeypatch.setattr(list_changes, "_read_change", fail_first)

    async def story() -> None:
        async with open_services() as services:
            shown, *others = [services.store.create_thread().id for _ in range(4)]
            page = Follower(services, shown)
            await page.wait("hello")
            for number, other in enumerate(others):
                await services.runner.send(other, "hello", caller=Caller())
                while number < 2 and len(fails) > 1 - number:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            await page.wait("list")
            assert [row["id"] for change in page.changes for row in change["threads"]] == [others[-1]]
            await page.close()

    asyncio.run(story())
