"""The server's work: of many people at once, and of a turn beside its tokens."""

import time
from contextlib import ExitStack

from benchmarks.peers.answers import ask, write_words
from benchmarks.peers.bench import SETTLING_MS, Bench
from benchmarks.peers.programs import Running

TURNS, TOKENS, RATE = 3, 200, 50  # of each person; tokens of an answer; tokens a second
RUSH = "first word, {people} people who press Enter in the same moment, p95"
PEOPLE = "server's CPU for 1,000 tokens, {people} people with {turns} turns of {tokens} tokens at {rate}/s"
TURN = {length: f"server's CPU of a turn beside its tokens, {length:,} messages" for length in (10, 10_000)}
REPEATED = 5  # turns in one measurement: the system counts processor time in hundredths of a second


def name_rush(people: int) -> str:
    return RUSH.format(people=people)


def name_people(people: int) -> str:
    return PEOPLE.format(people=people, turns=TURNS, tokens=TOKENS, rate=RATE)


def measure_people(bench: Bench, people: int) -> None:
    """Measure all of the server's work from the first Enter until all answers are whole, once."""
    title = name_people(people)
    with bench.table.watch([title], "s"):
        for each in bench.running:
            if each.program.talks:
                with bench.table.tolerate(each, title):
                    bench.table.add(title, each.name, _talk(bench, each, people) / (people * TURNS * TOKENS) * 1000)


def _talk(bench: Bench, running: Running, people: int) -> float:
    """Return the server's seconds while so many people ask at once, each on a page of their own."""
    with ExitStack() as opened:
        pages = [opened.enter_context(running.open(bench.browser))[0] for _ in range(people)]
        for page in pages:
            page.evaluate("probe.usable")
        pages[0].wait_for_timeout(SETTLING_MS)
        before = running.server.processor_seconds()
        for turn in range(TURNS):
            bench.model.say(f"{write_words(TOKENS - 1)} Omega{turn}.", times=people, token_delay=1 / RATE)
            for page in pages:
                running.write(page, f"Question {turn}")
                page.evaluate("end => probe.expect(end, end)", f"Omega{turn}.")
                page.keyboard.press("Enter")
            for page in pages:
                page.evaluate("probe.whole")
            pages[0].wait_for_timeout(SETTLING_MS)
        return running.server.processor_seconds() - before


def measure_rush(bench: Bench, people: int) -> None:
    """Measure the first words of people who press Enter in the same moment, each on a page of their own."""
    title = name_rush(people)
    with bench.table.watch([title], "ms", percent=95):
        for each in bench.running:
            if each.program.talks:
                with bench.table.tolerate(each, title):
                    bench.table.add(title, each.name, *_rush(bench, each, people))


def _rush(bench: Bench, running: Running, people: int) -> list[float]:
    """Return the milliseconds until each page's first word, in several rounds after one to warm up."""
    found: list[float] = []
    with ExitStack() as opened:
        pages = [opened.enter_context(running.open(bench.browser))[0] for _ in range(people)]
        for page in pages:
            page.evaluate("probe.usable")
        for turn in range(TURNS):
            bench.model.say(f"Alpha{turn} {write_words(40)} Omega{turn}.", times=people, token_delay=1 / RATE)
            for page in pages:
                running.write(page, f"Question {turn}")
                page.evaluate("([first, end]) => probe.expect(first, end)", [f"Alpha{turn}", f"Omega{turn}."])
            pages[0].wait_for_timeout(SETTLING_MS)
            moment = time.time() * 1000 + SETTLING_MS
            for page in pages:
                page.evaluate("moment => probe.pressEnterAt(moment)", moment)
            firsts = [page.evaluate("probe.first.then(time => time - probe.entered())") for page in pages]
            found += firsts if turn else []
            for page in pages:
                page.evaluate("probe.whole")
    return found


def measure_turns(bench: Bench) -> None:
    """Measure turns of Waymark whose answers are two tokens."""
    with bench.table.watch(list(TURN.values()), "ms"):
        for run in range(bench.runs):
            for length, title in TURN.items():
                name = f"10-{2 * bench.runs + run}" if length == 10 else str(length)
                with bench.waymark.open(bench.browser, name) as (page, session):
                    bench.waymark.settle(page, SETTLING_MS, stored=True)
                    ask(bench, bench.waymark, page, session, "", holding=False)
                    before = bench.waymark.server.processor_seconds()
                    for _ in range(REPEATED):
                        ask(bench, bench.waymark, page, session, "", holding=False)
                    spent = bench.waymark.server.processor_seconds() - before
                bench.table.add(title, bench.waymark.name, spent / REPEATED * 1000)
