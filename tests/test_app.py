"""The parts are joined rightly, two apps share nothing, and a start that cannot succeed says why."""

import asyncio
import re
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from dash._configs import load_dash_env_vars

from agent.preparation.compaction import NotCompactedError
from agent.time_travel.policy import TimeTravelEvent
from app import App, create_app
from application.named_tables import AgentDefinition
from application.settings import Settings, SettingsError
from checkpoints import Caller, NewMessage, StoreInUseError
from components.page import PANELS, build_lists
from tests.app_process import ROOT, read_environment, run_app
from tests.broken_file import break_file
from tests.checkpoints.conversations import new
from tests.page_key import read_page_key
from tests.running_app import JSON, ORIGIN, opened, props_of, request_panels, written_properties
from tests.servers import Server


def fetched(folder: Path, *paths: str) -> list[httpx.Response]:
    async def story() -> list[httpx.Response]:
        async with opened(folder, auth="none") as (_, browser):
            return [await browser.get(path) for path in paths]

    return asyncio.run(story())


@pytest.fixture(scope="module")
def wiring(tmp_path_factory: pytest.TempPathFactory) -> tuple[JSON, list[JSON]]:
    """The layout, and what the callbacks depend on."""
    answers = fetched(tmp_path_factory.mktemp("wiring") / "data", "/_dash-layout", "/_dash-dependencies")
    layout, dependencies = (answer.json() for answer in answers)
    return layout, dependencies


def ids_in(part: Any) -> list[str]:
    if isinstance(part, list):
        return [identifier for each in part for identifier in ids_in(each)]
    if not isinstance(part, dict):
        return []
    own = [part["props"]["id"]] if "id" in part.get("props", {}) else []
    return own + [identifier for value in part.get("props", {}).values() for identifier in ids_in(value)]


def outputs(dependency: JSON) -> list[str]:
    """What a callback writes, as id.property."""
    return [name.partition("@")[0] for name in written_properties(dependency)]


def test_every_part_that_a_callback_names_is_on_the_page_once(wiring: tuple[JSON, list[JSON]]) -> None:
    layout, dependencies = wiring
    there = Counter(ids_in(layout))
    named = {part["id"] for each in dependencies for part in [*each["inputs"], *each["state"]]}
    named |= {name.rpartition(".")[0] for each in dependencies for name in outputs(each)}
    named = {identifier for identifier in named if not identifier.startswith("{")}  # the rows of a list come later
    assert [identifier for identifier in named if there[identifier] != 1] == []
    assert [identifier for identifier, count in there.items() if count > 1] == []


def test_only_the_head_and_dialogs_have_several_writers(
    wiring: tuple[JSON, list[JSON]],
) -> None:
    writers = Counter(name for each in wiring[1] for name in outputs(each))
    shared = {name for name, count in writers.items() if count > 1}
    assert "head.data" in shared
    of_dialogs = (".is_open", "-changed.data", "-opened.data", "-dialog-body.children")
    of_panels = {
        "tags-done.data",
        "prompts-deleted.data",
        "people-erased.children",
        "people-link.value",
    }
    assert {name for name in shared if not name.endswith(of_dialogs)} - of_panels == {"head.data"}


def test_no_callback_waits_for_what_a_request_of_the_page_does(wiring: tuple[JSON, list[JSON]]) -> None:
    waiting = [each for each in wiring[1] if any(part["property"] == "action" for part in each["inputs"])]
    assert waiting == []
    assert set(build_lists(PANELS)) <= set(ids_in(wiring[0]))


def find_around(part: Any, types: set[str], around: tuple[str, ...] = ()) -> list[str]:
    """The ids of everything around components of these types."""
    if isinstance(part, list):
        return [each for child in part for each in find_around(child, types, around)]
    if not isinstance(part, dict):
        return []
    found = list(around) if part["type"] in types else []
    own = (part["props"]["id"],) if "id" in part["props"] else ()
    return found + find_around(part["props"].get("children"), types, (*around, *own))


def test_no_callback_mounts_a_panel_again(wiring: tuple[JSON, list[JSON]]) -> None:
    """Where a callback writes `children`, Dash mounts everything below again (plotly/dash#3846): text and focus are lost."""
    layout, dependencies = wiring
    around = find_around(layout, {"Transcript", "Composer", "Threads", "History"})
    assert {"shell", "chat", "composer", "threads-pane", "history-pane"} <= set(around)
    written = {name for each in dependencies for name in outputs(each)}
    assert [each for each in around if f"{each}.children" in written] == []


