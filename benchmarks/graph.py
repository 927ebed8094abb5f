"""The graph of a large history in the browser: drawing all of it, and walking it by keys."""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

from langchain_core.messages import AIMessage, HumanMessage
from playwright.sync_api import Browser, CDPSession, Page, StorageState

from benchmarks.browser import open_page, read_main_thread_milliseconds
from benchmarks.measuring import Bar, Report, Samples, Section
from benchmarks.server import WaymarkServer
from checkpoints import Database, NewMessage, Store
from checkpoints.values import serde

CHECKPOINTS, BRANCHES = 1_000, 200
PER_BRANCH = CHECKPOINTS // BRANCHES
DRAWN_BAR_MS, KEY_BAR_MS = 100.0, 50.0
KEYS = {  # with those that lead to where it moves
    "ArrowUp": ("End",),
    "ArrowDown": ("Home",),
    "ArrowLeft": ("Home", "ArrowRight"),
    "ArrowRight": ("Home",),
    "n": ("Home",),
    "Home": ("End",),
    "End": ("Home",),
}
SETTLED_MS = 400  # after a key: the rows around those in view, and the figures of the place, have come


def store_tree(data: Path) -> str:
    """Store a conversation with a tree of branches, and return its id."""
    database = Database.open_file(data / "waymark.db")
    store, chance = Store(database), random.Random(7)
    thread_id = store.create_thread(title="A large tree").id
    places: list[str | None] = []
    for number in range(BRANCHES):
        if places:
            store.fork(thread_id, chance.choice(places[-50:]), name=f"Branch {number}")
        for step in range(PER_BRANCH):
            turn = (HumanMessage(f"Question {number}.{step}"), AIMessage(f"Answer {number}.{step}"))
            receipt = store.append(thread_id, [NewMessage(serde.to_body(message)) for message in turn])
            places.append(receipt.result)
            store.save(thread_id, name=f"Place {number}.{step}")
    database.close()
    return thread_id


def measure_graph(
    report: Report, browser: Browser, state: StorageState, server: WaymarkServer, thread_id: str, runs: int
) -> None:
    context, page, session = open_page(browser, state, f"{server.address}/t/{thread_id}")
    page.get_by_test_id("checkpoint").last.wait_for()
    session.send("Performance.disable")
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # processor time: other work on the machine adds none
    while (earlier := page.get_by_role("button", name="Show earlier")).count():
        label = earlier.inner_text()
        earlier.click()
        page.get_by_text(label, exact=True).wait_for(state="detached")
    drawn = Samples(tuple(_draw_again(page, session) for _ in range(runs)))
    page.locator(".place-jump[tabindex='0']").focus()
    keys = {key: Samples(tuple(_measure_key(page, session, key) for _ in range(runs))) for key in KEYS}
    context.close()
    report.note_load()
    rows = [(name, f"{took.median:.1f}", f"{max(took.values):.1f}") for name, took in {"drawn": drawn, **keys}.items()]
    title = f"The graph of {CHECKPOINTS:,} checkpoints and {BRANCHES} branches"
    remark = (
        "Processor time of the main thread, with style, layout and paint. *Drawn*: all rows laid out again after a filter."
    )
    report.sections.append(Section(title, ("", "median (ms)", "longest (ms)"), rows, [remark]))
    slowest_key = max(took.median for took in keys.values())
    report.bars.append(Bar(f"{title}: drawn", drawn.median, DRAWN_BAR_MS, "ms"))
    report.bars.append(Bar(f"{title}: the slowest key", slowest_key, KEY_BAR_MS, "ms"))


def _draw_again(page: Page, session: CDPSession) -> float:
    search = page.get_by_role("searchbox", name="Search checkpoints")
    search.fill("Place 199.4")
    page.wait_for_function("document.querySelectorAll('.place').length < 20")
    return _measure(
        session, lambda: (search.fill(""), page.wait_for_function("document.querySelectorAll('.place').length > 20"))
    )


def _measure_key(page: Page, session: CDPSession, key: str) -> float:
    for each in KEYS[key]:
        _press(page, each)
    page.wait_for_timeout(SETTLED_MS)
    selected = page.locator(".place.selected").get_attribute("data-key")
    took = _measure(session, partial(_press, page, key))
    if page.locator(".place.selected").get_attribute("data-key") == selected:
        raise RuntimeError(f"{key} moved nothing")
    return took


def _press(page: Page, key: str) -> None:
    page.keyboard.press(key)
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")


def _measure(session: CDPSession, action: Callable[[], object]) -> float:
    """Return the milliseconds of the main thread's processor time that the action takes."""
    before = read_main_thread_milliseconds(session)
    action()
    return read_main_thread_milliseconds(session) - before
