"""Opening pages and conversations, and typing: until the page has painted it."""

import random
from collections.abc import Sequence

from playwright.sync_api import Page

from benchmarks.peers.bench import SETTLING_MS, Bench
from benchmarks.peers.programs import BARE, Running
from benchmarks.stored import end_of, name_checkpoint

USABLE = "page usable, nothing cached"
PAINTED = {length: f"transcript painted, {length:,} messages" for length in (10, 10_000)}
REOPENED = "reopen 1,000 messages"
SWITCHED = "switch to another conversation"
RESTORED = "restore, 1,000 messages and 100 checkpoints"
KEYS = {
    (length, percent): f"keystroke to paint, {length:,} messages, p{percent}"
    for length in (1_000, 10_000)
    for percent in (50, 95)
}
PATIENCE_MS = 10_000  # for what was typed at once to be shown


def measure_usable(bench: Bench) -> dict[str, list[bool]]:
    """Measure an empty page until one can type, then type and send. Returns for each program whether that was kept."""
    kept: dict[str, list[bool]] = {each.name: [] for each in bench.running if each.program.talks}
    for each in bench.running:
        with each.open(bench.browser) as (page, _):  # the first page includes the server's first work
            page.evaluate("probe.usable")
    with bench.table.watch([USABLE], "ms"):
        for run, each in bench.alternate(bench.running):
            with bench.table.tolerate(each, USABLE), each.open(bench.browser) as (page, _):
                bench.table.add(USABLE, each.name, page.evaluate("probe.usable"))
                if each.program.talks:
                    bench.model.say("Kept.")
                    kept[each.name].append(_is_kept(each, page, f"typed-at-once-{run}"))
    return kept


def _is_kept(running: Running, page: Page, text: str) -> bool:
    """Type with keys and press Enter; tell whether the conversation shows it."""
    page.locator(running.program.places.composer).first.focus()
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.evaluate("text => probe.expectShown(text)", text)
    return bool(page.evaluate(f"Promise.race([probe.shown, new Promise(resolve => setTimeout(resolve, {PATIENCE_MS}))])"))


def measure_painted(bench: Bench) -> None:
    """Measure a navigation to a stored conversation until its last message is painted."""
    with bench.table.watch(list(PAINTED.values()), "ms"):
        for run in range(bench.runs + 1):
            for length, title in PAINTED.items():
                with bench.waymark.open(bench.browser, "10-0" if length == 10 else str(length)) as (page, _):
                    painted = page.evaluate("probe.end")
                if run:  # the first includes the server's first work
                    bench.table.add(title, bench.waymark.name, painted)
    with bench.table.watch([REOPENED], "ms"):
        for _, each in bench.alternate([each for each in bench.running if each.program.stores]):
            with bench.table.tolerate(each, REOPENED), each.open(bench.browser, "1000-0") as (page, _):
                bench.table.add(REOPENED, each.name, max(page.evaluate("Promise.all([probe.usable, probe.end])")))


def measure_keys(bench: Bench, keys: int) -> None:
    """Measure so many keys below a long conversation, and below a longer one in each of several pages."""
    storing = [each for each in bench.running if each.program.stores]
    empty = [each for each in bench.running if each.program.name == BARE]  # without messages: the browser's own part
    chance = random.Random(1)
    for length, name, running in ((1_000, "1000-0", [*storing, *empty]), (10_000, "10000", storing[:1] * bench.runs)):
        typical, slow = KEYS[length, 50], KEYS[length, 95]
        with bench.table.watch([typical], "ms"), bench.table.watch([slow], "ms", percent=95):
            for each in running:
                _measure_typing(bench, each, (typical, slow), name if each.program.stores else "", keys, chance)


def _measure_typing(bench: Bench, each: Running, titles: Sequence[str], name: str, keys: int, chance: random.Random) -> None:
    with bench.table.tolerate(each, titles[0]), each.open(bench.browser, name) as (page, _):
        each.settle(page, SETTLING_MS, stored=each.program.stores)
        each.write(page, "")
        for _ in range(keys):
            page.keyboard.press(chance.choice("etaoinshrdlu "))
            page.wait_for_timeout(chance.uniform(30, 80))
        for title in titles:
            bench.table.add(title, each.name, *page.evaluate("probe.keys"))


def measure_switches(bench: Bench) -> None:
    """Measure a click on another conversation of Waymark's list until its last message is painted."""
    names = ("1000-0", "1000-1")
    with bench.table.watch([SWITCHED], "ms"), bench.waymark.open(bench.browser, names[0]) as (page, _):
        page.evaluate("Promise.all([probe.usable, probe.end])")
        for run in range(bench.runs + 1):
            name = names[(run + 1) % 2]
            page.wait_for_timeout(SETTLING_MS)
            thread = bench.waymark.paths[name].rpartition("/")[2]
            page.evaluate("text => probe.expectEnd(text)", end_of(name))
            page.locator(f'[data-testid="thread"][data-thread-id="{thread}"]').click()
            painted = page.evaluate("probe.end.then(time => time - probe.clicked())")
            if run:  # the first loads what is loaded once
                bench.table.add(SWITCHED, bench.waymark.name, painted)


def measure_restores(bench: Bench, texts: dict[int, str]) -> None:
    """Measure the click that confirms a restore until the checkpoint's last message is painted at the end.

    `texts` has the last message of some checkpoints, by the number of messages: the newest first.
    """
    with bench.table.watch([RESTORED], "ms"), bench.waymark.open(bench.browser, "1000-2") as (page, _):
        page.evaluate("Promise.all([probe.usable, probe.end])")
        for count, text in list(texts.items())[: bench.runs]:
            page.wait_for_timeout(SETTLING_MS)
            row = page.get_by_test_id("checkpoint").filter(has=page.get_by_text(name_checkpoint(count), exact=True))
            row.get_by_role("button").click()
            page.locator(".place-card").get_by_role("button", name="Restore").click()
            page.evaluate("text => probe.expectEnd(text)", text)
            page.locator(".modal.show").get_by_role("button", name="Restore", exact=True).click()
            painted = page.evaluate("probe.end.then(time => time - probe.clicked())")
            bench.table.add(RESTORED, bench.waymark.name, painted)
            page.locator(".modal").wait_for(state="detached")
