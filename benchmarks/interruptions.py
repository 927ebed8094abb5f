"""Stop, and a server that falls silent: from the click, or from the silence, until the page shows it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, StorageState

from benchmarks.browser import open_page
from benchmarks.measuring import Bar, Report, Samples, Section
from benchmarks.model_server import ModelServer
from benchmarks.server import WaymarkServer


def measure_interruptions(
    report: Report,
    browser: Browser,
    state: StorageState,
    server: WaymarkServer,
    model: ModelServer,
    thread_id: str,
    runs: int,
) -> None:
    context, page, _ = open_page(browser, state, f"{server.address}/t/{thread_id}")
    page.get_by_test_id("message").last.wait_for()
    stops = Samples(tuple(_measure_stop(page, model) for _ in range(runs)))
    silence = _measure_silence(page, server)
    context.close()
    report.note_load()
    rows = [
        ("Stop, until one can send again", f"{stops.median:.0f}", f"{max(stops.values):.0f}"),
        ("a frozen server, until the page says so", f"{silence:.0f}", ""),
    ]
    report.sections.append(Section("Interruptions", ("", "median (ms)", "longest (ms)"), rows))
    report.bars.append(Bar("Stop clicked to the end of the run, longest", max(stops.values), 1_000.0, "ms"))
    report.bars.append(Bar("a frozen server is shown", silence, 7_000.0, "ms", note="a reply may take 6 s"))


def _measure_stop(page: Page, model: ModelServer) -> float:
    model.say("one two three")
    model.hold()
    page.get_by_test_id("composer").fill("hello")
    page.keyboard.press("Enter")
    stop = page.get_by_role("button", name="Stop", exact=True)
    stop.wait_for()
    with _timed() as elapsed:
        stop.click()
        page.get_by_test_id("send").wait_for()
    model.release()
    return elapsed[0]


def _measure_silence(page: Page, server: WaymarkServer) -> float:
    """Freeze the server while a message is sent, as a hung machine would."""
    with server.freeze(), _timed() as elapsed:
        page.get_by_test_id("composer").fill("hello?")
        page.keyboard.press("Enter")
        page.get_by_text("the server does not answer").wait_for()
    return elapsed[0]


@contextmanager
def _timed() -> Iterator[list[float]]:
    """Append the milliseconds of the block."""
    elapsed: list[float] = []
    start = time.perf_counter()
    yield elapsed
    elapsed.append((time.perf_counter() - start) * 1000)
