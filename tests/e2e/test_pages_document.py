"""docs/pages.md: its panel, in the page."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.app_process import PATIENCE, ROOT, read_environment
from tests.e2e.server import LINK

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
[PANEL] = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "pages.md").read_text(encoding="utf-8"), re.M | re.S)
SERVE = "import sys, app, pinned; from components import page; page.PANELS += (pinned.PANEL,); sys.exit(app.main([]))"
LONG = f"Hello {'W' * 50}"
COUNT_LINES = """element => {
  const range = new Range();
  range.selectNodeContents(element);
  return range.getClientRects().length;
}"""


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "pinned.py").write_text(PANEL, encoding="utf-8")
    settings = {"MODEL": "demo", "TITLES": "off", "AUTH": "none", "PORT": "0", "DATA_DIR": "data"}
    environment = read_environment() | settings | {"PYTHONPATH": f"{ROOT}:{tmp_path}"}
    command = [sys.executable, "-c", SERVE]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield next(found[0] for line in process.stdout if (found := LINK.search(line))).rstrip("/")
        process.terminate()
        process.wait(PATIENCE)


def test_the_panel_of_the_document_passes_the_checks() -> None:
    place = ["check", "--quiet", "--stdin-filename", "components/panels/pinned.py", "-"]
    subprocess.run([sys.executable, "-m", "ruff", *place], cwd=ROOT, input=PANEL, text=True, check=True)


def test_the_panel_of_the_document_shows_and_changes_conversations(origin: str, browser: Browser) -> None:
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        tab = context.new_page()
        tab.goto(origin)
        tab.get_by_test_id("composer").fill(LONG)
        tab.keyboard.press("Enter")
        row = tab.get_by_test_id("thread")
        expect(row).to_contain_text("Hello")
        row.hover()
        tab.get_by_role("button", name=f"More for {LONG}", exact=True).click()
        tab.get_by_role("menuitem", name="Pin", exact=True).click()
        expect(tab.get_by_role("region", name="Pinned")).to_have_count(1)
        tab.locator("#show-more").click()
        tab.get_by_role("button", name="Pinned", exact=True).click()
        dialog = tab.get_by_role("dialog", name="Pinned conversations")
        expect(dialog.get_by_role("row")).to_contain_text(LONG)
        for size in ({"width": 1440, "height": 900}, {"width": 390, "height": 844}):
            tab.set_viewport_size(size)
            for whole in (dialog.locator("time"), dialog.get_by_role("button", name=f"Unpin {LONG}")):
                assert whole.evaluate(COUNT_LINES) == 1
            assert dialog.locator(".modal-body").evaluate("(body) => body.scrollWidth <= body.clientWidth")
        dialog.get_by_role("button", name=f"Unpin {LONG}").click()
        expect(dialog).to_contain_text("Nothing is pinned.")
        tab.keyboard.press("Escape")
        expect(tab.get_by_role("region", name="Pinned")).to_have_count(0)
