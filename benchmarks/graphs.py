"""Runs of a LangGraph graph: our checkpointer beside LangGraph's own, plain and with DeltaChannel, in one run."""

import gc
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from langchain_core.messages import BaseMessage, message_to_dict
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from benchmarks import conversation
from benchmarks.databases import Fresh, Kind, Place, places, server_version
from benchmarks.growth import extend_line, extend_sum
from benchmarks.kept_state import KeptState
from benchmarks.langgraph_manager import ChatState, DeltaChatState
from benchmarks.measuring import Bar, Report, Section
from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver

SIZES = (40, 400, 1_000)  # turns
QUICK_SIZES = (40, 100)
MESSAGES_A_TURN = 2.5
LAST_TURNS = 20  # that are measured
FILLED_TURNS = 5  # of a conversation whose other messages came at once
MAX_RUNS = 9
WHOLE_TURNS = 400  # that every checkpointer runs, however long it takes
PATIENCE = 90.0  # seconds for others to reach a larger size
MAX_SECONDS = 5.0  # for the runs of one measurement, after the first
LISTED = 50
BAR_BYTES = 2.5  # times the messages' JSON
BAR_TURN = 60.0  # ms of CPU
BAR_FLAT = 3.0  # times
BAR_LIST = 100.0  # ms
BAR_RESTORE = 5.0  # ms
REMARKS = [
    "A turn is a run of a graph with a model's node and a tools' node, each answering at once; every fourth calls a tool. "
    '`durability="sync"`. CPU is that of the whole process, LangGraph\'s own work included: the mean of the '
    f"last {LAST_TURNS} turns. The others are medians of up to nine. Bytes of the file, or on PostgreSQL of the tables with "
    "their indexes; *added* counts the bytes since the size before.",
    "*LangGraph alone*: a checkpointer that keeps the newest state as it is, in memory. It copies, compares and writes "
    "nothing, so its turn is LangGraph's own part of every other.",
    "*restore*: ours moves the conversation back to a checkpoint in the middle. LangGraph has none: it copies that state "
    "(`__copy__`), which discards nothing.",
    f"≈: estimated from the growth between the two sizes before. {WHOLE_TURNS} turns are run in full. Of more, those that "
    f"are not there after {PATIENCE:g} s are added at once, and a turn marked * is the mean of {FILLED_TURNS} after them.",
]


@dataclass(frozen=True)
class Saver:
    """One checkpointer, on one database or in memory."""

    name: str
    kind: Kind | None
    is_ours: bool = False
    deltas: bool = False
    is_floor: bool = False  # keeps one state and writes nothing: only its turns are measured


SAVERS = (
    Saver("Waymark", "SQLite", is_ours=True),
    Saver("Waymark", "PostgreSQL", is_ours=True),
    Saver("LangGraph alone", None, is_floor=True),
    Saver("InMemorySaver", None),
    Saver("SqliteSaver", "SQLite"),
    Saver("PostgresSaver", "PostgreSQL"),
    Saver("SqliteSaver, DeltaChannel", "SQLite", deltas=True),
    Saver("PostgresSaver, DeltaChannel", "PostgreSQL", deltas=True),
)
FLOOR = next(saver for saver in SAVERS if saver.is_floor)
ROWS = {
    "bytes": "bytes ÷ the messages' JSON",
    "added": "added bytes ÷ the added messages' JSON",
    "turn": "a turn, CPU (ms)",
    "list": f"`get_state_history(limit={LISTED})` (ms)",
    "restore": "restore to the middle (ms)",
}


