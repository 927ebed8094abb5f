"""A thousand people with a hundred conversations each, beside one person with a hundred: what one of them waits for.

One person's conversations are written through the store. Those of all others are copies of their rows with other ids, by
statements of the benchmark's own: a million messages through runs would take hours.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

import sqlalchemy as sa
from langchain_core.messages import AIMessage, HumanMessage
from sqlalchemy.dialects import postgresql

from benchmarks.contestants import PAGE
from benchmarks.conversation import WORDS, prose
from benchmarks.databases import KINDS, Place, places
from benchmarks.measuring import Bar, Report, Samples, Section, milliseconds
from checkpoints import Database, NewMessage, Store, act_for
from checkpoints.rows import search_index
from checkpoints.storage import schema
from checkpoints.values import serde

PEOPLE, QUICK_PEOPLE = 1_000, 30
CONVERSATIONS = 100  # of a person
MESSAGES = 10  # of a conversation
SAVED_AT = (4, 8)  # messages, where each conversation has a checkpoint
RUNS = 100
MAX_GROWTH = 2.0  # times
NAME = "p{:04}"  # of a person, which all ids of their rows begin with
TEMPLATE = NAME.format(0)
STRIDE = 10_000  # between the numbers of the rows of two people
RARE_WORD = "kingfisher"  # in one message of each person
ROWS = {
    "list": "list the conversations",
    "open": f"open one: its last {PAGE} messages",
    "search": "search for a frequent word",
    "rare": "search for a rare word",
    "save": "save a checkpoint",
    "restore": "restore one",
}


@dataclass(frozen=True)
class CopiedTable:
    """A table whose rows are copied for other people: its columns with ids, and those with numbers of rows."""

    name: str
    ids: Sequence[str]
    numbers: Sequence[str] = ()
    owner: str = "thread_id"
    left_out: Sequence[str] = ()


COPIED = (
    CopiedTable("thread", ("id", "owner", "branch_id"), owner="id"),
    CopiedTable("segment", ("thread_id",), ("id", "parent")),
    CopiedTable("message", ("id", "thread_id", "parent_id"), ("segment",)),
    CopiedTable("branch", ("id", "thread_id", "head_id")),
    CopiedTable("checkpoint", ("id", "thread_id", "branch_id", "message_id"), ("segment",)),
    CopiedTable("operation", ("thread_id", "changes", "result", "request_id")),
)


@dataclass(frozen=True)
class Visit:
    """A person, and one of their conversations with a checkpoint."""

    owner: str
    thread_id: str
    checkpoint_id: str


@dataclass
class Town:
    """A database, and the figures of one of its people."""

    place: Place
    people: int
    alone: dict[str, Samples] = field(default_factory=dict)
    crowded: dict[str, Samples] = field(default_factory=dict)


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the bars and the table of the people to the report."""
    towns = []
    with places(folder) as fresh:
        for kind in KINDS:
            town = Town(fresh(kind), QUICK_PEOPLE if quick else PEOPLE)
            alone = fresh(kind)
            with _open(alone) as database:
                _write_template(database)
                town.alone = _measure(database, [TEMPLATE])
            alone.remove()
            with _open(town.place) as database:
                _write_template(database)
                _write_others(database, town.people)
            town.place.settled_bytes()
            with _open(town.place) as database:
                database.separate_owners()
                town.crowded = _measure(database, [NAME.format(number) for number in range(town.people)])
            town.place.remove()
            towns.append(town)
            report.note_load()
            report.bars += _list_bars(town)
    report.sections.append(_build_table(towns))


@contextmanager
def _open(place: Place) -> Iterator[Database]:
    database = place.open()
    try:
        yield database
    finally:
        database.close()


