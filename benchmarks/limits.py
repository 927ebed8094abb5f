"""The dearest documents that are accepted, on both databases: what reading, importing, viewing and all else costs.

Seconds are those of the processor, of this process and of PostgreSQL's. “Under the lock” are seconds by the clock in which
an import keeps other changes waiting: on SQLite of all conversations, on PostgreSQL of its own.
"""

import asyncio
import contextlib
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from unittest.mock import patch

from langchain_core.messages import HumanMessage
from pydantic import SecretStr

from agent.graph.answer import collect_answer
from agent.graph.state import Limits
from agent.models.call_arguments import bound_argument_parsing
from agent.models.keys import ProviderKeys
from agent.models.openai import load_openai_model
from benchmarks import documents
from benchmarks.databases import KINDS, Place, places
from benchmarks.measuring import Bar, Report, Section
from benchmarks.model_server import ModelServer
from benchmarks.streams import Process
from checkpoints import Database, InvalidDocumentError, Store
from checkpoints.interchange import reading, transfer
from checkpoints.values import limits
from tests.checkpoints import shapes
from tests.entry_points import talking

BAR_SECONDS = 3.0
BAR_MEMORY = 300.0  # MiB above idle, of reading and importing a file
ARGUMENT_CHARS, TOKEN_CHARS = 200_000, 4
QUICK_SHARE = 0.01
STEPS = ("import", "under the lock", "view", "save", "turn", "restore", "export")
BARRED_STEPS = STEPS[
    1:
]  # of 10 MB, each byte is parsed, hashed and written once: an import takes two seconds of a processor
HEAD = ("document", "database", "MB", "read", *STEPS)


def write_objects(share: float) -> str:
    row = [{}] * (limits.MAX_PART_VALUES - 1_000)
    count = max(1, round(share * limits.MAX_DOCUMENT_VALUES / (2 * len(row) + 20)))
    return shapes.following([HumanMessage("x", additional_kwargs={"row": row})] * count)


def _number(limit: int, share: float) -> int:
    return max(2, round(limit * share))


DOCUMENTS: dict[str, Callable[[float], str]] = {  # by the share of its limit
    "10 MB of messages": lambda share: documents.write_long_document(_number(limits.MAX_DOCUMENT_BYTES, share)),
    "33,500 small messages": lambda share: shapes.saying(["x"] * _number(33_500, share)),
    "250,000 objects": write_objects,
    "a comb of 10,000 branches": lambda share: shapes.comb(*[_number(limits.MAX_BRANCHES_AND_CHECKPOINTS, share)] * 2),
    "9,999 checkpoints": lambda share: shapes.marked(
        [str(number) for number in range(_number(limits.MAX_BRANCHES_AND_CHECKPOINTS - 1, share))]
    ),
    "128 calls and 199 branches": lambda share: shapes.calling(
        _number(limits.MAX_CALLS, share), _number(limits.MAX_ALTERNATIVES - 1, share)
    ),
    "10,000 states": lambda share: shapes.stateful(_number(limits.MAX_DOCUMENT_STATES, share), values=100),
}


