"""The browser that the tests drive: one that is installed."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

from tests.app_process import PATIENCE

PATIENCE_MS = 1000 * PATIENCE
# Debian's headless shell needs half the CPU time of the others: it has no window to draw.
WHOLE_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COMMANDS = ("chromium-headless-shell", *WHOLE_BROWSERS)
MAC_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
expect.set_options(timeout=PATIENCE_MS)


@contextmanager
def open_browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(COMMANDS) or "chromium", args=ARGUMENTS)
        yield browser
        browser.close()


def find_browser(commands: Sequence[str]) -> str | None:
    """Return the path of the first of these commands, or of an application of macOS."""
    on_path = filter(None, map(shutil.which, commands))
    return next(on_path, None) or next((app for app in MAC_APPS if Path(app).exists()), None)
