"""The page is served before the agent is loaded, which happens once; a message that comes before it waits for it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx
import pytest

from agent.models.catalog import ConfiguredModels
from agent.models.errors import ModelConfigurationError
from agent.models.keys import ProviderKeys
from app import create_app
from application.composition import agent_factory
from application.composition.loading import AgentLoader, LoadedAgent
from application.settings import Settings
from checkpoints import Caller, RunState
from tests.app_process import PATIENCE


def test_the_page_is_there_and_a_message_is_stored_and_waits_while_the_agent_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, released, load_agent = Event(), Event(), agent_factory.load_agent

    def load_late(settings: Settings, models: ConfiguredModels, *added: object) -> LoadedAgent:
        asked.set()
        assert released.wait(PATIENCE)
        return load_agent(settings, models, *added)

    async def story() -> None:
        settings = Settings(data_dir=tmp_path / "data", model="demo", demo_seconds_per_token=0, auth="none", titles="off")
        app = create_app(settings, port=8050)
        address = "http://127.0.0.1:8050"
        loading = asyncio.create_task(app.load_agent())
        sending = asyncio.create_task(app.services.runner.send(None, "hello", caller=Caller()))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app.asgi), base_url=address) as browser:
            assert [(await browser.get(path)).status_code for path in ("/", "/healthz")] == [200, 200]
        assert await asyncio.to_thread(asked.wait, PATIENCE)
        store = app.services.store
        while not [text for thread in store.list_threads() for text in store.list_messages(thread.id)]:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        assert not sending.done()
        released.set()
        await loading
        run = await sending
        while app.services.runs.list_running_threads():  # noqa: ASYNC110  (nothing here listens)
            await asyncio.sleep(0.005)
        ended = app.services.runs.get_latest_run(run.thread_id)
        assert ended is not None
        assert ended.state is RunState.DONE
        await app.close()

    monkeypatch.setattr(agent_factory, "load_agent", load_late)
    asyncio.run(story())


def test_two_that_need_the_agent_at_once_get_the_same_one() -> None:
    built, together = list[object](), Event()

    def build() -> object:
        built.append(object())
        assert together.wait(PATIENCE)
        return built[-1]

    with ThreadPoolExecutor(2) as pool:
        loader = AgentLoader(build)  # type: ignore[arg-type]
        first, second = pool.submit(loader.load), pool.submit(loader.load)
        together.set()
        assert first.result() is second.result() is loader.agent
    assert len(built) == 1


@pytest.mark.parametrize("spec", ["openai:", "openai:gpt-x", "azure:x", "azure", "demo:x", "nobody:x", "openai-responses:x"])
def test_a_model_that_lacks_a_setting_is_refused_before_anything_is_loaded(spec: str) -> None:
    preparations: list[None] = []
    with pytest.raises(ModelConfigurationError):
        ConfiguredModels(ProviderKeys(), spec, prepare=lambda: preparations.append(None))
    assert not preparations
