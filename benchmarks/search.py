"""The search over a million messages on both databases: the time of queries, warm and cold, and what the index costs."""

import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

from langchain_core.messages import AIMessage, HumanMessage

from benchmarks.databases import KINDS, Fresh, Kind, Place, places
from benchmarks.measuring import Bar, Report, Samples, Section, milliseconds
from checkpoints import Database, NewMessage, Store
from checkpoints.rows import search_index
from checkpoints.values import serde

MESSAGES, QUICK_MESSAGES = 1_000_000, 20_000
SAMPLE = 5_000  # messages, written with and without the index
OF_A_CONVERSATION = 100  # messages
VOCABULARY = 50_000  # words, as often as Zipf's law says
TEXTS = 20_000  # different ones, of 120 words
FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)
DAYS = 2_000  # that the messages are spread over
OLD_SHARE = 0.1  # of the conversations, the first ones, have the old word in every second message
OLD_WORD = "oldhabit"
RUNS = 40  # queries of each kind
BAR_MS = 200.0
HEAD = ("", *(f"{kind}, {what}" for kind in KINDS for what in ("median", "slowest of 40", "cold")))

MakeQuery = Callable[[random.Random], tuple[str, str]]  # the query, and its open conversation


@dataclass(frozen=True)
class Language:
    """Words, the most frequent first, and texts made of them."""

    words: Sequence[str]
    texts: Sequence[str]

    @classmethod
    def build(cls) -> "Language":
        chance = random.Random(11)
        letters = "etaoinshrdlucmfwypvbgkjqxz"
        made = {
            "".join(chance.choices(letters[: chance.randint(6, 26)], k=chance.randint(2, 10))) for _ in range(VOCABULARY)
        }
        words = sorted(made, key=lambda word: (len(word), word))
        shares = list(itertools.accumulate(1 / (place + 1.5) for place in range(len(words))))
        texts = [" ".join(chance.choices(words, cum_weights=shares, k=120)) for _ in range(TEXTS)]
        return cls(words, [_add_features(place, text) for place, text in enumerate(texts)])

    def list_queries(self, thread_ids: Sequence[str]) -> dict[str, MakeQuery]:
        """Return makers of a query and of its open conversation, by what they ask for."""

        def word(chance: random.Random, first: int, last: int) -> str:
            return chance.choice(self.words[first : min(last, len(self.words))])

        return {
            "a word in every second message": lambda chance: (f"{word(chance, 0, 3)} ", ""),
            "a word in one of 10,000": lambda chance: (f"{word(chance, 20_000, 40_000)} ", ""),
            "two frequent words": lambda chance: (f"{word(chance, 0, 20)} {word(chance, 20, 100)} ", ""),
            "three words of any kind": lambda chance: (
                f"{word(chance, 0, 100)} {word(chance, 100, 1_000)} {word(chance, 1_000, 9_000)} ",
                "",
            ),
            "a phrase from a message": lambda chance: (f'"{" ".join(chance.choice(self.texts).split()[9:12])}"', ""),
            "the beginning of a word, 3 letters": lambda chance: (word(chance, 2_000, 40_000)[:3].ljust(3, "e"), ""),
            "the beginning of a word, 5 letters": lambda chance: (word(chance, 10_000, 40_000)[:5], ""),
            "a frequent word without another": lambda chance: (f"{word(chance, 10, 50)} -{word(chance, 0, 3)} ", ""),
            "a frequent word, role:user": lambda chance: (f"role:user {word(chance, 0, 50)} ", ""),
            "a frequent word, in:this": lambda chance: (f"in:this {word(chance, 0, 50)} ", chance.choice(thread_ids)),
            "a frequent word, has:code": lambda chance: (f"has:code {word(chance, 0, 50)} ", ""),
            "a frequent word, has:image, of which there is none": lambda chance: (f"has:image {word(chance, 0, 50)} ", ""),
            "has:link alone": lambda _: ("has:link ", ""),
            "a frequent word, before: the first message": lambda chance: (f"before:2020 {word(chance, 0, 200)} ", ""),
            "a frequent word, before: the second day": lambda chance: (f"before:2020-01-02 {word(chance, 0, 50)} ", ""),
            "a frequent word, before: the middle": lambda chance: (f"before:2022-10 {word(chance, 0, 200)} ", ""),
            "a rare word, before: the middle": lambda chance: (f"before:2022-10 {word(chance, 20_000, 40_000)} ", ""),
            "a frequent word, after: the last message": lambda chance: (f"after:2029 {word(chance, 0, 200)} ", ""),
            "a word that only the first tenth has": lambda _: (f"{OLD_WORD} ", ""),
            "the same, with a frequent word": lambda chance: (f"{OLD_WORD} {word(chance, 0, 50)} ", ""),
            "nothing that is there": lambda chance: ("zzzzzzzzzzzzz ", ""),
        }


class Clock:
    """The time of the messages: evenly over the days."""

    def __init__(self, steps: int) -> None:
        self._now, self._step = FIRST_DAY, timedelta(days=DAYS) / steps

    def advance(self) -> None:
        self._now += self._step

    def now(self) -> datetime:
        return self._now


