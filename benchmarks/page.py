"""The page in headless Chromium on the real server, with the fake model beside it."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import AIMessage
from playwright.sync_api import Browser, CDPSession, Page, StorageState, sync_playwright

from benchmarks import conversation, machine
from benchmarks.answers import measure_answers
from benchmarks.browser import ARGUMENTS, open_page, read_main_thread_milliseconds, sign_in
from benchmarks.interruptions import measure_interruptions
from benchmarks.measuring import Bar, Report, Samples, Section
from benchmarks.model_server import ModelServer
from benchmarks.server import WaymarkServer
from checkpoints import CheckpointManager, Database, Store

SHORT, LONG = 10, 10_000  # messages
KEYS = 100
SETTLING = 5.0  # seconds before an idle server's memory is measured
END = "The end of this conversation."
SETTINGS = {"MODEL": "openai:fake-model", "OPENAI_API_KEY": "sk-benchmark"}


@dataclass(frozen=True)
class Load:
    """One cold load: times in milliseconds."""

    usable: float  # from the start of the navigation
    processor: float  # of the page's main thread
    kilobytes: float
    requests: int


def measure(report: Report, folder: Path, *, quick: bool) -> str:
    """Add the page's bars and tables to the report, and return the browser's version."""
    runs = 3 if quick else 9
    data = folder / "page"
    threads = _seed(data, {str(number): SHORT for number in range(2 * runs)} | {"short": SHORT, "long": LONG})
    _measure_server(report, folder, data, 3 if quick else 5)
    with (
        ModelServer() as model,
        WaymarkServer(data, OPENAI_BASE_URL=model.base_url, **SETTINGS) as server,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=machine.browser(), args=ARGUMENTS)
        state = sign_in(browser, server)
        _measure_loading(report, browser, state, server, threads, runs)
        _measure_keys(report, browser, state, server, threads)
        measure_answers(report, browser, state, server, model, threads, runs)
        measure_interruptions(report, browser, state, server, model, threads["short"], runs)
        version = browser.version
        browser.close()
    return version


def _seed(data: Path, lengths: dict[str, int]) -> dict[str, str]:
    """Store conversations of these lengths, each with ten checkpoints, and return their ids by the same names."""
    database = Database.open_file(data / "waymark.db")
    store = Store(database)
    threads = {}
    for name, length in lengths.items():
        talk = conversation.messages(length - 1)
        talk.append(AIMessage(f"{talk[0].text} {END}", response_metadata={"finish_reason": "stop"}))
        threads[name] = store.create_thread(title=f"A conversation of {length:,} messages").id
        manager = CheckpointManager(store, threads[name])
        for end in range(length // 10, length + 1, length // 10):
            manager.save_checkpoint({"messages": talk[:end]})
    database.close()
    return threads


def _measure_server(report: Report, folder: Path, data: Path, runs: int) -> None:
    section = Section("The server", ("", "ready, median (s)", "ready, best (s)", "idle (MiB)"))
    kinds: list[tuple[str, Callable[[int], Path], dict[str, str]]] = [
        ("demo model, new data folder", lambda run: folder / f"new-{run}", {"MODEL": "demo"}),
        ("OpenAI model, 10,000 messages stored", lambda _: data, {**SETTINGS, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}),
    ]
    for name, where, settings in kinds:
        ready, memory = [], []
        for run in range(runs):
            with WaymarkServer(where(run), **settings) as server:
                ready.append(server.ready_seconds)
                if run == 0:
                    time.sleep(SETTLING)
                    memory.append(server.memory())
        start = Samples(tuple(ready))
        section.rows.append((name, f"{start.median:.2f}", f"{start.best:.2f}", f"{memory[0]:.0f}"))
        report.bars.append(Bar(f"server ready, {name}", start.median, 3.0, "s"))
        report.bars.append(Bar(f"server's memory, idle, {name}", memory[0], 200.0, "MiB"))
    report.note_load()
    report.sections.append(section)


def _measure_loading(
    report: Report, browser: Browser, state: StorageState, server: WaymarkServer, threads: dict[str, str], runs: int
) -> None:
    loads: dict[int, list[Load]] = {SHORT: [], LONG: []}
    for _ in range(runs + 1):
        for length, thread_id in (
            (SHORT, threads["short"]),
            (LONG, threads["long"]),
        ):  # alternating, so that other work on the machine affects both alike
            context, page, session = open_page(browser, state, f"{server.address}/t/{thread_id}")
            loads[length].append(_load(page, session))
            context.close()
    report.note_load()
    section = Section(
        "Opening a conversation, nothing cached",
        ("messages", "usable, median (ms)", "best (ms)", "main thread (ms)", "KiB", "requests"),
        remarks=["*Usable*: from the start of the navigation until one can type and the last message is painted."],
    )
    usable = {}
    for length, (_, *every) in loads.items():  # without the first load, which includes the server's first work
        usable[length] = Samples(tuple(load.usable for load in every))
        processor = Samples(tuple(load.processor for load in every)).median
        times = (f"{usable[length].median:.0f}", f"{usable[length].best:.0f}", f"{processor:.0f}")
        section.rows.append((f"{length:,}", *times, f"{every[0].kilobytes:.0f}", str(every[0].requests)))
    report.sections.append(section)
    report.bars.append(Bar("page usable, 10,000 messages", usable[LONG].median, 800.0, "ms"))
    report.bars.append(Bar("page usable, 10,000 ÷ 10 messages", usable[LONG].median / usable[SHORT].median, 1.3, "×"))


def _load(page: Page, session: CDPSession) -> Load:
    usable = page.evaluate("probe.usable")
    sizes = page.evaluate("probe.transferred()")
    return Load(usable, read_main_thread_milliseconds(session), sum(sizes) / 1024, len(sizes))


def _measure_keys(
    report: Report, browser: Browser, state: StorageState, server: WaymarkServer, threads: dict[str, str]
) -> None:
    section = Section("Keystroke to paint", ("messages", "p50 (ms)", "p95 (ms)"))
    section.remarks = ["The next frame alone takes up to 17 ms to come."]
    chance = random.Random(1)
    for length, thread_id in ((SHORT, threads["short"]), (LONG, threads["long"])):
        context, page, _ = open_page(browser, state, f"{server.address}/t/{thread_id}")
        page.evaluate("probe.usable")
        page.get_by_test_id("composer").click()
        for _ in range(KEYS):
            page.keyboard.press(chance.choice("etaoinshrdlu "))
            page.wait_for_timeout(chance.uniform(30, 80))
        keys = Samples(tuple(page.evaluate("probe.keys")))
        context.close()
        section.rows.append((f"{length:,}", f"{keys.median:.1f}", f"{keys.percentile(95):.1f}"))
    report.note_load()
    report.sections.append(section)
    report.bars.append(Bar("keystroke to paint, 10,000 messages, p50", keys.median, 20.0, "ms"))
    report.bars.append(Bar("keystroke to paint, 10,000 messages, p95", keys.percentile(95), 20.0, "ms"))
