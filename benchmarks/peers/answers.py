"""Answers on the page: from Enter until they are painted."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import CDPSession, Page

from benchmarks import conversation
from benchmarks.browser import read_main_thread_milliseconds
from benchmarks.peers.bench import SETTLING_MS, Bench
from benchmarks.peers.programs import Running

TOKENS = 2_000
FIRST = "first word, new conversation"
LATER = {length: f"first word, a later message at {length:,}" for length in (10, 10_000)}
PLAIN, MARKDOWN = f"{TOKENS:,} tokens at once, plain", f"{TOKENS:,} tokens at once, Markdown"


@dataclass(frozen=True)
class Answer:
    """One answer, in milliseconds."""

    first: float  # from Enter to its first word, less the model's own time
    whole: float  # from Enter to its last word
    server: float  # processor time of the server meanwhile
    page: float  # and of the page's main thread


def measure_first_words(bench: Bench) -> None:
    """Measure the first word of a new conversation, and of a later message: the model sends one token and then waits."""
    talking = [each for each in bench.running if each.program.talks]
    storing = [each for each in talking if each.program.stores]
    cases: list[tuple[str, Callable[[int], str], list[Running]]] = [
        (FIRST, lambda run: "", talking),
        (LATER[10], lambda run: f"10-{run}", storing),
        (LATER[10_000], lambda run: "10000", [bench.waymark]),
    ]
    for title, name, running in cases:
        with bench.table.watch([title], "ms"):
            for run, each in bench.alternate(running):
                with bench.table.tolerate(each, title):
                    answer = _open_and_ask(bench, each, name(run), write_words(40), holding=True)
                    bench.table.add(title, each.name, answer.first)


def measure_whole_answers(bench: Bench) -> None:
    """Measure an answer that comes as fast as the model can send it, with the work of the server and the page."""
    talking = [each for each in bench.running if each.program.talks]
    for title, text in ((PLAIN, write_words(TOKENS)), (MARKDOWN, _write_markdown(TOKENS))):
        titles = (title, f"{title}: server's CPU", f"{title}: page's main thread")
        with bench.table.watch(titles, "ms"):
            for run, each in bench.alternate(talking):
                with bench.table.tolerate(each, title):
                    name = f"10-{bench.runs + run}" if each.program.stores else ""
                    answer = _open_and_ask(bench, each, name, text, holding=False)
                    for row, value in zip(titles, (answer.whole, answer.server, answer.page), strict=True):
                        bench.table.add(row, each.name, value)


def _open_and_ask(bench: Bench, running: Running, name: str, text: str, *, holding: bool) -> Answer:
    """Ask in a stored conversation after a question to warm up, or first of all in a new one."""
    with running.open(bench.browser, name) as (page, session):
        running.settle(page, SETTLING_MS, stored=bool(name))
        if name:
            ask(bench, running, page, session, write_words(40), holding=False)
        return ask(bench, running, page, session, text, holding=holding)


def ask(bench: Bench, running: Running, page: Page, session: CDPSession, text: str, *, holding: bool) -> Answer:
    """Send a question that is answered by this text, and wait until the page has painted it and is at rest."""
    mark = f"{random.randrange(10**9):09}"
    bench.model.say(f"Alpha{mark} {text} Omega{mark}.")
    if holding:
        bench.model.hold()
    running.write(page, f"A question, and its number is {mark}")
    page.evaluate("([first, end]) => probe.expect(first, end)", [f"Alpha{mark}", f"Omega{mark}."])
    server_before, page_before = running.server.processor_seconds(), read_main_thread_milliseconds(session)
    page.keyboard.press("Enter")
    try:
        first = page.evaluate("probe.first.then(time => time - probe.entered())")
        own = bench.model.own_milliseconds()
    finally:
        bench.model.release()
    whole = page.evaluate("probe.whole.then(time => time - probe.entered())")
    page.wait_for_timeout(SETTLING_MS)
    return Answer(
        first=first - own,
        whole=whole,
        server=(running.server.processor_seconds() - server_before) * 1000,
        page=read_main_thread_milliseconds(session) - page_before,
    )


def write_words(number: int) -> str:
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
