"""A browser at the server: signed in once, each page in a context of its own."""

from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, StorageState

from benchmarks.server import WaymarkServer

PROBE = Path(__file__).parent / "probe.js"
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SIZE = {"width": 1280, "height": 900}


def sign_in(browser: Browser, server: WaymarkServer) -> StorageState:
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.link)
    page.get_by_test_id("composer").wait_for()
    state = context.storage_state()
    context.close()
    return state


def open_page(browser: Browser, state: StorageState, address: str) -> tuple[BrowserContext, Page, CDPSession]:
    """Open a page in a new context without a cache, with its main thread's work counted from the start."""
    context = browser.new_context(storage_state=state, viewport=SIZE)  # type: ignore[arg-type]
    context.add_init_script(path=PROBE)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto(address, wait_until="commit")
    return context, page, session


def read_main_thread_milliseconds(session: CDPSession) -> float:
    """Return the milliseconds of work of the page's main thread so far."""
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"]) * 1000
