"""Our history with one long conversation alone, and then among ten thousand others with a million messages."""

from collections.abc import Callable
from dataclasses import dataclass, field

import sqlalchemy as sa

from benchmarks import conversation
from benchmarks.contestants import PAGE
from benchmarks.databases import KINDS, Fresh, Kind, Place
from benchmarks.measuring import Bar, Report, Samples, Section, milliseconds
from checkpoints import Database, NewMessage, Runs, RunState, Store
from checkpoints.storage import schema
from checkpoints.values import serde

BAR_FLAT = 1.5  # times
BAR_CROWD = 2.0  # times
RUNS = 50
TURNS = 100  # to measure bytes a turn: a database grows by whole pages


@dataclass(frozen=True)
class Size:
    """The sizes of the data."""

    long: int = 10_000  # messages of the measured conversation, with a checkpoint after every tenth
    short: int = 100  # messages of the conversation for comparison, and of each other one
    others: int = 10_000  # conversations
    bookmarks: int = 1_000_000  # checkpoints in one of the other conversations


QUICK = Size(long=2_000, others=200, bookmarks=20_000)
BARS = {"list": 20.0, "restore": 5.0, "open": 10.0}  # ms
ROWS = {
    "turn": "a turn of the app: three transactions",
    "open": f"the last {PAGE} messages",
    "list": "list {checkpoints:,} checkpoints",
    "restore": "restore the checkpoint in the middle",
    "fork": "fork from there into a branch",
    "delete": "delete a checkpoint",
}


@dataclass
class House:
    """One database, and its measured conversations."""

    kind: Kind
    place: Place
    size: Size
    database: Database
    store: Store
    talk: list[NewMessage]
    long: str = ""
    short: str = ""
    bookmarked: str = ""
    alone: dict[str, Samples] = field(default_factory=dict)
    crowded: dict[str, Samples] = field(default_factory=dict)
    turns: dict[str, tuple[float, float]] = field(default_factory=dict)  # of short and long: milliseconds, bytes


def measure(report: Report, fresh: Fresh, *, quick: bool) -> None:
    """Add the bars and the table of the crowd to the report."""
    size = QUICK if quick else Size()
    talk = [NewMessage(serde.to_body(message)) for message in conversation.messages(size.long)]
    houses = []
    for kind in KINDS:
        house = _built(kind, fresh(kind), size, talk)
        house.turns = _turns(house)
        house.alone = _figures(house)
        _fill(house)
        house.crowded = _figures(house)
        house.crowded["delete"] = _deleting(house, house.bookmarked)
        house.database.close()
        house.place.remove()
        report.note_load()
        houses.append(house)
        report.bars += _bars(house)
    report.sections.append(_table(houses))


def _built(kind: Kind, place: Place, size: Size, talk: list[NewMessage]) -> House:
    database = place.open()
    store = Store(database)
    house = House(kind, place, size, database, store, talk)
    house.short, house.long = store.create_thread().id, store.create_thread().id
    store.append(house.short, talk[: size.short])
    for start in range(0, size.long, 10):
        store.append(house.long, talk[start : start + 10])
        store.save(house.long)
    return house


def _turns(house: House) -> dict[str, tuple[float, float]]:
    """Measure a turn in a short and in a long conversation."""
    found = {}
    for name, thread_id in (("short", house.short), ("long", house.long)):
        before = house.place.settled_bytes()
        took = milliseconds(_turn(house, thread_id), TURNS).median
        found[name] = took, (house.place.settled_bytes() - before) / TURNS
    return found


def _turn(house: House, thread_id: str) -> Callable[[], None]:
    """Write a question and an answer as the app does, within a run."""
    runs = Runs(house.store)
    question, answer = house.talk[:2]

    def turn() -> None:
        run = runs.begin_run(thread_id, question)
        runs.commit_message(run, answer)
        runs.end_run(run, RunState.DONE)

    return turn


