"""Conversations that stream beside a burden: the gaps between their frames, /healthz, and the server's event loop.

The server runs with a probe on its loop. Health is asked by a process of its own, and the pages are another one.
"""

import http.client
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks import burdens, documents
from benchmarks.burdens import Burden, Scene, under
from benchmarks.loop_probe import Hold, read_holds
from benchmarks.machine import ROOT
from benchmarks.measuring import Bar, Report, Samples, Section
from benchmarks.server import WaymarkServer
from benchmarks.streams import RATE, Page, Process, open_conversation, serve_model, serve_pages
from server.request_rate import MAX_REQUESTS_PER_SECOND
from tests.faults.page import NotAnswered, PageClient

CONVERSATIONS = 25
HEALTH_SECONDS = 0.025  # between two looks at /healthz
BAR_GAP, BAR_GAP_ALONE = 1_500.0, 500.0  # ms, p99
BAR_HEALTH = 1_000.0  # ms, the longest
BAR_HELD = 250.0  # ms of the loop's own work, the longest
COLD_BURDEN = f"first questions in conversations of {burdens.TALK_MESSAGES:,} messages"
SETTLING_SECONDS = 1.0
TOOLS = """[mcp.big]
command = "{python}"
args = ["-m", "tests.fakes.mcp"]
env = {{PYTHONPATH = "{root}"}}
approval = false
"""
BURDENS: dict[str, Callable[[], Burden]] = {
    "nothing": lambda: Burden(burdens.do_nothing),
    "imports of 10 MB": lambda: Burden(burdens.import_files(documents.write_large_files())),
    "imports of 250,000 objects": lambda: Burden(burdens.import_files(documents.write_object_files())),
    "a tool's result of 50 MB in one line": lambda: Burden(burdens.call_flooding_tool),
    "10,000 branches of a comb in four tabs": lambda: Burden(burdens.view_in_tabs, documents.write_branched_document()),
    "128 calls and 199 branches in four tabs": lambda: Burden(burdens.view_in_tabs, documents.write_calling_document()),
    "9 MB of dear Markdown in four tabs": lambda: Burden(burdens.view_in_tabs, documents.write_dear_document()),
    COLD_BURDEN: lambda: Burden(burdens.ask_for_the_first_time, talks=documents.write_talks()),
    "1,000 sockets that do not read": lambda: Burden(burdens.hold_unread_sockets),
    "400 that do not read a file": lambda: Burden(burdens.hold_unread_files),
    "400 slow connections": lambda: Burden(burdens.hold_slow_connections),
    "100 malformed posts a second": lambda: Burden(burdens.post_malformed_bodies),
}


