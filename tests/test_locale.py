"""Files are UTF-8 in every locale: what Waymark reads, what it sends to browsers and models, and what commands write."""

import ast
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from checkpoints import Database, Store
from checkpoints.rows import thread_rows
from tests.app_process import ROOT, read_environment
from tests.checkpoints.conversations import talked
from tests.test_sizes import list_modules

SCRIPT = re.compile(r'src="/([^"]*waymark.mjs)"')
INSTRUCTIONS = "Grüße alle – 你好."
SAY_INSTRUCTIONS = (
    "from application.settings import load_settings; print(ascii(load_settings().agents['poet'].instructions))"
)


@pytest.fixture(scope="module", params=["ASCII", "Latin-1"])
def locale(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process whose locale has another encoding."""
    environment = read_environment() | {"PYTHONPATH": str(ROOT), "PORT": "0", "MODEL": "demo"}
    if request.param == "ASCII":
        return environment | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    folder = tmp_path_factory.mktemp("locales")
    command = ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", str(folder / "de_DE.ISO-8859-1")]
    try:
        subprocess.run(command, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine cannot make a locale")
    return environment | {"LOCPATH": str(folder), "LC_ALL": "de_DE.ISO-8859-1"}


def run(locale: dict[str, str], folder: Path, *command: str | bytes) -> bytes:
    given = [sys.executable, *command]
    return subprocess.run(given, cwd=folder, env=locale, stdout=subprocess.PIPE, check=True, timeout=60).stdout


@pytest.mark.slow
def test_the_page_and_its_script_reach_the_browser_whole_in_any_locale(locale: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "app.py")]
    with subprocess.Popen(command, cwd=tmp_path, env=locale | {"AUTH": "none"}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        address = next((line.decode().strip() for line in process.stdout if b"http://" in line), None)
        assert address is not None
        page = httpx.get(address).text
        script = httpx.get(f"{address}{SCRIPT.findall(page)[0]}").text
        process.terminate()
    assert "{input} in · {output} out" in script


@pytest.mark.slow
def test_settings_and_instructions_are_read_as_utf_8_in_any_locale(locale: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "waymark.toml").write_text(f'[agents.poet]\ninstructions = "{INSTRUCTIONS}"\n', encoding="utf-8")
    assert run(locale, tmp_path, "-c", SAY_INSTRUCTIONS).decode().strip() == ascii(INSTRUCTIONS)


@pytest.mark.slow
def test_a_command_writes_utf_8_and_leaves_out_a_word_in_any_locale(locale: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with closing(Database.open_file(tmp_path / "data" / "waymark.db")) as database:
        store = Store(database)
        thread_id = talked(store, "Grüße → 你好")
        store.rename_thread(thread_id, "Köln 你好")
        with database.begin_write() as connection:
            thread_rows.insert_thread(connection, store.prepare_thread("Talk", thread_id="ünï"), store.now())
    command = str(ROOT / "app.py"), "export", thread_id, "--markdown"
    assert "Grüße → 你好" in run(locale, tmp_path, *command).decode()
    redacted = run(locale, tmp_path, *command, "--redact", "Grüße".encode()).decode()
    assert "Grüße" not in redacted
    assert "→ 你好" in redacted
    run(locale, tmp_path, str(ROOT / "app.py"), "export", "--all", "-o", "out")
    assert f"Köln-你好-{thread_id}.json".encode() in {path.name for path in os.scandir(os.fsencode(tmp_path / "out"))}
    assert "Talk" in run(locale, tmp_path, str(ROOT / "app.py"), "export", "ünï".encode()).decode()


def is_text_call(call: ast.Call) -> bool:
    """Whether the call reads or writes text, for which ruff must know the type that it is called on."""
    is_of_path = isinstance(call.func, ast.Attribute) and call.func.attr in ("read_text", "write_text")
    return is_of_path or any(ast.unparse(each) == "text=True" for each in call.keywords)


def test_every_text_file_names_its_encoding() -> None:
    calls = (
        (f"{path.relative_to(ROOT)}:{node.lineno}", ast.unparse(node))
        for path in list_modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and is_text_call(node)
    )
    assert [place for place, call in calls if "utf-8" not in call] == []
