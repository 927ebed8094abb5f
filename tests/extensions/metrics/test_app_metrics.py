"""What a program that watches Waymark is told: metrics for who has the key, readiness, and a log of JSON with ids."""

import asyncio
import json
import logging
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from agent.models.catalog import ConfiguredModels
from agent.run.run_ids import read_run_ids
from app import App, create_app
from application.composition import agent_factory
from application.composition.loading import LoadedAgent
from application.settings import Settings
from checkpoints import Caller
from extensions.metrics.metrics import METRICS_PATH
from server.json_log import JsonFormatter
from tests.app_process import PATIENCE
from tests.broken_file import break_file

ORIGIN = "http://127.0.0.1:8050"
KEY = "k3y-of-sixteen-letters"
BEARER = {"authorization": f"Bearer {KEY}"}


def _create_app(folder: Path, **settings: Any) -> tuple[App, httpx.AsyncClient]:
    chosen: Any = {"model": "demo", "demo_seconds_per_token": 0, "titles": "off", "auth": "token"} | settings
    app = create_app(Settings(data_dir=folder, **chosen), port=8050)
    return app, httpx.AsyncClient(transport=httpx.ASGITransport(app.asgi), base_url=ORIGIN)


async def _run(app: App, text: str) -> str:
    await app.load_agent()
    run = await app.services.runner.send(None, text, caller=Caller())
    while app.services.runs.list_running_threads():  # noqa: ASYNC110  (nothing here listens)
        await asyncio.sleep(0.005)
    return run.id


def _read_values(answer: httpx.Response) -> dict[str, float]:
    """Return the values by name, with the labels behind it."""
    samples = [sample for family in text_string_to_metric_families(answer.text) for sample in family.samples]
    return {" ".join((each.name, *each.labels.values())): each.value for each in samples}


def test_metrics_count_runs_statements_requests_and_records_of_the_log(tmp_path: Path) -> None:
    async def story() -> tuple[dict[str, float], str]:
        app, browser = _create_app(tmp_path / "data", metrics_key=SecretStr(KEY))
        async with browser:
            await _run(app, "only here")
            assert (await browser.get("/healthz")).status_code == 200
            assert (await browser.get("/nowhere")).status_code == 401
            logging.getLogger("waymark.test").error("said")
            answer = await browser.get(METRICS_PATH, headers=BEARER)
            app.services.store.database.engine.dispose()
            await app.close()
        return _read_values(answer), answer.text

    handlers = list(logging.getLogger().handlers)
    values, text = asyncio.run(story())
    assert values["waymark_runs_ended_total done"] == values["waymark_run_seconds_count"] == 1
    assert values["waymark_first_word_seconds_count"] == 1
    assert values["waymark_runs"] == values["waymark_sockets"] == 0
    assert values["waymark_database_up"] == 1
    assert values["waymark_database_seconds_count"] > 10
    assert values["waymark_loop_delay_seconds_count"] >= 1
    assert values["waymark_http_requests_total GET 200"] == values["waymark_http_requests_total GET 401"] == 1
    assert values["waymark_log_records_total error"] == 1
    assert "only here" not in text
    assert logging.getLogger().handlers == handlers  # of an app that is closed, nothing listens


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", f"Basic {KEY}", f"Bearer {KEY}x"])
def test_metrics_need_the_key(tmp_path: Path, given: str) -> None:
    async def story() -> int:
        app, browser = _create_app(tmp_path / "data", metrics_key=SecretStr(KEY))
        async with browser:
            status = (await browser.get(METRICS_PATH, headers={"authorization": given})).status_code
        await app.close()
        return status

    assert asyncio.run(story()) == 401


def test_without_a_key_there_are_no_metrics(tmp_path: Path) -> None:
    async def story() -> int:
        app, browser = _create_app(tmp_path / "data")
        async with browser:
            status = (await browser.get(METRICS_PATH, headers=BEARER)).status_code
        await app.close()
        return status

    assert asyncio.run(story()) == 404


def test_it_is_ready_once_the_agent_is_loaded_and_while_the_database_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, load_agent = threading.Event(), agent_factory.load_agent

    def load_late(settings: Settings, models: ConfiguredModels, *added: object) -> LoadedAgent:
        assert released.wait(PATIENCE)
        return load_agent(settings, models, *added)

    async def story() -> list[tuple[int, str]]:
        app, browser = _create_app(tmp_path / "data")
        answers = []
        async with browser:
            loading = asyncio.create_task(app.load_agent())
            answers.append(await browser.get("/readyz"))
            released.set()
            await loading
            answers.append(await browser.get("/readyz"))
            await asyncio.to_thread(break_file, app.services.store.database, tmp_path / "data" / "waymark.db")
            answers.append(await browser.get("/readyz"))
        await app.close()
        return [(each.status_code, each.json()["status"]) for each in answers]

    monkeypatch.setattr(agent_factory, "load_agent", load_late)
    assert asyncio.run(story()) == [(503, "starting"), (200, "ok"), (503, "degraded")]


class _Lines(logging.Handler):
    """Keeps what the formatter makes of each record."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonFormatter((read_run_ids,)))
        self.lines: list[dict[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        assert "\n" not in line
        self.lines.append(json.loads(line))


def test_a_record_of_json_names_the_run_and_the_request_that_it_is_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, root = _Lines(), logging.getLogger()

    async def story() -> str:
        app, browser = _create_app(tmp_path / "data")
        monkeypatch.setattr(app.services.runner.active_runs, "driver", Failing())
        async with browser:
            run_id = await _run(app, "hello")
            monkeypatch.setattr(app.services.store.database, "check_health", lambda: 1 / 0)
            assert (await browser.get("/healthz")).status_code == 500
        await app.close()
        return run_id

    root.addHandler(log)
    try:
        run_id = asyncio.run(story())
    finally:
        root.removeHandler(log)
    by_logger = {line["logger"]: line for line in log.lines}
    of_run, of_request = by_logger["agent.test"], by_logger["waymark.guard"]
    assert (of_run["run"], of_run["message"], of_run["level"]) == (run_id, "line one\nline two", "warning")
    assert (of_request["path"], len(of_request["request"])) == ("/healthz", 16)
    assert "ZeroDivisionError" in of_request["traceback"]
    assert "run" not in of_request


class Failing:
    """A driver whose runs say something to the log."""

    async def drive(self, *_: object) -> None:
        logging.getLogger("agent.test").warning("line one\nline two")