def test_the_layout_holds_no_data(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread = app.services.store.create_thread(title="Stocks and bonds")
            layout = await browser.get("/_dash-layout", headers={"referer": f"{ORIGIN}/t/{thread.id}"})
            assert "Stocks" not in layout.text
            assert "data" not in props_of(layout.json(), "transcript")
            panels = (await request_panels(browser, f"/t/{thread.id}")).json()
        assert panels["thread-title"]["children"] == "Stocks and bonds"

    asyncio.run(story())


def test_an_answer_whose_provider_counted_beyond_all_measure_is_opened_and_saved(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            store, usage = app.services.store, dict.fromkeys(("input_tokens", "output_tokens", "total_tokens"), 10**40)
            thread_id = store.create_thread().id
            note = {"request": {"estimated": 10**40, "left_out": 10**40}}
            answer = {"type": "ai", "data": {"content": "yes", "usage_metadata": usage, "response_metadata": note}}
            store.append(thread_id, [*new("hello"), NewMessage(answer)], caller=Caller(undo_group="a-run"))
            page = await request_panels(browser, f"/t/{thread_id}")
            store.save(thread_id, tokens=app.services.runner.inputs.count_tokens(thread_id))
            about = [await browser.get(f"/api/threads/{thread_id}/{part}") for part in ("growth", "usage")]
        assert [message["text"] for message in page.json()["transcript"]["data"]["messages"]] == ["hello", "yes"]
        assert [each.status_code for each in about] == [200, 200]

    asyncio.run(story())


def test_two_apps_in_one_process_share_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with (
            opened(tmp_path / "one", auth="none") as (one, first),
            opened(tmp_path / "two", auth="none") as (two, second),
        ):
            run = await one.services.runner.send(None, "only here", caller=Caller())
            assert [thread.id for thread in one.services.store.list_threads()] == [run.thread_id]
            assert two.services.store.list_threads() == []
            path = f"/api/threads/{run.thread_id}/export"
            assert [(await first.get(path)).status_code, (await second.get(path)).status_code] == [200, 404]
            counts = [len((await browser.get("/_dash-dependencies")).json()) for browser in (first, second)]
            assert counts[0] == counts[1]
            assert [await _threads(browser) for browser in (first, second)] == [["only here"], []]

    asyncio.run(story())


async def _threads(browser: httpx.AsyncClient) -> list[str]:
    """The titles in the list of conversations."""
    shown = (await request_panels(browser)).json()
    return [thread["title"] for thread in shown["threads"]["data"]["threads"]]


def test_who_asks_for_it_hears_of_every_move_of_an_agent_and_may_fail(tmp_path: Path) -> None:
    async def story() -> None:
        settings = Settings(
            data_dir=tmp_path / "data", model="demo", demo_seconds_per_token=0, time_travel="allow", titles="off"
        )
        app = create_app(settings, port=8050, on_time_travel=[raising(ValueError("not mine")), heard.append])
        async with asyncio.timeout(60):
            run = await app.services.runner.send(None, "hello", caller=Caller())
            await _rests(app, run.thread_id)
            await app.services.runner.send(run.thread_id, "Please start over", caller=Caller())
            await _rests(app, run.thread_id)
        await app.close()
        assert [
            (event.thread_id, event.kind, event.call_position, event.target_position, event.removed_count) for event in heard
        ] == [(run.thread_id, "goto", 3, 0, 3)]

    heard: list[TimeTravelEvent] = []
    asyncio.run(story())


def raising(error: Exception) -> Callable[[object], None]:
    def listener(_: object) -> None:
        raise error

    return listener


async def _rests(app: App, thread_id: str) -> None:
    while thread_id in await app.services.run_blocking(app.services.runs.list_running_threads):  # noqa: ASYNC110  (nothing here listens)
        await asyncio.sleep(0.005)


def test_no_variable_of_dash_changes_the_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(load_dash_env_vars()) - {"HOST", "PORT"}:
        monkeypatch.setenv(name, "/elsewhere/")
        monkeypatch.setenv(name.lower(), "/elsewhere/")
    page, layout = fetched(tmp_path, "/", "/_dash-layout")
    assert (page.status_code, layout.status_code) == (200, 200)
    assert "elsewhere" not in page.text


def test_a_second_app_on_the_same_data_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data"):
            with pytest.raises(StoreInUseError, match="in use by another Waymark process"):
                create_app(Settings(data_dir=tmp_path / "data", model="demo"), port=8051)

    asyncio.run(story())


def test_what_a_former_process_left_running_is_interrupted_at_the_start(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data") as (app, _):
            run = app.services.runs.begin_run(None, new("a")[0])
        async with opened(tmp_path / "data") as (app, _):
            latest = app.services.runs.get_latest_run(run.thread_id)
            assert latest is not None
            assert (latest.id, latest.state.value) == (run.id, "interrupted")

    asyncio.run(story())


def test_everything_in_the_data_folder_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    fetched(folder, "/")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir() if path.suffix != ".lock"} == {
        "waymark.db": "0o600"
    }


def test_a_session_outlives_a_restart_and_its_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    async def sign_in() -> dict[str, str]:
        async with opened(tmp_path / "data") as (app, browser):
            key = read_page_key((await browser.get(app.create_link())).text)
            return {"cookie": f"waymark_8050={browser.cookies['waymark_8050']}", "x-waymark-page-key": key or ""}

    async def let_in(headers: dict[str, str]) -> int:
        async with opened(tmp_path / "data") as (_, browser):
            return (await browser.get("/_dash-layout", headers=headers)).status_code

    headers = asyncio.run(sign_in())
    file = tmp_path / "data" / "sessions-8050.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not any(value.rpartition("=")[2] in file.read_text() for value in headers.values())
    guesses = [{**headers, name: "waymark_8050=guess"} for name in headers]
    assert [asyncio.run(let_in(each)) for each in (headers, *guesses)] == [200, 401, 401]


def test_the_policy_lets_in_this_server_and_known_scripts_and_nothing_else(tmp_path: Path) -> None:
    page, thread, missing = fetched(tmp_path / "data", "/", "/t/unknown", "/nowhere")
    assert [page.status_code, thread.status_code, missing.status_code] == [200, 200, 404]
    for answer in (page, thread, missing):
        rules = dict(rule.strip().split(" ", 1) for rule in answer.headers["content-security-policy"].split(";"))
        sources = {source for name, value in rules.items() if name != "style-src" for source in value.split()}
        hashes = {source for source in sources if source.startswith("'sha256-")}
        assert sources - hashes == {"'none'", "'self'", "data:", "blob:"}
        assert rules["style-src"] == "'self' 'unsafe-inline'"
        assert (rules["default-src"], rules["img-src"]) == ("'none'", "'self' data: blob:")
    assert re.findall(r'(?:src|href)="(?![/#])[^"]*"', page.text) == []


def test_health_is_told_to_everybody_and_is_degraded_when_the_store_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data") as (app, browser):
            assert (await browser.get("/healthz")).json() == {"status": "ok", "store": "sqlite"}
            await asyncio.to_thread(break_file, app.services.store.database, tmp_path / "data" / "waymark.db")
            answer = await browser.get("/healthz")
            assert (answer.status_code, answer.json()["status"]) == (503, "degraded")

    asyncio.run(story())


def test_export_is_a_download_named_after_the_conversation(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            thread = app.services.store.create_thread(title='../../"Wetter" für 東京\r\nX: y')
            answer = await browser.get(f"/api/threads/{thread.id}/export")
            assert answer.json()["format"] == "waymark/1"
            disposition = answer.headers["content-disposition"]
            assert disposition.startswith("attachment; filename=\"conversation.waymark.json\"; filename*=UTF-8''")
            assert not set('/\r\n"') & set(disposition.partition("UTF-8''")[2])
            missing = await browser.get("/api/threads/nothing/export")
            assert (missing.status_code, missing.text) == (404, "There is no conversation 'nothing'.")

    asyncio.run(story())


def test_an_expected_refusal_is_a_sentence_on_the_page_and_no_traceback_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> str:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            return (await request_panels(browser)).text

    async def refuse(*_: object) -> None:
        raise NotCompactedError("There is too little here to summarise.")

    monkeypatch.setattr("components.services.Services.read_snapshot", refuse)
    assert "There is too little here to summarise." in asyncio.run(story())
    assert caplog.text == ""


@pytest.mark.parametrize(
    "address",
    ["/t/%ED%A0%80", "/api/threads/%ED%A0%80/export", "/files/%ED%A0%80/x/y", "/api/threads/%00/usage"],
)
def test_half_a_surrogate_pair_in_an_address_is_not_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, address: str
) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", auth="none") as (_, browser):
            assert (await browser.get(address)).status_code == 404
            page = await request_panels(browser, pathname="/t/\ud800")
            assert page.status_code == 200
            assert "Something went wrong" not in page.text

    asyncio.run(story())
    assert caplog.text == ""


def test_a_callback_that_fails_tells_the_page_an_id_and_the_log_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> httpx.Response:
        async with opened(tmp_path / "data", auth="none") as (app, browser):
            app.services.store.list_thread_portion = lambda **_: 1 / 0  # type: ignore[method-assign,assignment,return-value]
            return await request_panels(browser)

    answer = asyncio.run(story())
    assert "division by zero" not in answer.text
    reference = re.search(r"reference (\w+)", answer.text)
    assert reference is not None
    assert reference[1] in caplog.text
    assert "ZeroDivisionError" in caplog.text


def start(folder: Path, **environment: str) -> tuple[int, str]:
    """Start the server where it cannot succeed; its exit code and what it said."""
    folder.mkdir(exist_ok=True)
    done = run_app(folder, surroundings(folder) | environment)
    return done.returncode, done.stdout + done.stderr


def surroundings(folder: Path) -> dict[str, str]:
    return read_environment() | {"DATA_DIR": str(folder / "data"), "PORT": "0", "MODEL": "demo"}


@pytest.mark.slow
def test_the_command_as_it_is_typed_serves_and_ends(tmp_path: Path) -> None:
    """Every other test forks it from a process that has imported everything."""
    command = [sys.executable, str(ROOT / "app.py")]
    with subprocess.Popen(command, cwd=tmp_path, env=surroundings(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = next(line.strip() for line in process.stdout if "http://" in line)
        assert httpx.get(link, follow_redirects=True).status_code == 200
        process.terminate()
        assert process.wait(60) in (0, -15)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("PORT", "http"),
        ("MODEL", "openai:some"),
        ("DATA_DIR", "/dev/null/\x1b[31mdata"),
        *(
            pytest.param(*values, marks=pytest.mark.slow)
            for values in (
                ("HOST", "0.0.0.0"),
                ("MODEL", "gpt"),
                ("AUTH", "never"),
                ("DATABASE_URL", "mysql://localhost/x"),
                ("DATABASE_URL", "sqlite:///"),
                ("DATA_DIR", "/proc/waymark"),
            )
        ),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_sentence_that_names_it(tmp_path: Path, key: str, value: str) -> None:
    code, said = start(tmp_path, **{key: value})
    assert code == 2, said
    assert said.startswith("Waymark cannot start. ")
    assert said.count("\n") == 1
    assert "\x1b" not in said
    assert key in said or (key, value) == ("MODEL", "openai:some") or key == "DATA_DIR"


def test_a_graph_that_cannot_be_loaded_is_one_sentence_that_names_its_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "theirs.py"
    path.write_text("import os\n\nos.environ['THEIR_KEY']\n")
    code, said = start(tmp_path / "app", GRAPH=f"{path}:graph")
    sentence = f"The graph graph cannot be loaded. {path}, line 3: KeyError: 'THEIR_KEY'."
    assert (code, said) == (2, f"Waymark cannot start. {sentence}\n")


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("main", {}, "[agents.main] in waymark.toml cannot be: main is the agent that the user talks to."),
        ("ann", {"tools": ("fly",)}, "[agents.ann] tools in waymark.toml: there is no tool 'fly'."),
        (
            "ann",
            {"tools": ("goto", "fork")},
            "[agents.ann] tools in waymark.toml: fork is a tool of the main agent alone: its",
        ),
        ("ann", {"model": "gpt"}, "[agents.ann] model in waymark.toml cannot be used. "),
    ],
)
def test_an_agent_that_cannot_work_is_one_sentence_that_names_it(
    tmp_path: Path, name: str, fields: dict[str, Any], said: str
) -> None:
    agents = {name: AgentDefinition(instructions="Doubt.", **fields)}
    with pytest.raises(SettingsError) as refused:
        create_app(Settings(data_dir=tmp_path, model="demo", agents=agents), port=8050)
    assert str(refused.value).startswith(said)


def test_the_design_names_time_travel_tools_like_any_other(tmp_path: Path) -> None:
    async def story() -> None:
        async with opened(tmp_path / "data", tools_enabled=("goto", "read_file", "calculator"), tools_approval=("fork",)):
            pass
        moving = AgentDefinition(instructions="Go.", tools=("goto", "rewind", "save_checkpoint", "list_checkpoints"))
        async with opened(tmp_path / "other", agents={"ann": moving}):
            pass

    asyncio.run(story())


def test_a_data_folder_that_cannot_be_used_is_told_also_when_the_database_is_elsewhere(tmp_path: Path) -> None:
    code, said = start(tmp_path, DATA_DIR="/dev/null/data", DATABASE_URL=f"sqlite:///{tmp_path}/other/waymark.db")
    assert (code, "DATA_DIR" in said, said.count("\n")) == (2, True, 1)


def test_a_port_that_is_taken_and_data_in_use_are_refused_with_one_sentence(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        code, said = start(tmp_path, PORT=server.origin.rpartition(":")[2], DATA_DIR=str(tmp_path / "other"))
        assert (code, "PORT" in said, said.count("\n")) == (2, True, 1)
        code, said = start(tmp_path)
        assert (code, "in use by another Waymark process" in said, said.count("\n")) == (2, True, 1)
        assert server.stop() in (0, -15)
        assert "Traceback" not in server.log
