"""The states: `CheckpointManager` in memory and on a file, a deepcopy manager, and LangGraph's SqliteSaver, in one run."""

import gc
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from langchain_core.messages import BaseMessage, message_to_dict

from benchmarks import conversation
from benchmarks.databases import Place, settled_bytes
from benchmarks.deepcopy_manager import DeepCopyManager
from benchmarks.langgraph_manager import LangGraphManager
from benchmarks.measuring import Bar, Report, Samples, Section, milliseconds
from checkpoints import CheckpointManager, Database, NewMessage, Runs, RunState, Store
from checkpoints.values import serde

LARGE = 10_000  # messages
MANY = 1_000  # checkpoints
SHAPES = ((10, 10), (1_000, 10), (LARGE, 10), (1_000, MANY), (LARGE, MANY))  # messages, checkpoints
QUICK_SHAPES = ((10, 10), (1_000, 10), (LARGE, 10))
MOST_COPIED = {"deepcopy": 60_000, "SqliteSaver": 600_000}  # messages in all checkpoints together; more takes gigabytes
OPERATIONS = ("save a new turn", "restore, the state returned", "list", "delete one", "export", "bytes")
BAR_SAVING = 1.5  # times, 10 messages to 10,000
BAR_DEEPCOPY = 100.0  # times
BAR_BYTES = 1.6  # times the messages' JSON
BAR_RESTORE = 5.0  # ms

Talk = list[BaseMessage]
Costs = dict[str, float | None]  # by operation; None: not supported


class Manager(Protocol):
    """The interface of our manager and the deepcopy manager."""

    def save_checkpoint(self, state: dict[str, Any]) -> Any: ...
    def restore_checkpoint(self, checkpoint_id: str) -> dict[str, Any]: ...
    def list_checkpoints(self) -> list[dict[str, Any]]: ...
    def delete_checkpoint(self, checkpoint_id: str) -> bool: ...
    def export_checkpoints(self) -> str: ...


