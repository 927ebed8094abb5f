"""Answers on the page: from Enter, and from the model's first byte, until they are painted."""

import json
import random
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Browser, CDPSession, Page, StorageState

from benchmarks import conversation
from benchmarks.browser import open_page, read_main_thread_milliseconds
from benchmarks.measuring import Bar, Report, Samples, Section
from benchmarks.model_server import ModelServer
from benchmarks.server import WaymarkServer

TOKENS = 2_000
NEW_CONVERSATION = "a first token, new conversation"


@dataclass(frozen=True)
class Answer:
    """One answer, in milliseconds."""

    enter_to_first: float
    byte_to_first: float
    enter_to_whole: float
    server: float  # processor time of the server meanwhile
    page: float  # and of the page's main thread


def measure_answers(
    report: Report,
    browser: Browser,
    state: StorageState,
    server: WaymarkServer,
    model: ModelServer,
    threads: dict[str, str],
    runs: int,
) -> None:
    fresh = iter(threads.values())
    kinds: dict[str, tuple[Callable[[], str], str, bool]] = {
        NEW_CONVERSATION: (lambda: "", _write_words(40), True),
        "a first token, 10 messages": (lambda: threads["short"], _write_words(40), True),
        "a first token, 10,000 messages": (lambda: threads["long"], _write_words(40), True),
        f"{TOKENS:,} tokens at once, plain": (lambda: next(fresh), _write_words(TOKENS), False),
        f"{TOKENS:,} tokens at once, Markdown": (lambda: next(fresh), _write_markdown(TOKENS), False),
    }
    found: dict[str, list[Answer]] = {name: [] for name in kinds}
    for name, (thread, text, holding) in kinds.items():
        for run in range(runs):
            if thread_id := thread():
                context, page, session = open_page(browser, state, f"{server.address}/t/{thread_id}")
                page.get_by_test_id("message").last.wait_for()
                _measure_answer(
                    page, session, server, model, "a first question, to warm up", _write_words(40), holding=False
                )
            else:  # a new tab: its first message is measured
                context, page, session = open_page(browser, state, server.address)
                page.get_by_test_id("composer").wait_for()
                page.wait_for_load_state("networkidle")
            found[name].append(_measure_answer(page, session, server, model, f"{name} {run}", text, holding=holding))
            context.close()
        report.note_load()
    raw = Samples(tuple(_measure_model(model, _write_words(TOKENS)) for _ in range(runs))).median
    _report_answers(report, found, raw)


def _report_answers(report: Report, found: dict[str, list[Answer]], raw: float) -> None:
    """Add the table and the bars. `raw`: the milliseconds that the model itself takes for all tokens."""
    section = Section(
        "Answers, medians (ms)",
        ("", "Enter to first painted", "first byte to painted", "Enter to all painted", "server's CPU", "main thread"),
    )
    for name, answers in found.items():
        columns = [
            Samples(tuple(getattr(answer, column) for answer in answers)).median
            for column in ("enter_to_first", "byte_to_first", "enter_to_whole", "server", "page")
        ]
        cells = [f"{value:.0f}" for value in columns]
        cells[2] = "–" if "first" in name else cells[2]  # the stream was held back
        section.rows.append((name, *cells))
    section.remarks = [
        "*A first token*: the model sends one token and then waits. *At once*: as fast as the fake model can send them, "
        f"which takes it {raw:.0f} ms for a client that only reads.",
    ]
    report.sections.append(section)
    for name in list(found)[:3]:
        painted = Samples(tuple(answer.byte_to_first for answer in found[name])).median
        felt = Samples(tuple(answer.enter_to_first for answer in found[name])).median
        where = name.split(", ")[1]
        report.bars.append(Bar(f"the model's first byte to the first token painted, {where}", painted, 60.0, "ms"))
        report.bars.append(Bar(f"Enter to the first token painted, {where}", felt, 60.0, "ms", note="the model included"))
    for name in list(found)[3:]:
        whole = Samples(tuple(answer.enter_to_whole for answer in found[name])).median
        report.bars.append(Bar(f"{name}: Enter to all painted", whole, 500.0, "ms", note=f"of which the model {raw:.0f} ms"))


def _measure_answer(
    page: Page, session: CDPSession, server: WaymarkServer, model: ModelServer, question: str, text: str, *, holding: bool
) -> Answer:
    mark = f"{random.randrange(10**9):09}"
    model.say(f"Alpha{mark} {text} Omega{mark}.")
    if holding:
        model.hold()
    page.get_by_test_id("composer").fill(question)
    page.evaluate("([first, end]) => probe.expect(first, end)", [f"Alpha{mark}", f"Omega{mark}."])
    server_before, page_before = server.processor_seconds(), read_main_thread_milliseconds(session)
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
        page=read_main_thread_milliseconds(session) - page_before,
    )


def _measure_model(model: ModelServer, text: str) -> float:
    """Measure the fake itself, with a client that only reads."""
    model.say(text)
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "go"}]}
    headers = {"Authorization": "Bearer sk-benchmark", "Content-Type": "application/json"}
    asked = urllib.request.Request(f"{model.base_url}/chat/completions", json.dumps(body).encode(), headers)
    start = time.perf_counter()
    with urllib.request.urlopen(asked, timeout=30) as answer:
        answer.read()
    return (time.perf_counter() - start) * 1000


def _write_words(number: int) -> str:
    """Return plain paragraphs of eighty words; the fake sends a word as a token."""
    chance = random.Random(number)
    paragraphs = [conversation.prose(chance, min(80, number - start)) for start in range(0, number, 80)]
    return "\n\n".join(paragraphs)


def _write_markdown(number: int) -> str:
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
