"""Two servers on one PostgreSQL: a page at one shows what the other writes and changes."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from agent.tools.decisions import Decision
from app import App, create_app
from application.extension import Role
from application.settings import Settings
from checkpoints import Caller, Database, RunState, Store
from components.streams.thread_frames import stream_frames
from extensions.metrics.metrics import METRICS_PATH
from tests.agent.run.wires import until
from tests.components.streams.test_thread_frames import Screen, shown
from tests.servers import Worker

pytestmark = pytest.mark.slow
KEY = "k3y-of-sixteen-letters"


@asynccontextmanager
async def serve_several(
    folder: Path, url: str, roles: Sequence[Role] = ("all", "all"), **settings: Any
) -> AsyncIterator[list[App]]:
    """Servers that know one another, in one event loop."""
    chosen: Any = {"model": "demo", "demo_seconds_per_token": 0.005, "titles": "off", "auth": "none"} | settings
    apps = [
        create_app(
            Settings(data_dir=folder / str(number), database_url=url, metrics_key=SecretStr(KEY), **chosen),
            port=8050 + number,
            store=Store(Database.open_url(url)),
            role=role,
        )
        for number, role in enumerate(roles)
    ]
    for app in apps:
        await app.load_agent()
    await until(lambda: all(app.services.wire and app.services.wire._peers.names for app in apps))
    try:
        yield apps
    finally:
        for app in apps:
            await app.close()


async def _read_metrics(app: App) -> dict[str, float]:
    """Return the values by name, with the labels behind it."""
    port = app.address.rpartition(":")[2]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app.asgi), base_url=f"http://127.0.0.1:{port}") as browser:
        answer = await browser.get(METRICS_PATH, headers={"authorization": f"Bearer {KEY}"})
    samples = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    return {" ".join((each.name, *each.labels.values())): each.value for each in samples}


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
            assert await asyncio.wait_for(anext(frames), 60) == {"kind": "head", "version": receipt.version, "turn": None}
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
            values = await _read_metrics(here)
            assert values["waymark_wire_delay_seconds_count"] > 0
            assert values["waymark_wire_reconnects"] == 0

    asyncio.run(story())


def test_a_page_and_a_worker_apart_have_the_metrics_of_a_run_between_them(tmp_path: Path, postgres_url: str) -> None:
    async def story() -> None:
        async with serve_several(tmp_path, postgres_url, ["web", "work"]) as apps:
            page, working = (app.services for app in apps)
            working.runner.active_runs.max_runs = 0
            run = await page.runner.send(None, "hello", caller=Caller())
            await until(lambda: all(app.services.runner.fleet.waiting_run_count for app in apps))  # type: ignore[union-attr]
            waiting = [await _read_metrics(app) for app in apps]
            assert [each["waymark_waiting_runs"] for each in waiting] == [1, 1]
            assert [each["waymark_processes"] for each in waiting] == [2, 2]
            working.runner.active_runs.max_runs = None
            await until(lambda: page.runs.get_run(run.id).state is RunState.DONE)  # type: ignore[union-attr]
            await until(lambda: working.hub.active_run_count == 0)
            each_ended = [(await _read_metrics(app)).get("waymark_runs_ended_total done", 0) for app in apps]
            assert each_ended == [0, 1]

    asyncio.run(story())


def test_a_worker_answers_its_health_and_nothing_else(tmp_path: Path, postgres_url: str) -> None:
    with Worker(tmp_path, DATABASE_URL=postgres_url, WORK_PORT="0", METRICS_KEY=KEY, AUTH="none") as worker:
        (address,) = re.findall(r"http://\S+(?=/readyz)", worker.log)
        with httpx.Client(base_url=address) as client:
            while client.get("/readyz").status_code != 200:
                time.sleep(0.05)
            assert client.get("/healthz").json() == {"status": "ok", "store": "postgresql"}
            assert client.get("/metrics").status_code == 401
            assert "waymark_runs " in client.get("/metrics", headers={"authorization": f"Bearer {KEY}"}).text
            assert [client.get(path).status_code for path in ("/", "/api/panels", "/docs", "/assets/")] == [404] * 4
        assert worker.stop() == 0


def test_stopping_editing_and_approving_work_at_the_server_that_does_not_answer(tmp_path: Path, ordinary_url: str) -> None:
    async def story() -> None:
        async with serve_several(tmp_path, ordinary_url, tools_approval=("calculator",)) as [here, elsewhere]:
            store, runs = elsewhere.services.store, elsewhere.services.runs

            async def rest(run_id: str) -> RunState:
                await until(lambda: (run := runs.get_run(run_id)) and run.state is not RunState.RUNNING)
                return runs.get_run(run_id).state  # type: ignore[union-attr]

            run = await here.services.runner.send(None, "a long answer, please", caller=Caller())
            await until(lambda: here.services.hub.find_live_run(run.thread_id))
            assert await elsewhere.services.runner.stop(run.thread_id)
            assert await rest(run.id) is RunState.STOPPED
            question = store.list_messages(run.thread_id)[0].id
            edited = await elsewhere.services.runner.edit(run.thread_id, question, "What is 7*8?", caller=Caller())
            assert await rest(edited.id) is RunState.WAITING
            (call,) = store.list_messages(run.thread_id)[-1].body["data"]["tool_calls"]
            decided = await here.services.runner.decide(run.thread_id, Decision(call["id"], "allow"), caller=Caller())
            assert await rest(decided.id) is RunState.DONE
            said = [(each.type, str(each.langchain.text)) for each in store.list_messages(run.thread_id)]
            assert said[0] == ("human", "What is 7*8?")
            assert [text for kind, text in said if kind == "tool"] == ["56"]

    asyncio.run(story())
