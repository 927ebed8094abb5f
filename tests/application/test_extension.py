"""Extensions: which are joined, what they may bring, and sentences about those that cannot be used."""

import asyncio
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from langchain_core.tools import BaseTool, tool
from starlette.types import ASGIApp, Receive, Scope, Send

from app import EXTENSIONS, create_app, load_extensions
from application.extension import ENTRY_POINTS, Extension, PeopleSignIn, ServerPart, load_installed
from application.settings import Settings, SettingsError, load_settings
from checkpoints import Caller, Run, Store

ORIGIN = "http://127.0.0.1:8050"
TABLES = sa.MetaData()
SEEN = sa.Table("example_seen", TABLES, sa.Column("id", sa.Integer, primary_key=True), sa.Column("owner", sa.Text))
EXAMPLE = Extension(name="example")
THREADS = sa.MetaData()
sa.Table("thread", THREADS, sa.Column("id", sa.Integer, primary_key=True))
OF_A_TABLE_OF_WAYMARK = Extension(name="example", tables=THREADS)
NO_EXTENSION = "text"
ASKED = {
    "people": {"auth": "password"},
    "fleet": {"database_url": "postgresql+psycopg://name@host/name"},
    "graphs": {"graph": "agents.py:graph"},
    "tracing": {"otlp_endpoint": "https://collector.example"},
    "metrics": {"metrics_key": "k3y-of-sixteen-letters"},
    "judge": {"judge": "on"},
}


def create(folder: Path, extension: Extension, **settings: Any) -> Any:
    given: Any = {"data_dir": folder, "model": "demo", "demo_seconds_per_token": 0, "titles": "off", "auth": "none"}
    return create_app(Settings(**given | settings), port=8050, extensions=[extension])


def test_each_extension_of_ours_is_joined_where_a_setting_asks_for_it_and_nowhere_else() -> None:
    assert load_extensions(load_settings({})) == []
    assert ASKED.keys() == EXTENSIONS.keys()
    for name, settings in ASKED.items():
        given = {key.upper(): value for key, value in settings.items()}
        assert [each.name for each in load_extensions(load_settings(given))] == [name]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("tests.application.test_extension:EXAMPLE", None),
        ("tests.application.test_extension:NO_EXTENSION", "is no Extension"),
        ("tests.application.test_extension:OF_A_TABLE_OF_WAYMARK", "the table thread of example must begin with example_"),
        ("tests.application.test_extension:missing", "cannot be imported: AttributeError"),
        ("no_such_module:EXTENSION", "cannot be imported: ModuleNotFoundError"),
        (None, "no installed package has an extension 'diary'. Installed: none."),
    ],
)
def test_an_extension_of_others_is_joined_or_a_sentence_says_why_not(
    value: str | None, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = EntryPoints([EntryPoint("diary", value, ENTRY_POINTS)] if value else [])
    monkeypatch.setattr("importlib.metadata.entry_points", declared.select)
    if reason is None:
        assert load_extensions(load_settings({"EXTENSIONS": "diary"})) == [EXAMPLE]
        return
    with pytest.raises(SettingsError, match=reason):
        load_installed("diary")


@pytest.mark.parametrize("is_of_sign_in", [False, True])
def test_a_part_of_the_server_is_served_watched_and_closed(tmp_path: Path, *, is_of_sign_in: bool) -> None:
    noted: list[str] = []

    def add_routes(server: FastAPI) -> None:
        @server.get("/example")
        async def get_example() -> str:
            return "served"

    def watch(served: ASGIApp) -> ASGIApp:
        async def note(scope: Scope, receive: Receive, send: Send) -> None:
            noted.append(scope["path"])
            await served(scope, receive, send)

        return note

    def build_part(*_: object) -> ServerPart:
        return ServerPart(add_routes=add_routes, watch=watch, close=lambda: noted.append("closed"))

    def build_sign_in(*_: object) -> PeopleSignIn:
        nobody: Any = None
        return PeopleSignIn(nobody, nobody, build_part())

    extension = Extension(name="example", build_server_part=build_part)
    if is_of_sign_in:
        extension = Extension(name="example", build_sign_in=build_sign_in)

    async def story() -> str:
        app = create(tmp_path, extension)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app.asgi), base_url=ORIGIN) as browser:
            answer = await browser.get("/example", headers={"host": "127.0.0.1:8050"})
        await app.close()
        return str(answer.json())

    assert asyncio.run(story()) == "served"
    assert noted == ["/example", "closed"]


def test_tables_are_made_once_and_kept(tmp_path: Path) -> None:
    async def count_rows() -> int:
        app = create(tmp_path, Extension(name="example", tables=TABLES))
        with app.services.store.database.begin_write() as connection:
            connection.execute(sa.insert(SEEN).values(owner="local"))
            found: int = connection.scalar(sa.select(sa.func.count()).select_from(SEEN))
        await app.close()
        return found

    assert [asyncio.run(count_rows()) for _ in range(2)] == [1, 2]


def build_tool(_: Settings, store: Store) -> BaseTool:
    @tool
    def look(text: str) -> str:
        """Look."""
        return text

    return look


def test_a_tool_is_known_to_the_settings_by_its_name(tmp_path: Path) -> None:
    async def story() -> None:
        app = create(tmp_path, Extension(name="example", tools={"look": build_tool}), tools_enabled=("look", "calculator"))
        await app.load_agent()
        await app.close()

    asyncio.run(story())
    with pytest.raises(SettingsError, match=r"TOOLS_ENABLED must be a list of tools' names: .*look"):
        create(tmp_path, Extension(name="example", tools={"look": build_tool}), tools_enabled=("glance",))
    with pytest.raises(SettingsError, match="cannot have a tool calculator"):
        create(tmp_path, Extension(name="example", tools={"calculator": build_tool}))


def test_a_follower_sees_the_runs(tmp_path: Path) -> None:
    class Follower:
        def __init__(self) -> None:
            self.runs: list[str] = []

        def consider(self, run: Run) -> None:
            self.runs.append(run.id)

        async def close(self) -> None:
            self.runs.append("closed")

    follower = Follower()

    async def story() -> str:
        app = create(tmp_path, Extension(name="example", build_follower=lambda *_: follower))
        await app.load_agent()
        run = await app.services.runner.send(None, "Hello", caller=Caller())
        while app.services.runs.list_running_threads():  # noqa: ASYNC110  (nothing here listens)
            await asyncio.sleep(0.005)
        await app.close()
        return str(run.id)

    assert asyncio.run(story()) in follower.runs
    assert follower.runs[-1] == "closed"