def _write_template(database: Database) -> None:
    """Write the conversations of one person."""
    chance, numbers = random.Random(3), itertools.count(1)
    store = Store(database, new_id=lambda: f"{TEMPLATE}x{next(numbers):06}")
    for conversation in range(CONVERSATIONS):
        thread_id = store.create_thread(title=prose(chance, 5), owner=TEMPLATE).id
        texts = [prose(chance, 20 if place % 2 == 0 else 60) for place in range(MESSAGES)]
        texts[0] += f" {RARE_WORD}" if conversation == CONVERSATIONS // 2 else ""
        messages = [(AIMessage if place % 2 else HumanMessage)(text) for place, text in enumerate(texts)]
        for start, end in pairwise((0, *SAVED_AT, MESSAGES)):
            store.append(thread_id, [NewMessage(serde.to_body(each)) for each in messages[start:end]])
            if end in SAVED_AT:
                store.save(thread_id)


def _write_others(database: Database, people: int) -> None:
    """Copy the rows of the first person for each other one, conversation by conversation, as they would have come."""
    is_postgresql = database.kind == "postgresql"
    with database.begin_write() as connection:
        thread_ids = connection.scalars(sa.select(schema.thread.c.id).order_by(schema.thread.c.id)).all()
        if is_postgresql:  # made afterwards, in a tenth of the time
            connection.exec_driver_sql("DROP INDEX ix_search_entry_words")
    copy_entries = _copy_entries_by_statement if is_postgresql else _copy_entries
    for thread_id in thread_ids:
        with database.begin_write() as connection:
            for table in COPIED:
                connection.exec_driver_sql(_write_copy(table, f"{table.owner} = '{thread_id}'", people, is_postgresql))
            copy_entries(connection, thread_id, people)
    if is_postgresql:
        with database.begin_write() as connection:
            connection.exec_driver_sql("CREATE INDEX ix_search_entry_words ON search_entry USING gin (words)")
            connection.exec_driver_sql("SELECT setval(pg_get_serial_sequence('segment', 'id'), max(id)) FROM segment")


def _write_copy(table: CopiedTable, condition: str, people: int, is_postgresql: bool) -> str:
    """Write the statement that copies some rows of a table for all other people."""
    name = "'p' || lpad(n::text, 4, '0')" if is_postgresql else "printf('p%04d', n)"
    columns = {
        column.name: column for column in schema.metadata.tables[table.name].columns if column.name not in table.left_out
    }
    values = []
    for column in columns.values():
        value = f"{table.name}.{column.name}"
        if column.name in table.ids:
            text = f"{value}::text" if is_postgresql else value
            value = f"replace({text}, '{TEMPLATE}', {name})"
            value += f"::{column.type.compile(postgresql.dialect())}" if is_postgresql else ""  # type: ignore[no-untyped-call]
        elif column.name in table.numbers:
            value += f" + n * {STRIDE}"
        values.append(value)
    numbers = f"SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {people - 1}"
    return (
        f"INSERT INTO {table.name} ({', '.join(columns)}) WITH RECURSIVE numbers (n) AS ({numbers}) "
        f"SELECT {', '.join(values)} FROM numbers CROSS JOIN {table.name} WHERE {condition}"
    )


def _copy_entries_by_statement(connection: sa.Connection, thread_id: str, people: int) -> None:
    """Index the copies of one conversation. The words of an entry have the mark of its conversation."""
    of_messages = f"segment IN (SELECT id FROM segment WHERE thread_id = '{thread_id}')"
    of_checkpoints = f"checkpoint_id IN (SELECT id FROM checkpoint WHERE thread_id = '{thread_id}')"
    entries = CopiedTable("search_entry", ("checkpoint_id", "words"), ("segment",), left_out=("number",))
    connection.exec_driver_sql(_write_copy(entries, f"{of_messages} OR {of_checkpoints}", people, is_postgresql=True))


