"""docs/extending.md: its extension, installed and used."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.app_process import PATIENCE, ROOT, read_environment
from tests.e2e.server import LINK
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
DOCUMENT = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
FILES = dict(
    zip(("pyproject.toml", "waymark_diary.py"), re.findall(r"^```\w+\n(.*?)^```$", DOCUMENT, re.M | re.S), strict=True)
)
DECISION = "We take the train."


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The folder in which pip has installed the extension."""
    source, target = tmp_path / "waymark-diary", tmp_path / "installed"
    source.mkdir()
    for name, text in FILES.items():
        (source / name).write_text(text, encoding="utf-8")
    options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True)
    return target


def run_app(folder: Path, installed: Path, *arguments: str, **settings: str) -> "subprocess.Popen[str]":
    given = {"TITLES": "off", "AUTH": "none", "PORT": "0", "DATA_DIR": str(folder / "data"), "EXTENSIONS": "diary"}
    paths = os.pathsep.join((str(ROOT), str(installed)))
    environment = read_environment() | given | settings | {"PYTHONPATH": paths}
    command = [sys.executable, str(ROOT / "app.py"), *arguments]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def origin(tmp_path: Path, installed: Path, fake_openai: FakeOpenAI) -> Iterator[str]:
    model = {"MODEL": "openai:fake", "OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": fake_openai.base_url}
    with run_app(tmp_path, installed, **model) as process:
        assert process.stdout
        yield next(found[0] for line in process.stdout if (found := LINK.search(line))).rstrip("/")
        process.terminate()
        process.wait(PATIENCE)


def test_the_extension_of_the_document_passes_the_checks() -> None:
    place = ["check", "--quiet", "--stdin-filename", "extensions/diary.py", "-"]
    subprocess.run([sys.executable, "-m", "ruff", *place], cwd=ROOT, input=FILES["waymark_diary.py"], text=True, check=True)


def test_the_extension_of_the_document_has_a_table_a_tool_a_panel_and_a_command(
    origin: str, browser: Browser, fake_openai: FakeOpenAI, tmp_path: Path, installed: Path
) -> None:
    fake_openai.script(Call("note_decision", {"text": DECISION}), Say("It is noted."))
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        tab = context.new_page()
        tab.goto(origin)
        tab.get_by_test_id("composer").fill("How do we travel?")
        tab.keyboard.press("Enter")
        expect(tab.locator("#chat")).to_contain_text("It is noted.")
        tab.locator("#show-more").click()
        tab.get_by_role("button", name="Diary", exact=True).click()
        expect(tab.get_by_role("dialog", name="Diary").get_by_role("row")).to_have_text([DECISION])
    with run_app(tmp_path, installed, "diary") as listing:
        assert listing.communicate(timeout=PATIENCE)[0] == f"{DECISION}\n"
        assert listing.returncode == 0