def _add_features(place: int, text: str) -> str:
    """Add code to each 20th text, and a link to each 10th."""
    code = "\n```\nprint()\n```" if place % 20 == 0 else ""
    return f"{text}{code} https://elsewhere.example/{place}" if place % 10 == 0 else text


def measure(report: Report, folder: Path, *, quick: bool) -> None:
    """Add the bars and the table of the search to the report."""
    language, count = Language.build(), QUICK_MESSAGES if quick else MESSAGES
    section = Section(f"Search: {count:,} messages of 120 words", HEAD)
    columns: list[dict[str, tuple[str, str]]] = []
    with places(folder) as fresh:
        for kind in KINDS:
            with _filled(fresh(kind), language, count) as (place, thread_ids):
                columns.append(_measure_queries(report, place, language.list_queries(thread_ids), count))
            section.remarks.append(_measure_cost(fresh, kind, language))
            report.note_load()
    for name in columns[0]:
        section.rows.append((name, *itertools.chain.from_iterable(column[name] for column in columns)))
    section.remarks.append("*Cold*: the first query after a restart, with nothing of the files in the system's memory.")
    report.sections.append(section)


@contextmanager
def _filled(place: Place, language: Language, count: int) -> Iterator[tuple[Place, list[str]]]:
    database = place.open()
    is_postgresql = place.kind == "PostgreSQL"
    if is_postgresql:  # made afterwards, in a tenth of the time
        _execute(database, "DROP INDEX ix_search_entry_words")
    thread_ids = _fill(database, language, count)
    if is_postgresql:
        _execute(database, "CREATE INDEX ix_search_entry_words ON search_entry USING gin (words)")
    database.close()
    place.settled_bytes()  # merges the log, and analyses the tables of PostgreSQL, as its own housekeeping does
    try:
        yield place, thread_ids
    finally:
        place.remove()


def _execute(database: Database, statement: str) -> None:
    with database.begin_write() as connection:
        connection.exec_driver_sql(statement)


def _fill(database: Database, language: Language, count: int) -> list[str]:
    chance, kinds = random.Random(5), (HumanMessage, AIMessage)
    bodies = [serde.to_body(kinds[place % 2](text)) for place, text in enumerate(language.texts)]
    old_bodies = [*bodies, *(serde.to_body(HumanMessage(f"{text} {OLD_WORD}")) for text in language.texts)]
    clock = Clock(count // OF_A_CONVERSATION)
    store = Store(database, now=clock.now)
    thread_ids: list[str] = []
    for first in range(0, count, OF_A_CONVERSATION):
        clock.advance()
        thread_ids.append(store.create_thread().id)
        chosen = chance.choices(old_bodies if first < count * OLD_SHARE else bodies, k=OF_A_CONVERSATION)
        store.append(thread_ids[-1], [NewMessage(body) for body in chosen])
    while store.index_portion():  # appends as long as these are indexed afterwards
        pass
    return thread_ids


def _measure_queries(report: Report, place: Place, queries: dict[str, MakeQuery], count: int) -> dict[str, tuple[str, ...]]:
    column = {}
    slowest = slowest_cold = 0.0
    for name, make_query in queries.items():
        cold = _time_queries(place, make_query, 1, is_cold=True).median
        warm = _time_queries(place, make_query, RUNS)
        column[name] = tuple(f"{took:,.1f} ms" for took in (warm.median, max(warm.values), cold))
        slowest, slowest_cold = max(slowest, warm.median), max(slowest_cold, cold)
    if count == MESSAGES:
        bar = Bar(f"search over a million messages, {place.kind}, the slowest kind of query", slowest, BAR_MS, "ms")
        report.bars.append(replace(bar, note=f"{slowest_cold:,.0f} ms from a cold disk"))
    return column


def _time_queries(place: Place, make_query: MakeQuery, runs: int, *, is_cold: bool = False) -> Samples:
    if is_cold:
        place.drop_caches()
    database = place.open()
    store, chance = Store(database), random.Random(3)
    values: list[float] = []
    for text, this in [make_query(chance) for _ in range(runs)]:
        values += milliseconds(lambda text=text, this=this: _search(store, text, this), 1).values  # type: ignore[misc]
    database.close()
    return Samples(tuple(values))


def _search(store: Store, text: str, this: str) -> None:
    if store.search(text, datetime.now(UTC), this=this or None, limit=30).is_pending:
        raise RuntimeError("the index of the search is not complete")


def _measure_cost(fresh: Fresh, kind: Kind, language: Language) -> str:
    """Write the same messages with and without the index."""
    with_index = _write_sample(fresh(kind), language)
    with patch.object(search_index, "add_entries", lambda *_: None):
        without = _write_sample(fresh(kind), language)
    microseconds, size = (each - other for each, other in zip(with_index, without, strict=True))
    return (
        f"{kind}: the index takes {microseconds:,.0f} µs and {size:,.0f} bytes of each message, "
        f"which without it takes {without[0]:,.0f} µs and {without[1]:,.0f} bytes."
    )


def _write_sample(place: Place, language: Language) -> tuple[float, float]:
    """Return the microseconds and the bytes of a message."""
    database = place.open()
    start = time.perf_counter()
    _fill(database, language, SAMPLE)
    seconds = time.perf_counter() - start
    database.close()
    size = place.settled_bytes()
    place.remove()
    return seconds / SAMPLE * 1e6, size / SAMPLE
