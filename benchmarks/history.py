"""The history on both databases: ours, LangGraph's savers (plain and with DeltaChannel) and deep copies, in one run."""

import gc
import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import BaseMessage, message_to_dict

from benchmarks import conversation, crowd
from benchmarks.contestants import Contestant, History, contestants
from benchmarks.databases import Fresh, Kind, places, server_version
from benchmarks.measuring import Bar, Report, Samples, Section, milliseconds

SIZES = (100, 1_000, 10_000)  # messages
QUICK_SIZES = (100, 1_000)
TURN = 2  # messages
RUNS = 9  # of ours; 3 of others, which may take seconds each
PATIENCE = 20.0  # seconds for others to reach a size turn by turn
LISTING = 10.0  # seconds for others to list their checkpoints
BAR_BYTES = 1.6  # times the messages' JSON
STOPPED = "stopped"
ROWS = {
    "bytes": "bytes (MB)",
    "turn": "a turn: two messages and a checkpoint",
    "read": "read for the page",
    "list": "list all checkpoints",
    "restore": "restore the checkpoint in the middle",
    "branch": "fork from there into a branch",
    "fork": "fork from there into a new conversation",
}
REMARKS = [
    "Milliseconds, medians; in brackets how many times what ours costs on the same database (deepcopy: ours on SQLite). "
    "Every turn is a checkpoint: of LangGraph's one `update_state` (a run of a graph makes three), of ours two transactions "
    "that are on disk, one for the messages and one for the checkpoint.",
    "*read*: ours the last 50 messages; LangGraph the whole state, as it reads no part of one. *restore*: the conversation "
    "stands there; LangGraph makes a copy of the checkpoint for that (`__copy__`), which is its fork into a branch as well. "
    "*into a new conversation*: one that depends on nothing of the old one; ours copies the messages with their hashes, "
    "and takes the checkpoints along.",
    "DeltaChannel is in beta: LangGraph says that its interface and what it writes may change, and its reducer of messages "
    "is private.",
    f"“{STOPPED}”: not there in time, {PATIENCE:g} s for a conversation turn by turn and {LISTING:g} s for a list. What "
    "remained of such a conversation was added in one or two pieces, so that the other rows could be measured at that size. "
    "“–”: in memory, and no file.",
]

Talk = list[BaseMessage]
Costs = dict[str, float | None]  # by row; None: not finished in time


@dataclass(frozen=True)
class Measured:
    """One contestant at one size."""

    by: Contestant
    size: int
    costs: Costs  # bytes in MB, the others in milliseconds


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the history's bars and tables to the report."""
    with places(folder) as fresh:
        _compare(report, fresh, QUICK_SIZES if quick else SIZES)
        report.sections[-1].remarks.append(f"PostgreSQL {server_version(fresh('PostgreSQL'))} on this machine, with fsync.")
        crowd.measure(report, fresh, quick=quick)


def _compare(report: Report, fresh: Fresh, sizes: tuple[int, ...]) -> None:
    talk = conversation.messages(max(sizes) + RUNS * TURN)
    section = Section("History: a checkpoint for each turn", ("", *(_title(one) for one in contestants())))
    for size in sizes:
        measured = [_measured(section, one, fresh, talk, size) for one in contestants()]
        report.note_load()
        for row, title in ROWS.items():
            ours = {one.by.kind: one.costs[row] for one in measured if one.by.is_ours}
            cells = [_cell(one, row, ours) for one in measured]
            section.rows.append((f"{size:,} messages: {title}", *cells))
    report.sections.append(section)
    section.remarks[:0] = REMARKS
    size, written = measured[0].size, measured[0].costs["bytes"] or 0.0
    if size < SIZES[-1]:
        return  # the bar is for a long conversation: in a short one the empty tables outweigh their content
    plain = sum(len(json.dumps(message_to_dict(message)).encode()) for message in talk[:size]) / 1e6
    what = f"bytes ÷ the messages' JSON, SQLite, {size:,} messages, a checkpoint for each turn"
    report.bars.append(Bar(what, written / plain, BAR_BYTES, "×"))


def _title(one: Contestant) -> str:
    return f"{one.name}, {one.kind}" if one.is_ours else one.name if one.kind else f"{one.name}, in memory"


def _cell(one: Measured, row: str, ours: dict[Kind | None, float | None]) -> str:
    value, base = one.costs.get(row), ours[one.by.kind or "SQLite"]
    if value is None:
        return STOPPED if row in one.costs else "–"
    return f"{value:,.2f}" if one.by.is_ours or not base else f"{value:,.2f} ({value / base:,.1f}×)"


def _measured(section: Section, by: Contestant, fresh: Fresh, talk: Talk, size: int) -> Measured:
    place = fresh(by.kind or "SQLite")
    history = by.open(place)
    reached = _turn_by_turn(history, talk[:size], math.inf if by.is_ours else PATIENCE)
    written = place.settled_bytes() / 1e6 if by.kind else None
    whole = reached == size
    if not whole:
        section.remarks.append(_stopped(by, size, reached, written))
        for end in (size // 2, size):
            if talk[reached:end]:
                history.add(talk[reached:end])
                reached = end
    costs: Costs = _costs(history, talk, size, runs=RUNS if by.is_ours else 3)
    if by.kind:
        costs["bytes"] = written if whole else None
    if not whole:
        costs["list"] = None
    history.close()
    del history
    place.remove()
    gc.collect()  # one contestant's garbage must not slow the next one down
    return Measured(by, size, costs)


def _turn_by_turn(history: History, talk: Talk, seconds: float) -> int:
    """Store the conversation with a checkpoint for each turn. Return the number of messages that fit the time."""
    end = time.perf_counter() + seconds
    for place in range(0, len(talk), TURN):
        if time.perf_counter() > end:
            return place
        history.add(talk[place : place + TURN])
    return len(talk)


def _stopped(by: Contestant, size: int, reached: int, written: float | None) -> str:
    held = "in memory" if written is None else f"in {written:,.0f} MB"
    return f"{by.name} on the way to {size:,} messages: {reached:,} {held} after {PATIENCE:g} s."


def _costs(history: History, talk: Talk, size: int, runs: int) -> Costs:
    middle, places = size // 2, iter(range(size, len(talk), TURN))

    def turn() -> None:
        place = next(places)
        history.add(talk[place : place + TURN])

    def there_and_back(go: Callable[[int], None]) -> float:
        took = milliseconds(lambda: go(middle), 1).best
        history.back()
        return took

    costs: Costs = {"turn": milliseconds(turn, runs).median}
    costs["read"] = milliseconds(history.read, runs).median
    costs["list"] = _listing(history)
    for row, go in (("restore", history.restore), ("branch", history.branch), ("fork", history.fork)):
        times = 3 if row == "fork" else runs  # it takes seconds
        costs[row] = Samples(tuple(there_and_back(go) for _ in range(times))).median
    return costs


def _listing(history: History) -> float | None:
    """Measure the listing of all checkpoints; None if it takes too long."""
    start = time.perf_counter()
    for _ in history.list():
        if time.perf_counter() - start > LISTING:
            return None
    return (time.perf_counter() - start) * 1000
