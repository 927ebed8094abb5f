"""The sockets of pages: the pages of a conversation share what they read, and a page that does not read is closed."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.datastructures import QueryParams

from checkpoints import Thread
from components.broadcasts import Frame
from components.routes import stream
from components.routes.open_pages import MAX_THREAD_PAGES, OpenPages
from components.services import Services
from tests.components.parts import open_services


class Socket:
    """A page's socket that reads nothing. It closes when the server closes it."""

    def __init__(self, query: str = "") -> None:
        self.query_params = QueryParams(query)
        self.sent: list[Frame] = []
        self.code: int | None = None

    async def send_text(self, text: str) -> None:
        self.sent.append(json.loads(text))

    async def receive_text(self) -> str:
        await asyncio.Event().wait()
        return ""

    async def close(self, code: int) -> None:
        self.code = code


@asynccontextmanager
async def serve_sockets(parts: Services, pages: OpenPages, thread_id: str, count: int) -> AsyncIterator[list[Socket]]:
    """Serve so many sockets of one conversation until the block ends."""
    sockets: list[Any] = [Socket() for _ in range(count)]
    serving = [asyncio.create_task(stream._serve_page(each, parts, pages, thread_id)) for each in sockets]
    try:
        yield sockets
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


def test_many_pages_that_open_at_once_read_the_database_once() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id, get_thread, reads = parts.store.create_thread().id, parts.store.get_thread, []

            def count_and_get(identifier: str) -> Thread:
                reads.append(identifier)
                return get_thread(identifier)

            parts.store.get_thread = count_and_get  # type: ignore[method-assign]
            async with serve_sockets(parts, OpenPages(), thread_id, 200) as sockets:
                while sum(bool(each.sent) for each in sockets) < MAX_THREAD_PAGES:  # noqa: ASYNC110  (sockets have no event)
                    await asyncio.sleep(0.005)
                assert [each.code for each in sockets] == [1013] * (200 - MAX_THREAD_PAGES) + [None] * MAX_THREAD_PAGES
            assert reads == [thread_id]

    asyncio.run(story())


def test_the_pages_of_one_conversation_keep_no_page_of_another_from_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_all_but_the_slow_one(parts: Services, identifier: str) -> int:
        await (asyncio.Event().wait() if identifier == "slow" else asyncio.sleep(0))
        return 1

    async def story() -> None:
        async with asyncio.timeout(30), open_services() as parts:
            pages = OpenPages()
            async with (
                serve_sockets(parts, pages, "slow", MAX_THREAD_PAGES),
                serve_sockets(parts, pages, "quick", 1) as [page],
            ):
                while not page.sent:  # noqa: ASYNC110  (as above)
                    await asyncio.sleep(0.005)
                assert page.code is None

    monkeypatch.setattr(Services, "read_version", read_all_but_the_slow_one)
    asyncio.run(story())


def test_the_page_of_a_conversation_that_is_gone_is_closed_for_good() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            socket: Any = Socket()
            await stream._serve_page(socket, parts, OpenPages(), str(uuid.uuid4()))
            assert (socket.sent, socket.code) == ([], 4404)

    asyncio.run(story())


def test_a_page_that_does_not_read_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        query_params = QueryParams("")
        begun = 0

        async def send_text(self, text: str) -> None:
            self.begun += 1
            await asyncio.Event().wait()

    async def story() -> None:
        async with asyncio.timeout(30), open_services() as parts:
            silent: Any = Silent()
            await stream._send_frames(silent, parts, parts.store.create_thread().id)
            assert silent.begun == 1

    monkeypatch.setattr(stream, "MAX_SEND_SECONDS", 0.05)
    asyncio.run(story())
