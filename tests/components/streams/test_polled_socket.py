"""Sockets over requests: a reply that is lost loses no frame, and a page that does not ask is let go of."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from components.routes import stream
from components.routes.stream import MAX_UNREAD_THREAD_PAGES, OpenPages
from components.services import Services
from components.streams import polled_socket
from components.streams.polled_socket import MAX_KEPT_FRAMES, PolledSocket, PolledSockets
from components.streams.thread_frames import stream_frames
from tests.components.parts import open_services


class Pages:
    """Pages of one conversation that ask for its frames."""

    def __init__(self, parts: Services) -> None:
        self.thread_id = parts.store.create_thread().id
        self._sockets, self._create_frames, self._places = PolledSockets(), partial(stream_frames, parts), OpenPages()

    async def ask(self, poll: str, seen: int | None = None, text: str = "") -> tuple[list[Any], int | None]:
        serve = partial(stream._serve_page, create_frames=self._create_frames, pages=self._places, thread_id=self.thread_id)
        reply = await self._sockets.answer(poll, seen, text, serve)
        return [json.loads(each) for each in reply["frames"]], reply["code"]


@asynccontextmanager
async def open_pages() -> AsyncIterator[Pages]:
    async with asyncio.timeout(60), open_services() as parts:
        yield Pages(parts)


def test_a_frame_is_given_until_the_page_has_seen_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with open_pages() as pages:
            [hello], code = await pages.ask("one")
            assert (hello["kind"], code) == ("hello", None)
            assert await pages.ask("one", 0) == ([hello], None)
            assert await pages.ask("one", 1) == ([], None)
            assert await pages.ask("one", -7) == ([], None)

    monkeypatch.setattr(polled_socket, "HOLD_SECONDS", 0.05)
    asyncio.run(story())


def test_a_page_that_does_not_ask_is_let_go_of_and_opens_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with open_pages() as pages:
            await pages.ask("one")
            while pages._sockets._sockets:  # noqa: ASYNC110  (it ends with no event)
                await asyncio.sleep(0.005)
            assert await pages.ask("one", 1) == ([], polled_socket.CLOSE_GOING_AWAY)
            assert [each["kind"] for each in (await pages.ask("two"))[0]] == ["hello"]

    monkeypatch.setattr(polled_socket, "MAX_SILENT_SECONDS", 0.05)
    asyncio.run(story())


def test_a_hidden_tab_which_asks_once_a_minute_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        loop, socket = asyncio.get_running_loop(), PolledSocket()
        reading, read_time = asyncio.create_task(socket.receive_text()), loop.time
        await asyncio.sleep(0.01)
        monkeypatch.setattr(loop, "time", lambda: read_time() + 65)
        await asyncio.sleep(0.01)
        await socket.answer(0, "a text")
        assert await reading == "a text"

    monkeypatch.setattr(polled_socket, "HOLD_SECONDS", 0.05)
    asyncio.run(story())


def test_only_a_page_that_sends_its_receipt_back_by_a_request_keeps_its_place() -> None:
    async def story() -> None:
        async with open_pages() as pages:
            [hello], _ = await pages.ask("reads")
            await pages.ask("reads", 1, hello["receipt"])
            await pages.ask("does not")
            for number in range(MAX_UNREAD_THREAD_PAGES):
                await pages.ask(f"another {number}")
            assert (await pages.ask("does not", 1))[1] == stream.CLOSE_TRY_AGAIN
            assert await pages.ask("reads", 1) == ([], None)

    asyncio.run(story())


def test_few_frames_wait_for_a_page_that_does_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        socket = PolledSocket()
        for number in range(MAX_KEPT_FRAMES):
            assert await stream._send_frame(socket, {"kind": str(number)})
        assert not await stream._send_frame(socket, {"kind": "too many"})
        assert len((await socket.answer(0, ""))["frames"]) == MAX_KEPT_FRAMES
        assert (await socket.answer(MAX_KEPT_FRAMES - 1, ""))["frames"] == [json.dumps({"kind": str(MAX_KEPT_FRAMES - 1)})]
        assert await stream._send_frame(socket, {"kind": "there is room"})

    monkeypatch.setattr(stream, "MAX_SEND_SECONDS", 0.05)
    asyncio.run(story())


def test_a_start_page_follows_the_conversation_that_it_names_by_a_request() -> None:
    async def story() -> None:
        async with asyncio.timeout(60), open_services() as parts:
            thread_id, sockets = str(uuid.uuid4()), PolledSockets()
            frames = partial(stream_frames, parts)
            serve = partial(stream._serve_start_page, services=parts, create_frames=frames, pages=OpenPages())
            assert await sockets.answer("one", None, "", serve) == {"frames": [], "code": None}
            [hello] = (await sockets.answer("one", 0, thread_id, serve))["frames"]
            assert (json.loads(hello)["kind"], json.loads(hello)["version"]) == ("hello", 0)

    asyncio.run(story())
