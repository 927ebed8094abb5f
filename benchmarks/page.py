"""The page in headless Chromium on the real server, with the fake model beside it."""

import json
import random
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import AIMessage
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, StorageState, sync_playwright

from benchmarks import conversation, machine
from benchmarks.measuring import Bar, Report, Samples, Section
from benchmarks.model_server import ModelServer
from benchmarks.server import WaymarkServer
from checkpoints import CheckpointManager, Database, Store

PROBE = Path(__file__).parent / "probe.js"
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
SHORT, LONG = 10, 10_000  # messages
TOKENS = 2_000
KEYS = 100
SETTLING = 5.0  # seconds before an idle server's memory is measured
END = "The end of this conversation."
SETTINGS = {"MODEL": "openai:fake-model", "OPENAI_API_KEY": "sk-benchmark"}
SIZE = {"width": 1280, "height": 900}


@dataclass(frozen=True)
class Load:
    """One cold load: times in milliseconds."""

    usable: float  # from the start of the navigation
    processor: float  # of the page's main thread
    kilobytes: float
    requests: int


@dataclass(frozen=True)
class Answer:
    """One answer, in milliseconds."""

    enter_to_first: float
    byte_to_first: float
    enter_to_whole: float
    server: float  # processor time of the server meanwhile
    page: float  # and of the page's main thread


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
        state = _sign_in(browser, server)
        _measure_loading(report, browser, state, server, threads, runs)
        _measure_keys(report, browser, state, server, threads)
        _measure_answers(report, browser, state, server, model, threads, runs)
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


def _sign_in(browser: Browser, server: WaymarkServer) -> StorageState:
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.link)
    page.get_by_test_id("composer").wait_for()
    state = context.storage_state()
    context.close()
    return state


def _open(browser: Browser, state: StorageState, address: str) -> tuple[BrowserContext, Page, CDPSession]:
    """Open a page in a new context without a cache, with its main thread's work counted from the start."""
    context = browser.new_context(storage_state=state, viewport=SIZE)  # type: ignore[arg-type]
    context.add_init_script(path=PROBE)
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    page.goto(address, wait_until="commit")
    return context, page, session


def _measure_loading(
    report: Report, browser: Browser, state: StorageState, server: WaymarkServer, threads: dict[str, str], runs: int
) -> None:
    loads: dict[int, list[Load]] = {SHORT: [], LONG: []}
    for _ in range(runs + 1):
        for length, thread_id in (
            (SHORT, threads["short"]),
            (LONG, threads["long"]),
        ):  # alternating, so that other work on the machine affects both alike
            context, page, session = _open(browser, state, f"{server.address}/t/{thread_id}")
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
    return Load(usable, _main_thread(session), sum(sizes) / 1024, len(sizes))


def _main_thread(session: CDPSession) -> float:
    """Return the milliseconds of work of the page's main thread so far."""
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"]) * 1000


def _measure_keys(
    report: Report, browser: Browser, state: StorageState, server: WaymarkServer, threads: dict[str, str]
) -> None:
    section = Section("Keystroke to paint", ("messages", "p50 (ms)", "p95 (ms)"))
    section.remarks = ["The next frame alone takes up to 17 ms to come."]
    chance = random.Random(1)
    for length, thread_id in ((SHORT, threads["short"]), (LONG, threads["long"])):
        context, page, _ = _open(browser, state, f"{server.address}/t/{thread_id}")
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