@dataclass
class Costs:
    """The seconds of each step, in order; `read` is that of the file."""

    read: float = 0.0
    steps: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def measure(self, step: str, place: Place) -> Iterator[None]:
        before = time.process_time() + place.processor_seconds()
        yield
        self.steps[step] = time.process_time() + place.processor_seconds() - before


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the bars and the table of the dearest documents to the report."""
    share = QUICK_SHARE if quick else 1.0
    section = Section("The dearest documents that are accepted, seconds of a processor", HEAD)
    with places(folder) as fresh:
        for name, write in DOCUMENTS.items():
            text = write(share)
            for kind in KINDS:
                place = fresh(kind)
                costs = measure_document(text, place)
                place.remove()
                if kind == KINDS[0]:
                    with Process(_import_in_process, text, folder / "memory") as importing:
                        what = f"{name}: memory above idle while it is imported"
                        report.bars.append(Bar(what, importing.pipe.recv(), BAR_MEMORY, "MiB"))
                cells = [f"{seconds:.2f}" for seconds in (costs.read, *(costs.steps[step] for step in STEPS))]
                section.rows.append([name, kind, f"{len(text) / 1e6:.1f}", *cells])
                dearest = max(BARRED_STEPS, key=lambda step: costs.steps[step])
                report.bars.append(
                    Bar(f"{name}, {kind}: dearest step", costs.steps[dearest], BAR_SECONDS, "s", note=dearest)
                )
            report.note_load()
    report.bars.append(Bar("a call with 200 kB of arguments, token by token", measure_arguments(share), BAR_SECONDS, "s"))
    report.bars.append(Bar("a file of 9 MB with a wrong hash is refused", measure_refusal(share), BAR_SECONDS, "s"))
    section.remarks.append("Reading a file and importing it have no bar: see docs/limits.md.")
    report.sections.append(section)


def measure_document(text: str, place: Place) -> Costs:
    """Measure all that a person does with a document."""
    database, costs = place.open(), Costs()
    try:
        asyncio.run(_live_through(text, place, database, costs))
    finally:
        database.close()
    return costs


async def _live_through(text: str, place: Place, database: Database, costs: Costs) -> None:
    async with talking(database) as talk:
        started = time.process_time()
        document = reading.read_document(text)
        costs.read = time.process_time() - started
        store = talk.chat.store
        with _timing_writes() as writes, costs.measure("import", place):
            thread = talk.chat.thread_id = transfer.import_thread(store, document).result
        costs.steps["under the lock"] = max(writes)
        talk.view()  # what is cheap because it was shown before is measured
        with costs.measure("view", place):
            talk.view()
        with costs.measure("save", place):
            saved = store.save(thread).result
        with costs.measure("turn", place):
            await talk.ask()
        with costs.measure("restore", place):
            store.restore(thread, saved)
        with costs.measure("export", place):
            transfer.export(store, thread)


@contextmanager
def _timing_writes() -> Iterator[list[float]]:
    """Record the seconds of each transaction that writes."""
    seconds, begin = list[float](), Database.begin_write

    @contextmanager
    def begin_and_time(database: Database, lock_key: str = "") -> Iterator[object]:
        started = time.perf_counter()
        with begin(database, lock_key) as connection:
            yield connection
        seconds.append(time.perf_counter() - started)

    with patch.object(Database, "begin_write", begin_and_time):
        yield seconds


def _import_in_process(pipe: Connection, text: str, folder: Path) -> None:
    """Import a file into a new database, and send the MiB that it took at most above those of before."""
    folder.mkdir(exist_ok=True)
    with contextlib.closing(Database.in_memory()) as warmed:
        transfer.import_thread(Store(warmed), reading.read_document(shapes.saying(["x"] * 2)))
    database = Database.open_file(folder / f"{secrets.token_hex(4)}.db")
    # The highest memory so far is forgotten (Linux alone has this).
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = _read_memory("VmRSS")
    transfer.import_thread(Store(database), reading.read_document(text))
    peak = _read_memory("VmHWM")
    database.close()
    pipe.send(peak - before)


def _read_memory(name: str) -> float:
    """Return a figure of this process's memory, in MiB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1024


def measure_arguments(share: float) -> float:
    """Return the processor's seconds for a call whose arguments come token by token."""
    arguments = json.dumps({"text": "word and \n" * round(share * ARGUMENT_CHARS / 10)})

    async def ask(model: ModelServer) -> float:
        bound_argument_parsing()
        keys = ProviderKeys(openai_api_key=SecretStr("sk-benchmark"), openai_base_url=model.base_url)
        chat = load_openai_model("fake-model", keys)
        for text in ("{}", arguments):  # the first loads what is loaded once
            model.call(text, TOKEN_CHARS)
            started = time.process_time()
            await collect_answer(chat, [HumanMessage("Write it down.")], Limits())
        return time.process_time() - started

    with ModelServer() as model:
        return asyncio.run(ask(model))


def measure_refusal(share: float) -> float:
    """Return the seconds until a file of small messages with a wrong hash is refused."""
    made = json.loads(DOCUMENTS["33,500 small messages"](share))
    text = json.dumps({**made, "sha256": "sha256:" + "0" * 64})
    started = time.process_time()
    with contextlib.suppress(InvalidDocumentError):
        reading.read_document(text)
    return time.process_time() - started