def _figures(house: House) -> dict[str, Samples]:
    store, thread_id = house.store, house.long
    shown = store.list_checkpoints(thread_id)
    middle = shown[len(shown) // 2]
    assert middle.node is not None
    place = middle.node.id
    return {
        "turn": milliseconds(_turn(house, thread_id), RUNS),
        "open": milliseconds(lambda: store.list_messages(thread_id, last=PAGE), RUNS),
        "list": milliseconds(lambda: store.list_checkpoints(thread_id), RUNS),
        "restore": _undone(house, thread_id, lambda: store.restore(thread_id, middle.id)),
        "fork": _undone(house, thread_id, lambda: store.fork(thread_id, place)),
        "delete": _deleting(house, thread_id),
    }


def _deleting(house: House, thread_id: str) -> Samples:
    """Measure the deletion of checkpoints, spread over all of a thread."""
    table = schema.checkpoint.c
    ids = sa.select(table.id).where(table.thread_id == thread_id).order_by(table.position)
    with house.database.begin_read() as connection:
        found = list(connection.scalars(ids))
    chosen = iter(found[:: len(found) // RUNS])
    return _undone(house, thread_id, lambda: house.store.delete_checkpoint(thread_id, next(chosen)))


def _undone(house: House, thread_id: str, go: Callable[[], object]) -> Samples:
    """Measure a change, and undo it each time before the next."""

    def once() -> float:
        took = milliseconds(go, 1).best
        house.store.undo(thread_id)
        return took

    return Samples(tuple(once() for _ in range(RUNS)))


def _fill(house: House) -> None:
    """Write the other conversations through the store, each in one append; one gets its checkpoints from a statement."""
    for number in range(house.size.others):
        thread_id = house.store.create_thread(title=f"Conversation {number}").id
        house.store.append(thread_id, house.talk[: house.size.short])
    house.bookmarked = thread_id
    house.store.save(thread_id, name="A bookmark")
    _bookmark(house)
    house.place.settled_bytes()


def _bookmark(house: House) -> None:
    """Copy one checkpoint a million times, evenly over the messages: as many saves would take an hour."""
    table = schema.checkpoint
    first = sa.select(sa.literal(1).label("number")).cte("numbers", recursive=True)
    each = house.size.bookmarks // house.size.short
    number = first.union_all(sa.select(first.c.number + 1).where(first.c.number < each)).c.number
    messages = house.store.list_messages(house.bookmarked)
    with house.database.begin_write() as connection:
        saved = connection.execute(sa.select(table).where(table.c.thread_id == house.bookmarked)).one()._mapping
        for message in messages:
            differing = {
                "id": sa.literal(f"{message.id}-") + sa.cast(number, sa.Text),
                "position": number * len(messages) + message.depth,
                "message_id": sa.literal(message.id),
                "depth": sa.literal(message.depth),
            }
            copies = [differing.get(name, sa.literal(saved[name], column.type)) for name, column in table.c.items()]
            connection.execute(sa.insert(table).from_select(list(table.c.keys()), sa.select(*copies)))
        made = {"checkpoints_made": house.size.bookmarks + house.size.short}
        connection.execute(sa.update(schema.thread).where(schema.thread.c.id == house.bookmarked).values(made))


def _bars(house: House) -> list[Bar]:
    kind, size = house.kind, house.size
    bars = [
        Bar(
            f"a turn, {kind}, {size.long:,} ÷ {size.short:,} messages, {what}",
            house.turns["long"][index] / house.turns["short"][index],
            BAR_FLAT,
            "×",
        )
        for index, what in enumerate(("time", "bytes"))
    ]
    for row, limit in BARS.items():
        bars.append(Bar(f"{_title(row, size)}, {kind}, {size.long:,} messages", house.alone[row].median, limit, "ms"))
    for row, samples in house.crowded.items():
        grown = samples.median / house.alone[row].median
        what = f"among {_crowd(size)} ÷ alone" if row != "delete" else f"of {size.bookmarks:,} ÷ of {size.long // 10:,}"
        bars.append(Bar(f"{_title(row, size)}, {kind}, {what}", grown, BAR_FLAT if row == "delete" else BAR_CROWD, "×"))
    return bars


def _title(row: str, size: Size) -> str:
    return ROWS[row].format(checkpoints=size.long // 10)


def _crowd(size: Size) -> str:
    return f"{size.others * size.short:,} messages in {size.others:,} conversations"


def _table(houses: list[House]) -> Section:
    size = houses[0].size
    head = [""]
    for house in houses:
        head += [f"{house.kind}: alone (ms)", "in a crowd (ms)", "×"]
    section = Section(f"History: {size.long:,} messages alone, and among {_crowd(size)}", head)
    for row in ROWS:
        cells = []
        for house in houses:
            alone, crowded = house.alone[row].median, house.crowded[row].median
            cells += [f"{alone:.2f}", f"{crowded:.2f}", f"{crowded / alone:.2f}"]
        section.rows.append((_title(row, size), *cells))
    section.remarks = [
        f"Medians of {RUNS}. The others were written through the store, {size.short:,} messages in each append. In a crowd, "
        f"*delete* is of {size.bookmarks:,} checkpoints in one conversation, written by statements of the benchmark's own.",
    ]
    return section