@dataclass(frozen=True)
class Shape:
    """A conversation with checkpoints spread evenly over it."""

    talk: Talk  # longer than the conversation by the next turns
    length: int
    checkpoints: int

    @property
    def places(self) -> list[int]:
        return [max(1, self.length * number // self.checkpoints) for number in range(1, self.checkpoints + 1)]

    @property
    def name(self) -> str:
        return f"{self.length:,} messages, {self.checkpoints:,} checkpoints"


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the states' bars and tables to the report."""
    runs = 5 if quick else 9
    talk = conversation.messages(LARGE + 200)
    by_shape = []
    for length, checkpoints in QUICK_SHAPES if quick else SHAPES:
        shape = Shape(talk, length, checkpoints)
        by_shape.append((shape, _costs_of_all(shape, folder, runs)))
        report.note_load()
    report.sections.append(_table(by_shape))
    _measure_store(report, talk, folder, runs, by_shape)
    _measure_bytes(report, talk[:LARGE], folder, by_shape, quick=quick)


def _costs_of_all(shape: Shape, folder: Path, runs: int) -> dict[str, Costs]:
    made = {
        "memory": _costs(CheckpointManager(), shape, runs, size=None),
        "file": _on_file(shape, folder, runs),
    }
    total = sum(shape.places)
    # Before the deep copies: beside their objects, which stay in memory, the garbage collector makes no full pass.
    if total <= MOST_COPIED["SqliteSaver"]:
        made["SqliteSaver"] = _langgraph(shape, folder, min(runs, 5))
    if total <= MOST_COPIED["deepcopy"]:
        copying = DeepCopyManager()
        made["deepcopy"] = _costs(copying, shape, min(runs, 5), size=lambda: len(copying.export_checkpoints().encode()))
    return made


def _costs(manager: Manager, shape: Shape, runs: int, size: Callable[[], int] | None) -> Costs:
    gc.collect()  # what the manager before has left
    for place in shape.places:
        newest = manager.save_checkpoint({"messages": shape.talk[:place]}).id
    written = float(size()) if size else None
    saved: list[str] = []
    state = {"messages": shape.talk[: shape.length]}

    def save() -> None:
        state["messages"] += shape.talk[len(state["messages"]) :][:2]
        saved.append(manager.save_checkpoint(state).id)

    costs: Costs = {"save a new turn": milliseconds(save, runs).median, "bytes": written}
    costs["delete one"] = milliseconds(lambda: manager.delete_checkpoint(saved.pop()), runs).median
    costs["restore, the state returned"] = milliseconds(lambda: manager.restore_checkpoint(newest), runs).median
    costs["list"] = milliseconds(manager.list_checkpoints, runs).median
    costs["export"] = milliseconds(manager.export_checkpoints, min(runs, 3)).median
    return costs


def _on_file(shape: Shape, folder: Path, runs: int) -> Costs:
    path = folder / f"ours-{shape.length}-{shape.checkpoints}.db"
    database = Database.open_file(path)
    store = Store(database)
    manager = CheckpointManager(store, store.create_thread().id)
    costs = _costs(manager, shape, runs, size=lambda: settled_bytes(path))
    database.close()
    return costs


def _langgraph(shape: Shape, folder: Path, runs: int) -> Costs:
    gc.collect()
    path = folder / f"langgraph-{shape.length}-{shape.checkpoints}.db"
    manager = LangGraphManager(Place("SQLite", str(path), folder))
    for start, end in zip([0, *shape.places], shape.places, strict=False):
        manager.add(shape.talk[start:end])
    written = float(settled_bytes(path))
    runs_of_list = 1 if shape.checkpoints == MANY else 3  # it takes minutes
    listing = milliseconds(lambda: sum(1 for _ in manager.list()), runs_of_list).median
    turns = iter(range(shape.length, shape.length + 2 * runs, 2))

    def save() -> None:
        place = next(turns)
        manager.add(shape.talk[place : place + 2])

    costs: Costs = {"save a new turn": milliseconds(save, runs).median, "list": listing, "bytes": written}
    costs["restore, the state returned"] = milliseconds(manager.read, runs).median
    manager.close()
    return costs


def _table(by_shape: list[tuple[Shape, dict[str, Costs]]]) -> Section:
    ours = ("ours, in memory (ms)", "ours, on a file (ms)")
    head = ("", *ours, "deepcopy (ms)", "SqliteSaver (ms)", "deepcopy ÷ file", "SqliteSaver ÷ file")
    section = Section("States, through the library face", head)
    for shape, made in by_shape:
        for operation in OPERATIONS:
            section.rows.append((f"{shape.name}: {operation}", *_cells(made, operation)))
    section.remarks = [
        "Times are medians. *save a new turn*: two messages more than the last checkpoint; ours is given the whole "
        "state and finds out what is new, SqliteSaver is given the two messages. *restore*: the whole state as "
        "LangChain messages. *bytes*: megabytes on disk; for deepcopy the length of its export, as it has no file.",
        "“–”: no such thing (SqliteSaver deletes whole threads only and has no export; ours in memory has no file).",
        f"“stopped”: not measured, because the copies of the messages in all checkpoints would be more than "
        f"{MOST_COPIED['deepcopy']:,} (deepcopy) or {MOST_COPIED['SqliteSaver']:,} (SqliteSaver).",
    ]
    return section


def _cells(made: dict[str, Costs], operation: str) -> list[str]:
    factor = 1e-6 if operation == "bytes" else 1.0
    file = made["file"].get(operation)
    cells = []
    for name in ("memory", "file", "deepcopy", "SqliteSaver"):
        value = made[name].get(operation) if name in made else None
        cells.append("stopped" if name not in made else "–" if value is None else f"{value * factor:,.2f}")
    for name in ("deepcopy", "SqliteSaver"):
        value = made.get(name, {}).get(operation)
        cells.append(f"{value / file:,.1f}×" if value is not None and file else "–")
    return cells


def _measure_store(
    report: Report, talk: Talk, folder: Path, runs: int, by_shape: list[tuple[Shape, dict[str, Costs]]]
) -> None:
    """Measure a save at the head, and a restore to the middle up to the page's notification."""
    section = Section(
        "States, through the store",
        ("", "in memory, median (ms)", "on a file, median (ms)", "on a file, best (ms)"),
        remarks=[
            "On a file every change waits until the disk has it (synchronous=FULL). *restore*: the head goes from the end "
            "to the checkpoint in the middle, and all later checkpoints leave the list.",
        ],
    )
    saving: dict[int, tuple[Samples, Samples]] = {}
    for length, checkpoints in ((10, 10), (LARGE, 10), (LARGE, MANY)):
        pair = []
        for database in (Database.in_memory(), Database.open_file(folder / f"store-{length}-{checkpoints}.db")):
            pair.append(_save_and_restore(Store(database), Shape(talk, length, checkpoints), 5 * runs))
            database.close()
        (save, restore), (save_file, restore_file) = pair
        saving.setdefault(length, (save, save_file))
        name = f"{length:,} messages, {checkpoints:,} checkpoints"
        section.rows.append((f"{name}: save at the head", *_three(save, save_file)))
        section.rows.append((f"{name}: restore, before the page is told", *_three(restore, restore_file)))
    report.note_load()
    report.sections.append(section)
    copying = next(made["deepcopy"]["save a new turn"] for shape, made in by_shape if shape.length == LARGE) or 0.0
    for index, where in enumerate(("in memory", "on a file")):
        small, large = saving[10][index], saving[LARGE][index]
        grown = Bar(f"saving at the head {where}, 10,000 ÷ 10 messages", large.median / small.median, BAR_SAVING, "×")
        less = copying / large.median
        cheaper = Bar(f"saving at the head {where}, deepcopy ÷ ours, 10,000", less, BAR_DEEPCOPY, "×", at_least=True)
        report.bars += [grown, cheaper]
    what = "restore before the page is told (10,000 messages, 1,000 checkpoints)"
    report.bars.append(Bar(what, restore_file.median, BAR_RESTORE, "ms"))


def _three(memory: Samples, file: Samples) -> tuple[str, str, str]:
    return f"{memory.median:.2f}", f"{file.median:.2f}", f"{file.best:.2f}"


def _save_and_restore(store: Store, shape: Shape, runs: int) -> tuple[Samples, Samples]:
    thread_id = store.create_thread().id
    manager = CheckpointManager(store, thread_id)
    ids = [manager.save_checkpoint({"messages": shape.talk[:place]}).id for place in shape.places]
    middle = ids[shape.checkpoints // 2]

    def restore() -> float:
        took = milliseconds(lambda: store.restore(thread_id, middle), 1).best
        store.undo(thread_id)
        return took

    restoring = Samples(tuple(restore() for _ in range(runs)))
    return milliseconds(lambda: store.save(thread_id), runs), restoring


def _measure_bytes(
    report: Report, talk: Talk, folder: Path, by_shape: list[tuple[Shape, dict[str, Costs]]], *, quick: bool
) -> None:
    plain = sum(len(json.dumps(message_to_dict(message)).encode()) for message in talk)
    section = Section("Bytes on disk", ("written by", "MB", "messages' JSON (MB)", "ratio"))
    written = {
        f"CheckpointManager, {shape.name}": made["file"]["bytes"] or 0.0 for shape, made in by_shape if shape.length == LARGE
    }
    if not quick:
        path = folder / "app.db"
        _through_runs(path, talk)
        written[f"the app, a transaction for each message, {LARGE:,} messages, {MANY:,} checkpoints"] = settled_bytes(path)
    for name, size in written.items():
        section.rows.append((name, f"{size / 1e6:.2f}", f"{plain / 1e6:.2f}", f"{size / plain:.2f}"))
        if f"{MANY:,} checkpoints" in name:
            report.bars.append(Bar(f"bytes on disk ÷ the messages' JSON, {name}", size / plain, BAR_BYTES, "×"))
    report.note_load()
    report.sections.append(section)


def _through_runs(path: Path, talk: Talk) -> None:
    """Write as the app does: a run for each user message, a transaction for each message, a checkpoint at every tenth."""
    database = Database.open_file(path)
    store = Store(database)
    runs = Runs(store)
    run = None
    for number, message in enumerate(talk, start=1):
        new = NewMessage(serde.to_body(message))
        if run is None or message.type == "human":
            if run is not None:
                runs.end_run(run, RunState.DONE)
            run = runs.begin_run(run.thread_id if run else None, new)
        else:
            runs.commit_message(run, new)
        if number % (LARGE // MANY) == 0:
            store.save(run.thread_id)
    database.close()
