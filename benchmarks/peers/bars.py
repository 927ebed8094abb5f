"""The bars of the page: of Waymark's own figures, and of their ratios to those of a peer in the same run."""

from collections.abc import Iterator

from benchmarks.measuring import Bar, Unit
from benchmarks.peers.answers import FIRST, LATER, MARKDOWN, PLAIN
from benchmarks.peers.opening import KEYS, PAINTED, REOPENED, RESTORED, SWITCHED, USABLE
from benchmarks.peers.programs import DASH, GRADIO, STREAMLIT, WAYMARK_APP
from benchmarks.peers.starting import START, STORED_IDLE, STORED_START
from benchmarks.peers.table import Table
from benchmarks.peers.work import TURN, name_people, name_rush

OWN: list[tuple[str, float, Unit]] = [
    (FIRST, 120.0, "ms"),
    (LATER[10], 120.0, "ms"),
    (LATER[10_000], 120.0, "ms"),
    (RESTORED, 400.0, "ms"),
    (SWITCHED, 400.0, "ms"),
    (START, 3.0, "s"),
    (STORED_START, 3.0, "s"),
    (STORED_IDLE, 220.0, "MiB"),
]
# The measure, the peer's measure if it is another, the peer, and times.
BESIDE: list[tuple[str, str, str, float]] = [
    (FIRST, FIRST, GRADIO, 1.0),
    (LATER[10], LATER[10], GRADIO, 1.0),
    (LATER[10_000], LATER[10], GRADIO, 1.0),
    (USABLE, USABLE, DASH, 2.0),
    (USABLE, USABLE, GRADIO, 1.0),
    (PAINTED[10], REOPENED, GRADIO, 0.7),
    (PAINTED[10_000], REOPENED, GRADIO, 0.7),
    (PLAIN, PLAIN, STREAMLIT, 1.0),
    (MARKDOWN, MARKDOWN, STREAMLIT, 1.0),
    (KEYS[10_000, 95], KEYS[1_000, 95], GRADIO, 1.0),
]
BAR_RUSH, BAR_PEOPLE = 2.0, 0.8  # times Gradio
# Between conversations of 10 and 10,000 messages: the measure, and times.
PAIRS = [("transcript painted", PAINTED, 1.5), ("server's CPU of a turn beside its tokens", TURN, 2.0)]


def build_bars(table: Table, people: int) -> Iterator[Bar]:
    """Build the bars of what was measured, with so many people at once."""
    ours = WAYMARK_APP.name
    for title, limit, unit in OWN:
        if (figure := table.figure(title, ours)) is not None:
            yield Bar(title, figure, limit, unit, note=_describe_others(table, title))
    rush, work = name_rush(people), name_people(people)
    for title, other, peer, limit in [*BESIDE, (rush, rush, GRADIO, BAR_RUSH), (work, work, GRADIO, BAR_PEOPLE)]:
        figure, theirs = table.figure(title, ours), table.figure(other, peer)
        if figure is not None and theirs is not None:
            at = "" if other == title else f" ({other})"
            yield Bar(f"{title} ÷ {peer}{at}", figure / theirs, limit, "×", note=_describe_others(table, title))
    for what, titles, limit in PAIRS:
        short, long = (table.figure(titles[length], ours) for length in (10, 10_000))
        if short and long:
            yield Bar(f"{what}, 10 and 10,000 messages apart", max(short, long) / min(short, long), limit, "×")


def _describe_others(table: Table, title: str) -> str:
    others = table.measures[title].others
    return "" if others is None else f"others' CPU {others:.2f}"