class Conversation:
    """One thread of a graph that answers from a list."""

    def __init__(self, saver: Saver, place: Place) -> None:
        self.saver, self._open = saver, ExitStack()
        self.store: Store | None = None
        self._graph = _make_graph(self._open_checkpointer(place), deltas=saver.deltas)
        self._config: Any = {"configurable": {"thread_id": "1"}}
        self._turns = 0
        self._middle: Any = None
        self.talk: Iterator[BaseMessage] = iter(())

    def _open_checkpointer(self, place: Place) -> Any:
        if self.saver.is_ours:
            database = place.open()
            self._open.callback(database.close)
            self.store = Store(database)
            return WaymarkSaver(self.store)
        if self.saver.is_floor:
            return KeptState()
        if self.saver.kind is None:
            return InMemorySaver()
        kind: Any = SqliteSaver if self.saver.kind == "SQLite" else PostgresSaver
        checkpointer = self._open.enter_context(kind.from_conn_string(place.address))
        checkpointer.setup()
        return checkpointer

    def run(self) -> None:
        """Run the graph for one question."""
        self._turns += 1
        context = {**self._config, "metadata": {"run_id": f"{self._turns:08}"}}
        self._graph.invoke({"messages": [next(self.talk)], "talk": self.talk}, context, durability="sync")

    def fill(self, number: int) -> None:
        """Add the next messages at once."""
        self._graph.update_state(self._config, {"messages": list(islice(self.talk, number))}, as_node="model")

    def keep_middle(self) -> None:
        """Remember where the conversation stands, for a restore."""
        if self.store is not None:
            self._middle = self.store.save("1").result
        else:
            self._middle = self._graph.get_state(self._config).config

    def list(self) -> None:
        assert len([*self._graph.get_state_history(self._config, limit=LISTED)]) == LISTED

    def restore(self) -> None:
        if self.store is not None:
            self.store.restore("1", self._middle)
        else:
            self._graph.update_state(self._middle, None, as_node="__copy__")

    def return_to_end(self) -> None:
        if self.store is not None:
            self.store.undo("1")

    def read(self) -> Any:
        return self._graph.get_state(self._config).values["messages"]

    def close(self) -> None:
        self._open.close()


def _make_graph(checkpointer: Any, *, deltas: bool) -> Any:
    talk: list[Iterator[BaseMessage]] = []

    def answer(_: Any) -> Any:
        return {"messages": [next(talk[0])]}

    def choose(state: Any) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END

    builder = StateGraph(DeltaChatState if deltas else ChatState)
    for name in ("model", "tools"):
        builder.add_node(name, answer)
    builder.add_edge(START, "model")
    builder.add_edge("tools", "model")
    builder.add_conditional_edges("model", choose, ["tools", END])
    graph: Any = builder.compile(checkpointer=checkpointer)
    invoke = graph.invoke

    def invoke_with_talk(given: Any, *rest: Any, **named: Any) -> Any:
        talk[:] = [given.pop("talk")]
        return invoke(given, *rest, **named)

    graph.invoke = invoke_with_talk
    return graph


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the graphs' bars and table to the report."""
    sizes = QUICK_SIZES if quick else SIZES
    section = Section("Runs of a graph", ("", *(_title(saver) for saver in SAVERS)))
    with places(folder) as fresh:
        costs = {saver: _measure_sizes(saver, fresh, sizes) for saver in SAVERS}
        for size in sizes:
            for row, title in ROWS.items():
                cells = (_format(costs[saver][size], saver, row) for saver in SAVERS)
                section.rows.append((f"{size:,} turns: {title}", *cells))
        section.remarks = [*REMARKS, f"PostgreSQL {server_version(fresh('PostgreSQL'))} on this machine, with fsync."]
    report.note_load()
    report.sections.append(section)
    _add_bars(report, costs[SAVERS[0]], sizes)


def _add_bars(report: Report, ours: dict[int, dict[str, float]], sizes: tuple[int, ...]) -> None:
    end, turns = sizes[-1], f"{sizes[-1]:,} turns of a graph, SQLite"
    report.bars += [
        Bar(f"{turns}: bytes ÷ the messages' JSON", ours[end]["bytes"], BAR_BYTES, "×"),
        Bar(f"{turns}: added bytes ÷ the added messages' JSON", ours[end]["added"], BAR_BYTES, "×"),
        Bar(f"{turns}: a turn, CPU", ours[end]["turn"], BAR_TURN, "ms"),
        Bar(f"{turns}: a turn, CPU ÷ that at {sizes[0]}", ours[end]["turn"] / ours[sizes[0]]["turn"], BAR_FLAT, "×"),
        Bar(f"{turns}: `get_state_history(limit={LISTED})`", ours[end]["list"], BAR_LIST, "ms"),
        Bar(f"{turns}: restore", ours[end]["restore"], BAR_RESTORE, "ms"),
    ]


