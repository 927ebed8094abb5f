"""The page in headless Chromium on the real server: its work and its bytes when it is opened, and interruptions."""

from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, StorageState, sync_playwright

from benchmarks import machine
from benchmarks.browser import OFFLINE, open_page, read_main_thread_milliseconds, sign_in
from benchmarks.graph import measure_graph, store_tree
from benchmarks.interruptions import measure_interruptions
from benchmarks.measuring import Report, Samples, Section
from benchmarks.model_server import ModelServer
from benchmarks.server import WaymarkServer
from benchmarks.stored import end_of, store_conversations

LENGTHS = {"10": 10, "10000": 10_000}  # messages, by the conversation's name
SETTINGS = {"MODEL": "openai:fake-model", "OPENAI_API_KEY": "sk-benchmark"}


@dataclass(frozen=True)
class Load:
    """One cold load: times in milliseconds."""

    usable: float  # from the start of the navigation
    processor: float  # of the page's main thread
    kilobytes: float
    requests: int


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the page's bars and tables to the report."""
    runs = 3 if quick else 9
    data = folder / "page"
    threads, tree = store_conversations(data, LENGTHS), store_tree(data)
    with (
        ModelServer() as model,
        WaymarkServer(data, OPENAI_BASE_URL=model.base_url, **SETTINGS) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=machine.browser(), args=OFFLINE)
        state = sign_in(browser, server)
        _measure_loading(report, browser, state, server, threads, runs)
        measure_graph(report, browser, state, server, tree, runs)
        measure_interruptions(report, browser, state, server, model, threads["10"], runs)
        report.browser_version = browser.version
        browser.close()


def _measure_loading(
    report: Report, browser: Browser, state: StorageState, server: WaymarkServer, threads: dict[str, str], runs: int
) -> None:
    loads: dict[str, list[Load]] = {name: [] for name in LENGTHS}
    for _ in range(runs + 1):
        for name in LENGTHS:  # alternating, so that other work on the machine affects both alike
            context, page, session = open_page(browser, state, f"{server.address}/t/{threads[name]}", end=end_of(name))
            loads[name].append(_load(page, session))
            context.close()
    report.note_load()
    section = Section(
        "Opening a conversation, nothing cached",
        ("messages", "usable, median (ms)", "best (ms)", "main thread (ms)", "KiB", "requests"),
        remarks=["*Usable*: from the start of the navigation until one can type and the last message is painted."],
    )
    for name, (_, *every) in loads.items():  # without the first load, which includes the server's first work
        usable = Samples(tuple(load.usable for load in every))
        processor = Samples(tuple(load.processor for load in every)).median
        times = (f"{usable.median:.0f}", f"{usable.best:.0f}", f"{processor:.0f}")
        section.rows.append((f"{LENGTHS[name]:,}", *times, f"{every[0].kilobytes:.0f}", str(every[0].requests)))
    report.sections.append(section)


def _load(page: Page, session: CDPSession) -> Load:
    usable = max(page.evaluate("Promise.all([probe.usable, probe.end])"))
    sizes = page.evaluate("probe.transferred()")
    return Load(usable, read_main_thread_milliseconds(session), sum(sizes) / 1024, len(sizes))