def _measure_answers(
    report: Report,
    browser: Browser,
    state: StorageState,
    server: WaymarkServer,
    model: ModelServer,
    threads: dict[str, str],
    runs: int,
) -> None:
    section = Section(
        "Answers, medians (ms)",
        ("", "Enter to first painted", "first byte to painted", "Enter to all painted", "server's CPU", "main thread"),
    )
    fresh = iter(threads.values())
    kinds: dict[str, tuple[Callable[[], str], str, bool]] = {
        "a first token, 10 messages": (lambda: threads["short"], _words(40), True),
        "a first token, 10,000 messages": (lambda: threads["long"], _words(40), True),
        f"{TOKENS:,} tokens at once, plain": (lambda: next(fresh), _words(TOKENS), False),
        f"{TOKENS:,} tokens at once, Markdown": (lambda: next(fresh), _markdown(TOKENS), False),
    }
    found: dict[str, list[Answer]] = {name: [] for name in kinds}
    for name, (thread, text, holding) in kinds.items():
        for run in range(runs):
            context, page, session = _open(browser, state, f"{server.address}/t/{thread()}")
            page.get_by_test_id("message").last.wait_for()
            _answer(page, session, server, model, "a first question, to warm up", _words(40), holding=False)
            found[name].append(_answer(page, session, server, model, f"{name} {run}", text, holding=holding))
            context.close()
        report.note_load()
    for name, answers in found.items():
        columns = [
            Samples(tuple(getattr(answer, column) for answer in answers)).median
            for column in ("enter_to_first", "byte_to_first", "enter_to_whole", "server", "page")
        ]
        cells = [f"{value:.0f}" for value in columns]
        cells[2] = "–" if "first" in name else cells[2]  # the stream was held back
        section.rows.append((name, *cells))
    raw = Samples(tuple(_raw(model, _words(TOKENS)) for _ in range(runs))).median
    section.remarks = [
        "*A first token*: the model sends one token and then waits. *At once*: as fast as the fake model can send them, "
        f"which takes it {raw:.0f} ms for a client that only reads.",
    ]
    report.sections.append(section)
    for name in list(kinds)[:2]:
        painted = Samples(tuple(answer.byte_to_first for answer in found[name])).median
        report.bars.append(
            Bar(f"the model's first byte to the first token painted, {name.split(', ')[1]}", painted, 60.0, "ms")
        )
    for name in list(kinds)[2:]:
        whole = Samples(tuple(answer.enter_to_whole for answer in found[name])).median
        report.bars.append(Bar(f"{name}: Enter to all painted", whole, 500.0, "ms", note=f"of which the model {raw:.0f} ms"))


def _answer(
    page: Page, session: CDPSession, server: WaymarkServer, model: ModelServer, question: str, text: str, *, holding: bool
) -> Answer:
    mark = f"{random.randrange(10**9):09}"
    model.say(f"Alpha{mark} {text} Omega{mark}.")
    if holding:
        model.hold()
    page.get_by_test_id("composer").fill(question)
    page.evaluate("([first, end]) => probe.expect(first, end)", [f"Alpha{mark}", f"Omega{mark}."])
    server_before, page_before = server.processor_seconds(), _main_thread(session)
    page.keyboard.press("Enter")
    first = page.evaluate("probe.first")
    first_byte = model.first_byte()
    if holding:
        model.release()
    whole = page.evaluate("probe.whole")
    page.get_by_test_id("send").wait_for()
    entered, first_epoch = page.evaluate("probe.entered()"), page.evaluate("probe.epoch", first)
    if abs(page.evaluate("probe.clockError()")) > 2:
        raise RuntimeError("the page's clock is not the machine's")
    return Answer(
        enter_to_first=first - entered,
        byte_to_first=first_epoch - first_byte,
        enter_to_whole=whole - entered,
        server=(server.processor_seconds() - server_before) * 1000,
        page=_main_thread(session) - page_before,
    )


def _raw(model: ModelServer, text: str) -> float:
    """Measure the fake itself, with a client that only reads."""
    model.say(text)
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "go"}]}
    headers = {"Authorization": "Bearer sk-benchmark", "Content-Type": "application/json"}
    asked = urllib.request.Request(f"{model.base_url}/chat/completions", json.dumps(body).encode(), headers)
    start = time.perf_counter()
    with urllib.request.urlopen(asked, timeout=30) as answer:
        answer.read()
    return (time.perf_counter() - start) * 1000


def _words(number: int) -> str:
    """Return plain paragraphs of eighty words; the fake sends a word as a token."""
    chance = random.Random(number)
    paragraphs = [conversation.prose(chance, min(80, number - start)) for start in range(0, number, 80)]
    return "\n\n".join(paragraphs)


def _markdown(number: int) -> str:
    """Return the same with the parts of real answers: headings, lists, a table, code."""
    chance = random.Random(number)
    part = "\n\n".join(
        (
            f"## {conversation.prose(chance, 5)}",
            conversation.prose(chance, 60),
            "\n".join(f"- **{conversation.prose(chance, 2)}** {conversation.prose(chance, 12)}" for _ in range(5)),
            "| city | morning |\n| --- | ---: |\n" + "\n".join(f"| {place} | 12 |" for place in "ABCD"),
            "```python\n" + "\n".join(f"total_{line} = sum(values[{line}:])  # so far" for line in range(12)) + "\n```",
        )
    )
    return "\n\n".join([part] * (number // len(part.split()) + 1))