def _title(saver: Saver) -> str:
    return f"{saver.name}, {saver.kind}" if saver.is_ours else saver.name


def _format(costs: dict[str, float], saver: Saver, row: str) -> str:
    if row == "turn" and "filled turn" in costs:
        return f"{costs['filled turn']:,.2f}*"
    if row not in costs:
        return "–"
    return f"{'≈ ' if 'filled turn' in costs else ''}{costs[row]:,.2f}"


def _measure_sizes(saver: Saver, fresh: Fresh, sizes: tuple[int, ...]) -> dict[int, dict[str, float]]:
    found = {}
    before = {"stored": 0.0, "plain": 0.0}
    for size in sizes:
        costs = _measure(saver, fresh, size)
        if "filled turn" in costs and not saver.is_floor:
            costs |= _estimate(found, size)
        found[size] = costs
        if "stored" in costs:
            costs["bytes"] = costs["stored"] / costs["plain"]
            costs["added"] = (costs["stored"] - before["stored"]) / (costs["plain"] - before["plain"])
            before = costs
    return found


def _measure(saver: Saver, fresh: Fresh, size: int) -> dict[str, float]:
    """Return the costs of one checkpointer at one size; few where it did not get there."""
    place = fresh(saver.kind or "SQLite")
    chat = Conversation(saver, place)
    chat.talk = iter(conversation.messages(math.ceil((size + 1) * MESSAGES_A_TURN) + 4))
    end = math.inf if saver.is_ours or size <= WHOLE_TURNS else time.monotonic() + PATIENCE
    costs: dict[str, float] = {}
    turns: list[float] = []
    while len(turns) < size and time.monotonic() < end:
        if len(turns) == size // 2:
            chat.keep_middle()
        turns.append(_time(chat.run, time.process_time))
    if len(turns) == size:
        costs["turn"] = sum(turns[-LAST_TURNS:]) / LAST_TURNS
        costs |= {} if saver.is_floor else _measure_states(chat, place)
    else:
        chat.fill(int((size - len(turns) - FILLED_TURNS) * MESSAGES_A_TURN))
        costs["filled turn"] = sum(_time(chat.run, time.process_time) for _ in range(FILLED_TURNS)) / FILLED_TURNS
        costs["plain"] = _measure_messages(chat)
    chat.close()
    if saver.kind:
        place.remove()
    del chat
    gc.collect()  # one checkpointer's garbage must not slow the next one down
    return costs


def _measure_states(chat: Conversation, place: Place) -> dict[str, float]:
    costs = {"plain": _measure_messages(chat)}
    costs["list"] = _median(chat.list)
    if chat.saver.kind:
        costs["stored"] = float(place.settled_bytes())
    return costs | {"restore": _median(chat.restore, chat.return_to_end)}


def _measure_messages(chat: Conversation) -> float:
    """Return the bytes of the messages as JSON."""
    return float(sum(len(json.dumps(message_to_dict(message)).encode()) for message in chat.read()))


def _estimate(found: dict[int, dict[str, float]], size: int) -> dict[str, float]:
    """Estimate what was not measured from the sizes before."""
    rows = {"list": extend_line, "restore": extend_line, "stored": extend_sum}
    known = {row: {turns: costs[row] for turns, costs in found.items() if row in costs} for row in rows}
    return {row: extend(known[row], size) for row, extend in rows.items() if len(known[row]) > 1}


def _time(work: Callable[[], None], clock: Callable[[], float]) -> float:
    begun = clock()
    work()
    return (clock() - begun) * 1e3


def _median(work: Callable[[], None], after: Callable[[], None] = lambda: None) -> float:
    found: list[float] = []
    while not found or (len(found) < MAX_RUNS and sum(found) < MAX_SECONDS * 1e3):
        found.append(_time(work, time.perf_counter))
        after()
    return median(found)