def _copy_entries(connection: sa.Connection, thread_id: str, people: int) -> None:
    """The same on SQLite, whose index keeps no words: they are made again."""
    entry, segment, checkpoint = schema.search_entry.c, schema.segment.c, schema.checkpoint.c
    is_own = sa.or_(
        entry.segment.in_(sa.select(segment.id).where(segment.thread_id == thread_id)),
        entry.checkpoint_id.in_(sa.select(checkpoint.id).where(checkpoint.thread_id == thread_id)),
    )
    made = search_index.make_portion(connection, search_index.TEXTS.where(is_own), {})
    columns = (entry.segment, entry.depth, entry.checkpoint_id, entry.created_at)
    rows = connection.execute(sa.select(*columns).where(is_own).order_by(entry.number))
    found = [(*row, " ".join(each.words)) for row, each in zip(rows, made, strict=True)]
    number = itertools.count(1 + (connection.scalar(sa.select(sa.func.max(entry.number))) or 0))
    copies = [
        (next(number), place and place + n * STRIDE, depth, _rename(of, n), created_at, _rename(words, n))
        for n in range(1, people)
        for place, depth, of, created_at, words in found
    ]
    connection.exec_driver_sql(
        "INSERT INTO search_entry (number, segment, depth, checkpoint_id, created_at, words) VALUES (?, ?, ?, ?, ?, '')",
        [row[:-1] for row in copies],
    )
    connection.exec_driver_sql(
        "INSERT INTO search_words (rowid, words) VALUES (?, ?)", [(row[0], row[-1]) for row in copies]
    )


def _rename(text: str | None, number: int) -> str | None:
    return text.replace(TEMPLATE, NAME.format(number)) if text else None


def _measure(database: Database, names: list[str]) -> dict[str, Samples]:
    """Measure what people of these names wait for, of one of them after the other."""
    store, chance = Store(database), random.Random(9)
    tasks: dict[str, Callable[[Visit], object]] = {
        "list": lambda visit: store.list_thread_portion(owner=visit.owner),
        "open": lambda visit: store.list_messages(visit.thread_id, last=PAGE),
        "search": lambda visit: _search(store, WORDS[0], visit.owner),
        "rare": lambda visit: _search(store, RARE_WORD, visit.owner),
        "save": lambda visit: store.save(visit.thread_id),
        "restore": lambda visit: store.restore(visit.thread_id, visit.checkpoint_id),
    }
    found = {}
    for row, task in tasks.items():
        values: list[float] = []
        for _ in range(RUNS):
            owner = chance.choice(names)
            with act_for(owner):
                visit = _prepare_visit(store, owner, chance)
                values += milliseconds(partial(task, visit), 1).values
        found[row] = Samples(tuple(values))
    return found


def _prepare_visit(store: Store, owner: str, chance: random.Random) -> Visit:
    """Choose a conversation of somebody, which is in memory then, as one that is worked with."""
    thread_id = chance.choice(store.list_thread_portion(owner=owner)).id
    return Visit(owner, thread_id, store.list_checkpoints(thread_id)[0].id)


def _search(store: Store, text: str, owner: str) -> None:
    if not store.search(f"{text} ", datetime.now(UTC), owner=owner, limit=30).hits:
        raise RuntimeError(f"“{text}” was not found")


def _list_bars(town: Town) -> list[Bar]:
    crowd = f"{town.people:,} people with {CONVERSATIONS} conversations each ÷ one person"
    return [
        Bar(f"{title}, {town.place.kind}, {crowd}", town.crowded[row].median / town.alone[row].median, MAX_GROWTH, "×")
        for row, title in ROWS.items()
        # A search has a bar of its own, among a million messages.
        if row not in ("search", "rare")
    ]


def _build_table(towns: list[Town]) -> Section:
    people = towns[0].people
    head = [""]
    for town in towns:
        head += [f"{town.place.kind}: one person (ms)", f"one of {people:,} (ms)", "×"]
    section = Section(f"{people:,} people with {CONVERSATIONS} conversations of {MESSAGES} messages each", head)
    for row, title in ROWS.items():
        cells = []
        for town in towns:
            alone, crowded = town.alone[row].median, town.crowded[row].median
            cells += [f"{alone:.2f}", f"{crowded:.2f}", f"{crowded / alone:.2f}"]
        section.rows.append((title, *cells))
    section.remarks = [
        f"Medians of {RUNS}, each of a person and a conversation at random. One person alone has a database without owners; "
        "among others, each statement is checked for its owner. The others' rows are copies, written by statements of the "
        "benchmark's own."
    ]
    return section
