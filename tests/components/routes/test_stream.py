"""The sockets of pages: the pages of a conversation share what they read, and a page that does not read is closed."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from checkpoints import Caller
from checkpoints.values.model import ThreadProgress
from components.broadcasts import Frame
from components.routes import stream
from components.routes.stream import MAX_UNREAD_THREAD_PAGES, OpenPages
from components.services import Services
from components.streams.thread_frames import stream_frames
from tests.components.parts import open_services


class Socket:
    """A page's socket that sends back no receipt, unless it is told to. It closes when the server closes it."""

    def __init__(self, receipt: Callable[[Frame], str] | None = None) -> None:
        self._receipt, self._receipts = receipt, asyncio.Queue[str]()
        self.sent: list[Frame] = []
        self.code: int | None = None

    async def send_text(self, text: str) -> None:
        self.sent.append(json.loads(text))
        if self._receipt:
            self._receipts.put_nowait(self._receipt(self.sent[-1]))

    def receive(self, text: str) -> None:
        """Let the page send a text."""
        self._receipts.put_nowait(text)

    async def receive_text(self) -> str:
        return await self._receipts.get()

    async def close(self, code: int) -> None:
        self.code = code


@asynccontextmanager
async def serve_sockets(
    parts: Services, pages: OpenPages, thread_id: str, count: int, receipt: Callable[[Frame], str] | None = None
) -> AsyncIterator[list[Socket]]:
    """Serve so many sockets of one conversation until the block ends."""
    sockets: list[Any] = [Socket(receipt=receipt) for _ in range(count)]
    serving = [
        asyncio.create_task(stream._serve_page(each, partial(stream_frames, parts), pages, thread_id)) for each in sockets
    ]
    try:
        yield sockets
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


def test_many_pages_that_open_at_once_read_the_database_once() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id, get_progress, reads = parts.store.create_thread().id, parts.store.get_progress, []

            def count_and_get(identifier: str) -> ThreadProgress:
                reads.append(identifier)
                return get_progress(identifier)

            parts.store.get_progress = count_and_get  # type: ignore[method-assign]
            async with serve_sockets(parts, OpenPages(), thread_id, 200) as sockets:
                while sum(bool(each.sent) for each in sockets) < MAX_UNREAD_THREAD_PAGES:  # noqa: ASYNC110  (sockets have no event)
                    await asyncio.sleep(0.005)
                assert [each.code for each in sockets] == [1013] * (200 - MAX_UNREAD_THREAD_PAGES) + [
                    None
                ] * MAX_UNREAD_THREAD_PAGES
            assert reads == [thread_id]

    asyncio.run(story())


def test_the_pages_of_one_conversation_keep_no_page_of_another_from_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read_all_but_the_slow_one(parts: Services, identifier: str) -> ThreadProgress:
        await (asyncio.Event().wait() if identifier == "slow" else asyncio.sleep(0))
        return ThreadProgress(1, None)

    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            pages = OpenPages()
            async with (
                serve_sockets(parts, pages, "slow", MAX_UNREAD_THREAD_PAGES),
                serve_sockets(parts, pages, "quick", 1) as [page],
            ):
                while not page.sent:  # noqa: ASYNC110  (as above)
                    await asyncio.sleep(0.005)
                assert page.code is None

    monkeypatch.setattr(Services, "read_progress", read_all_but_the_slow_one)
    asyncio.run(story())


@pytest.mark.parametrize(("receipt", "is_kept"), [(lambda hello: hello["receipt"], True), (lambda _: "guessed", False)])
def test_only_a_page_that_sends_its_receipt_back_keeps_its_place(receipt: Callable[[Frame], str], is_kept: bool) -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id, pages = parts.store.create_thread().id, OpenPages()
            async with serve_sockets(parts, pages, thread_id, 1, receipt) as [page]:
                while not page.sent:  # noqa: ASYNC110  (as above)
                    await asyncio.sleep(0.005)
                async with serve_sockets(parts, pages, thread_id, MAX_UNREAD_THREAD_PAGES + 1) as others:
                    while not any(each.code for each in (page, others[0])):  # noqa: ASYNC110  (as above)
                        await asyncio.sleep(0.005)
                    assert (page.code, others[-1].code) == (None if is_kept else 1013, None)

    asyncio.run(story())


def test_a_start_page_follows_the_conversation_that_it_names() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id, socket, frames = str(uuid.uuid4()), Socket(), partial(stream_frames, parts)
            serving = asyncio.create_task(stream._serve_start_page(socket, parts, frames, OpenPages()))  # type: ignore[arg-type]
            socket.receive(thread_id)
            while not socket.sent:  # noqa: ASYNC110  (as above)
                await asyncio.sleep(0.005)
            assert (socket.sent[0]["kind"], socket.sent[0]["version"]) == ("hello", 0)
            await parts.runner.send(None, "hello", caller=Caller(request_id=thread_id))
            while "end" not in [frame["kind"] for frame in socket.sent]:  # noqa: ASYNC110  (as above)
                await asyncio.sleep(0.005)
            assert [frame["message"]["text"] for frame in socket.sent if frame["kind"] == "start"] == ["hello"]
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(story())


def test_start_pages_have_few_places_and_a_name_that_is_none_ends_them() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            sockets: list[Any] = [Socket() for _ in range(MAX_UNREAD_THREAD_PAGES + 1)]
            given: Any = (parts, partial(stream_frames, parts), OpenPages())
            serving = [asyncio.create_task(stream._serve_start_page(each, *given)) for each in sockets]
            await serving[0]
            assert [each.code for each in sockets] == [1013] + [None] * MAX_UNREAD_THREAD_PAGES
            sockets[1].receive("x" * (stream.MAX_THREAD_ID_CHARS + 1))
            await serving[1]
            assert sockets[1].sent == []
            for task in serving[2:]:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)

    asyncio.run(story())


def test_the_page_of_a_conversation_that_is_gone_is_closed_for_good() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            socket: Any = Socket()
            await stream._serve_page(socket, partial(stream_frames, parts), OpenPages(), str(uuid.uuid4()))
            assert (socket.sent, socket.code) == ([], 4404)

    asyncio.run(story())


def test_a_quiet_page_hears_that_its_socket_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with (
            asyncio.timeout(60),
            open_services() as parts,
            serve_sockets(parts, OpenPages(), parts.store.create_thread().id, 1) as [page],
        ):
            while {"kind": "beat"} not in page.sent:  # noqa: ASYNC110  (as above)
                await asyncio.sleep(0.005)
            assert page.sent[0]["kind"] != "beat"  # what the page shows comes first

    monkeypatch.setattr(stream, "BEAT_SECONDS", 0.05)
    asyncio.run(story())


def test_a_page_that_does_not_read_is_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        begun = 0

        async def send_text(self, text: str) -> None:
            self.begun += 1
            await asyncio.Event().wait()

    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            silent: Any = Silent()
            frames = stream_frames(parts, parts.store.create_thread().id)
            await stream._send_frames(silent, frames, "receipt")
            assert silent.begun == 1

    monkeypatch.setattr(stream, "MAX_SEND_SECONDS", 0.05)
    asyncio.run(story())
