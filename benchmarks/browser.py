"""A browser at the server: signed in once, each page in a context of its own."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, StorageState

from benchmarks.server import WaymarkServer
from tests.browser import ARGUMENTS

PROBE = Path(__file__).parent / "probe.js"
OFFLINE = [*ARGUMENTS, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # no page waits for other hosts
SIZE = {"width": 1280, "height": 900}


@dataclass(frozen=True)
class Places:
    """Selectors of a page's parts."""

    composer: str  # the field, once one can type
    message: str
    answer: str


WAYMARK = Places(
    'textarea[data-testid="composer"]:enabled',
    'article[data-testid="message"]',
    '[data-testid="message"][data-role="assistant"]',
)


def sign_in(browser: Browser, server: WaymarkServer) -> StorageState:
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.link)
    page.get_by_test_id("composer").wait_for()
    state = context.storage_state()
    context.close()
    return state


def open_page(
    browser: Browser, state: StorageState | None, address: str, places: Places = WAYMARK, *, end: str = ""
) -> tuple[BrowserContext, Page, CDPSession]:
    """Open a page in a new context without a cache, with its main thread's work counted from the start.

    `end` is a text of the last message that the page will show.
    """
    context = browser.new_context(storage_state=state, viewport=SIZE)  # type: ignore[arg-type]
    context.add_init_script(
        f"window.probePlaces = {json.dumps(asdict(places) | {'end': end})};\n{PROBE.read_text(encoding='utf-8')}"
    )
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto(address, wait_until="commit")
    return context, page, session


def read_main_thread_milliseconds(session: CDPSession) -> float:
    """Return the milliseconds of work of the page's main thread so far."""
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"]) * 1000
