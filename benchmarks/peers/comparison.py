"""Waymark, a bare page, an empty Dash page, Streamlit chat and Gradio ChatInterface, in one run on one model."""

from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import sync_playwright

from benchmarks import machine
from benchmarks.browser import OFFLINE, sign_in
from benchmarks.measuring import Bar, Report
from benchmarks.model_server import ModelServer
from benchmarks.peers import answers, opening, starting, work
from benchmarks.peers.bars import build_bars
from benchmarks.peers.bench import Bench
from benchmarks.peers.environment import install_peers, read_pins
from benchmarks.peers.programs import WAYMARK_APP, Program, Running, list_programs
from benchmarks.peers.table import Table
from benchmarks.server import WaymarkServer
from benchmarks.stored import read_checkpoint_texts, store_conversations, write_conversations

REMARKS = [
    "Medians; the programs take turns. *Others' CPU*: processors that other work on the machine kept busy meanwhile.",
    "*Page usable*: from the start of the navigation until one can type; of the empty Dash page, until its heading is "
    "painted. *First word*: from the keydown of Enter until it is painted, less the model's own time from the request to "
    "its first byte. *At once*: as fast as the fake model can send. *Restore*: from the click that confirms it.",
    "*People*: from the first Enter to the end of the last answer, in as many pages of one browser, with everything that "
    "the server does meanwhile; pages are open before. *A turn*: its answer is two tokens. *In the same "
    "moment*: from each page's own Enter until its first word is painted.",
    "Streamlit and Gradio run as their guides write a chat: the conversation in `st.session_state`, the answer through "
    "`st.write_stream`; `gr.ChatInterface` with `save_history`, without its limit of one answer at a time. They keep no "
    "conversation on the server: *reopen* shows them one from a file. The bare page has no messages above its field: "
    "its *keystroke* is the browser's own part. “–”: no such thing, or not comparable.",
]


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the comparison's bars and table to the report."""
    programs = list_programs(install_peers())
    runs, people, keys = (3, 5, 30) if quick else (9, 20, 100)
    table, data, files = Table(), folder / "waymark", folder / "stored"
    lengths = {f"10-{number}": 10 for number in range(3 * runs)} | {f"1000-{number}": 1_000 for number in range(3)}
    threads = store_conversations(data, lengths | {"10000": 10_000})
    write_conversations(files, lengths)
    with ModelServer() as model, ExitStack() as opened:
        settings = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-benchmark", "STORED": str(files)}
        starting.measure_starts(table, programs, folder / "starts", data, settings, runs)
        browser = opened.enter_context(sync_playwright()).chromium.launch(executable_path=machine.browser(), args=OFFLINE)
        running = [
            Running(each, opened.enter_context(each.start(folder / each.name, settings)), {}) for each in programs[1:]
        ]
        for each in running:
            each.paths = {name: f"/?conversation={name}" for name in lengths}
        ours = opened.enter_context(programs[0].start(data, settings))
        assert isinstance(ours, WaymarkServer)
        paths = {name: f"/t/{thread}" for name, thread in threads.items()}
        waymark = Running(WAYMARK_APP, ours, paths, sign_in(browser, ours))
        bench = Bench(browser, model, [waymark, *running], table, runs)
        kept = _measure_all(report, bench, people, keys)
        report.browser_version = browser.version
        browser.close()
    _report(report, table, programs, people, kept)


def _measure_all(report: Report, bench: Bench, people: int, keys: int) -> dict[str, list[bool]]:
    """Measure everything in the browser. Returns for each program whether what was typed at once was kept."""
    kept = opening.measure_usable(bench)
    opening.measure_painted(bench)
    report.note_load()
    answers.measure_first_words(bench)
    answers.measure_whole_answers(bench)
    report.note_load()
    opening.measure_keys(bench, keys)
    opening.measure_switches(bench)
    opening.measure_restores(bench, read_checkpoint_texts(1_000))
    report.note_load()
    work.measure_turns(bench)
    work.measure_people(bench, people)
    work.measure_rush(bench, people)
    report.note_load()
    return kept


def _report(report: Report, table: Table, programs: list[Program], people: int, kept: dict[str, list[bool]]) -> None:
    names = [program.name for program in programs]
    counts = ", ".join(f"{name} {sum(each)} of {len(each)}" for name, each in kept.items())
    remarks = [*REMARKS, f"Typed and sent as soon as the page was usable, and kept: {counts}.", f"Peers: {read_pins()}."]
    report.sections.append(table.describe("The page beside its peers", names, remarks))
    report.bars += build_bars(table, people)
    lost = kept[WAYMARK_APP.name].count(False)
    report.bars.append(Bar("typed and sent as soon as the page is usable, and lost", lost, 0, "texts"))
