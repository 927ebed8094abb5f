"""The bars of the page: of Waymark's own figures, and of their ratios to those of a peer in the same run."""

from collections.abc import Iterator

from benchmarks.measuring import Bar, Unit
from benchmarks.peers.answers import FIRST, LATER, MARKDOWN, PLAIN
from benchmarks.peers.opening import KEYS, PAINTED, RESTORED, SWITCHED, USABLE
from benchmarks.peers.programs import BARE, DASH, GRADIO, STREAMLIT, WAYMARK_APP
from benchmarks.peers.starting import START, STORED_IDLE, STORED_START
from benchmarks.peers.table import Table
from benchmarks.peers.work import TURN

OWN: list[tuple[str, float, Unit]] = [
    (FIRST, 60.0, "ms"),
    (LATER[10], 60.0, "ms"),
    (LATER[10_000], 60.0, "ms"),
    (PAINTED[10], 250.0, "ms"),
    (PAINTED[10_000], 250.0, "ms"),
    (KEYS[10_000, 95], 16.0, "ms"),
    (TURN[10], 15.0, "ms"),
    (TURN[10_000], 15.0, "ms"),
    (RESTORED, 150.0, "ms"),
    (SWITCHED, 120.0, "ms"),
    (STORED_IDLE, 130.0, "MiB"),
]
BAR_PEOPLE = 0.2  # s
# The measure, the peer's measure if it is another, the peer, and times.
BESIDE: list[tuple[str, str, str, float]] = [
    (FIRST, FIRST, STREAMLIT, 1.0),
    (LATER[10], LATER[10], STREAMLIT, 1.0),
    (LATER[10_000], LATER[10], STREAMLIT, 1.0),
    (USABLE, USABLE, DASH, 1.1),
    (USABLE, USABLE, GRADIO, 0.8),
    (PLAIN, PLAIN, BARE, 2.5),
    (MARKDOWN, MARKDOWN, BARE, 2.5),
    (START, START, STREAMLIT, 1.0),
    (STORED_START, START, STREAMLIT, 1.0),
]
FLAT = 1.2  # times, between short and long conversations
PAIRS = [("transcript painted", PAINTED), ("server's CPU of a turn beside its tokens", TURN)]


def build_bars(table: Table, people: str) -> Iterator[Bar]:
    """Build the bars of what was measured. `people` is the title of the work of many people."""
    ours = WAYMARK_APP.name
    for title, limit, unit in [*OWN, (people, BAR_PEOPLE, "s")]:
        if (figure := table.figure(title, ours)) is not None:
            yield Bar(title, figure, limit, unit, note=_describe_others(table, title))
    for title, other, peer, limit in BESIDE:
        figure, theirs = table.figure(title, ours), table.figure(other, peer)
        if figure is not None and theirs is not None:
            at = "" if other == title else f" ({other})"
            yield Bar(f"{title} ÷ {peer}{at}", figure / theirs, limit, "×", note=_describe_others(table, title))
    for what, titles in PAIRS:
        short, long = (table.figure(titles[length], ours) for length in (10, 10_000))
        if short and long:
            yield Bar(f"{what}, 10 and 10,000 messages apart", max(short, long) / min(short, long), FLAT, "×")


def _describe_others(table: Table, title: str) -> str:
    others = table.measures[title].others
    return "" if others is None else f"others' CPU {others:.2f}"