@dataclass(frozen=True)
class Measured:
    """The figures beside one burden, in milliseconds."""

    gaps: Samples
    delays: Samples
    health: Samples  # over an open connection
    connecting: Samples  # the same over a new one
    holds: Sequence[Hold]
    times: int
    errors: Sequence[str]

    @property
    def held(self) -> float:
        return max((hold.busy for hold in self.holds), default=0.0) * 1000

    @property
    def late(self) -> float:
        return max((hold.seconds for hold in self.holds), default=0.0) * 1000


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the bars and the table of the burdens to the report."""
    data = folder / "beside"
    data.mkdir(parents=True)
    (data / "waymark.toml").write_text(TOOLS.format(python=sys.executable, root=ROOT), encoding="utf-8")
    found: dict[str, Measured] = {}
    with Process(serve_model) as model:
        provider = {"MODEL": "openai:streams", "OPENAI_BASE_URL": model.pipe.recv(), "OPENAI_API_KEY": "sk-benchmark"}
        probe = {"PYTHONPATH": str(ROOT), "LOOP_FILE": str(data / "loop.jsonl")}
        with WaymarkServer(data, program=("-m", "benchmarks.loop_probe"), **provider, **probe) as server:
            browser = PageClient(server.link)
            tabs = [open_conversation(browser) for _ in range(CONVERSATIONS)]
            for name, build in BURDENS.items():
                found[name] = _measure_beside(
                    server, browser, tabs, build(), RATE * (6 if quick else 15), data / "loop.jsonl"
                )
                report.note_load()
    report.bars += [bar for name, measured in found.items() for bar in _list_bars(name, measured)]
    report.sections.append(_build_table(found))


def _measure_beside(
    server: WaymarkServer, browser: PageClient, tabs: Sequence[PageClient], burden: Burden, tokens: int, loop_file: Path
) -> Measured:
    socket_address = server.address.replace("http", "ws")
    pages = [f"{socket_address}/api/threads/{tab.thread}/events" for tab in tabs]
    scene = Scene(browser, [tab.thread or "" for tab in tabs])
    burden.prepare(scene)
    watching = (browser.socket_options, pages, tokens, False)
    with Process(_ask_health, server.port) as health, Process(serve_pages, *watching) as watch:
        assert watch.pipe.recv() == "ready"
        for tab in tabs:
            tab.look()
            assert tab.send(f"tokens: {tokens}")["ok"]
        time.sleep(SETTLING_SECONDS)
        assert health.pipe.recv() == "ready"
        start = time.perf_counter()
        health.pipe.send("begin")
        with under(burden, scene):
            seen: list[Page] = watch.pipe.recv()
            end = time.perf_counter()
            health.pipe.send("end")
            latencies: tuple[list[float], list[float]] = health.pipe.recv()
    for tab in tabs:
        _wait_for_rest(tab)
    gaps = [1000 * gap for page in seen for gap in _list_gaps(page, start)]
    delays = [delay for page in seen for delay in page.delays]
    holds = read_holds(loop_file, start, end)
    shown, delayed, asked, connected = (Samples(tuple(values)) for values in (gaps, delays, *latencies))
    return Measured(shown, delayed, asked, connected, holds, scene.times, scene.errors)


def _wait_for_rest(tab: PageClient) -> None:
    """Wait until the answer is there. A burden may have used up the requests that the session may send."""
    while True:
        try:
            tab.rest()
            return
        except NotAnswered as refused:
            if HTTPStatus.TOO_MANY_REQUESTS not in refused.args:
                raise
            time.sleep(1 / MAX_REQUESTS_PER_SECOND)


def _list_gaps(page: Page, start: float) -> list[float]:
    """Return the seconds between two frames of a page that came under the burden."""
    shown = [arrival for arrival in page.arrivals if arrival >= start]
    return [later - earlier for earlier, later in pairwise(shown)]


def _ask_health(pipe: Connection, port: int) -> None:
    """Ask for /healthz between two words of the pipe, over an open and over new connections; send the milliseconds."""
    found: list[list[float]] = [[], []]

    def ask(connection: http.client.HTTPConnection, times: list[float]) -> None:
        start = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        times.append((time.perf_counter() - start) * 1000)

    def ask_anew() -> None:
        while not ended.wait(HEALTH_SECONDS * 4):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            ask(connection, found[1])
            connection.close()

    ended, connection = threading.Event(), http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    anew = threading.Thread(target=ask_anew)
    pipe.send("ready")
    pipe.recv()
    ask(connection, [])  # only now: the server closes a connection that rests for 5 s
    anew.start()
    while not pipe.poll(HEALTH_SECONDS):
        ask(connection, found[0])
    ended.set()
    anew.join()
    pipe.send(found)


def _list_bars(name: str, measured: Measured) -> list[Bar]:
    bar_gap = BAR_GAP_ALONE if name == "nothing" else BAR_GAP
    beside = f"{CONVERSATIONS} streams beside {name}" if name != "nothing" else f"{CONVERSATIONS} streams alone, probed"
    return [
        Bar(f"{beside}: gap between frames, p99", measured.gaps.percentile(99), bar_gap, "ms"),
        Bar(f"{beside}: /healthz, longest", max(measured.health.values), BAR_HEALTH, "ms"),
        Bar(f"{beside}: /healthz over a new connection, longest", max(measured.connecting.values), BAR_HEALTH, "ms"),
        Bar(f"{beside}: loop held by its own work, longest", measured.held, BAR_HELD, "ms", note=_name_cause(measured)),
    ]


def _name_cause(measured: Measured) -> str:
    """Return the places in which the loop was held for longer than its bar."""
    causes = Counter(hold.stack for hold in measured.holds if hold.busy * 1000 > BAR_HELD)
    return "; ".join(f"{number} × {stack or 'many short calls'}" for stack, number in causes.most_common(2))


def _build_table(found: dict[str, Measured]) -> Section:
    head = [
        "beside",
        "frame gap p50 (ms)",
        "p99",
        "worst",
        "token delay p99",
        "/healthz p99",
        "worst",
        "over a new connection",
    ]
    section = Section(
        f"{CONVERSATIONS} conversations that stream beside a burden",
        [*head, "loop held, worst", "loop late, worst", "times", "errors"],
    )
    for name, one in found.items():
        gaps, health = one.gaps, one.health
        figures = [gaps.median, gaps.percentile(99), max(gaps.values), one.delays.percentile(99)]
        figures += [health.percentile(99), max(health.values), max(one.connecting.values), one.held, one.late]
        section.rows.append((name, *(f"{figure:.0f}" for figure in figures), str(one.times), "; ".join(one.errors)))
    section.remarks = [
        "*Frame gap*: between two frames of a page that show something new. *Loop held*: the loop's own processor time "
        "without a pause. *Loop late*: the same by the clock, with all waiting for a "
        "processor and for the server's own threads. *Times*: how often the burden was complete."
    ]
    return section
