"""Two servers on one PostgreSQL: a page at one shows what the other writes and changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from app import App, create_app
from checkpoints import Caller, Database, Store
from components.thread_frames import stream_frames
from config import Settings
from server.metrics import METRICS_PATH
from tests.agent.run.wires import until
from tests.components.test_thread_frames import Screen, shown

pytestmark = pytest.mark.slow
KEY = "k3y-of-sixteen-letters"


@asynccontextmanager
async def serve_several(folder: Path, url: str, count: int = 2, **more: Any) -> AsyncIterator[list[App]]:
    """Servers that know one another, in one event loop."""
    chosen: Any = {"model": "demo", "demo_seconds_per_token": 0.005, "titles": "off", "auth": "none", **more}
    apps = [
        create_app(
            Settings(data_dir=folder / str(number), database_url=url, metrics_key=SecretStr(KEY), **chosen),
            port=8050 + number,
            store=Store(Database.open_url(url)),
        )
        for number in range(count)
    ]
    for app in apps:
        await app.load_agent()
    await until(lambda: all(app.services.wire and app.services.wire._peers.names for app in apps))
    try:
        yield apps
    finally:
        for app in apps:
            await app.close()


@pytest.mark.parametrize("text", ["hello", "What is 12 * (3 + 4)? And 7*8?", "a long answer, please"])
def test_a_page_at_another_server_shows_exactly_what_is_stored(tmp_path: Path, postgres_url: str, text: str) -> None:
    async def story() -> None:
        async with serve_several(tmp_path, postgres_url) as [here, elsewhere]:
            parts = elsewhere.services
            thread_id, screen, told = parts.store.create_thread().id, Screen(), asyncio.Event()
            watching = asyncio.create_task(screen.watch(parts, thread_id, told))
            await told.wait()
            await here.services.runner.send(thread_id, text, caller=Caller())
            end = await asyncio.wait_for(watching, 60)
            assert list(screen.messages.values()) == shown(parts, parts.store.list_messages(thread_id))
            assert (end["version"], end["state"], screen.live) == (parts.store.get_thread(thread_id).version, "done", "")
            assert screen.kinds.count("end") == screen.kinds.count("start") == 1

    asyncio.run(story())


def test_a_page_that_opens_at_another_server_in_the_middle_has_the_text_from_its_beginning(
    tmp_path: Path, postgres_url: str
) -> None:
    async def story() -> None:
        async with serve_several(tmp_path, postgres_url) as [here, elsewhere]:
            thread_id = here.services.store.create_thread().id
            await here.services.runner.send(thread_id, "a long answer, please", caller=Caller())
            await until(lambda: (live := here.services.hub.find_live_run(thread_id)) and len(live.text) > 40)
            near, far = Screen(), Screen()
            pages = [(near, here.services), (far, elsewhere.services)]
            await asyncio.gather(*(each.watch(parts, thread_id, asyncio.Event()) for each, parts in pages))
            stored = shown(elsewhere.services, elsewhere.services.store.list_messages(thread_id))[1:]
            assert [*near.messages.values()] == [*far.messages.values()] == stored

    asyncio.run(story())


def test_a_change_at_one_server_reaches_the_pages_of_the_other(tmp_path: Path, postgres_url: str) -> None:
    async def story() -> None:
        async with serve_several(tmp_path, postgres_url) as [here, elsewhere]:
            store = here.services.store
            thread_id = store.create_thread().id
            frames = stream_frames(elsewhere.services, thread_id)
            assert (await anext(frames))["kind"] == "hello"
            receipt = await here.services.apply_change(store.rename_thread, thread_id, "Another title")
            assert await asyncio.wait_for(anext(frames), 60) == {"kind": "head", "version": receipt.version}
            await frames.aclose()

    asyncio.run(story())


def test_the_metrics_have_the_delay_of_the_wire_and_its_reconnections(tmp_path: Path, postgres_url: str) -> None:
    async def story() -> None:
        async with serve_several(tmp_path, postgres_url) as [here, elsewhere]:
            thread_id = here.services.store.create_thread().id
            screen, told = Screen(), asyncio.Event()
            watching = asyncio.create_task(screen.watch(elsewhere.services, thread_id, told))
            await told.wait()
            await here.services.runner.send(thread_id, "hello", caller=Caller())
            await watching
            transport = httpx.ASGITransport(here.asgi)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8050") as browser:
                answer = await browser.get(METRICS_PATH, headers={"authorization": f"Bearer {KEY}"})
            families = text_string_to_metric_families(answer.text)
            values = {sample.name: sample.value for family in families for sample in family.samples}
            assert values["waymark_wire_delay_seconds_count"] > 0
            assert values["waymark_wire_reconnects"] == 0

    asyncio.run(story())
