"""Files that were damaged or forged in every way that comes to mind: each is refused in a sentence or is a conversation."""

import json
import random
import resource
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from checkpoints import Database, Store
from checkpoints.interchange import reading, transfer
from checkpoints.values.errors import StateError
from tests.checkpoints.conversations import dump
from tests.checkpoints.interchange.test_open_webui import TREE
from tests.checkpoints.interchange.test_transfer import VALUES_MADE, at, conversation, older, places, resealed
from tests.faults.page import PageClient
from tests.rounds import Rounds
from tests.servers import Server

pytestmark = pytest.mark.slow

ROUND = 150  # files
MEMORY = 300_000  # KiB that the process may grow by in a round; some files are of 5 MB
HUGE = ["x" * 2_000_000, "9" * 4_000, list(range(100_000)), {str(n): n for n in range(50_000)}, 10**400, -(2**63), 1e308]
WORDS = ["NaN", "Infinity", "1e999", '"\\ud800"', "\\u0000", "null", "true", "{}", "[]", '""', "-", ",", "}", '"', "[[[["]


def original(store: Store) -> tuple[str, str]:
    """A conversation that is here, and its export."""
    thread_id = conversation(store)
    return thread_id, transfer.export(store, thread_id)


def mutated(chance: random.Random, text: str) -> bytes:
    """One file. Some keep what it says whole and forge it; some break the bytes."""
    start = chance.choice([text, text, text, json.dumps(older()), json.dumps([{"chat": TREE}, TREE])])
    made = json.loads(start)
    for _ in range(chance.randrange(4)):
        _restructure(chance, made)
    if chance.random() < 0.1 and len(places(made)) > 1:  # at last: what is made of it cannot be walked through any more
        *way, last = chance.choice(places(made)[1:])
        at(made, tuple(way))[last] = (
            chance.choice(HUGE) if chance.random() < 0.1 else _deep(chance.choice([5, 98, 101, 900]))
        )
    forged = chance.random() < 0.6 and isinstance(made, dict) and "messages" in made
    raw = (resealed(made, hashes=chance.random() < 0.8) if forged else json.dumps(made)).encode(errors="surrogatepass")
    return _rewritten(chance, raw) if chance.random() < 0.4 else raw


def _restructure(chance: random.Random, made: Any) -> None:
    there = places(made)
    if len(there) < 2:
        return
    *way, last = chance.choice(there[1:])
    holder = at(made, tuple(way))
    match chance.randrange(7):
        case 0:
            del holder[last]
        case 1 if isinstance(holder, list):
            holder.insert(chance.randrange(len(holder) + 1), json.loads(json.dumps(holder[last])))
        case 2:  # swapped with something that stands elsewhere, ids among it
            other = chance.choice(there)
            holder[last] = json.loads(json.dumps(at(made, other)))
        case 3:
            holder[last] = str(holder[last])[:50]
        case 4:
            holder[last] = float("nan")
        case 5 if isinstance(holder, list):
            chance.shuffle(holder)
        case _:
            holder[last] = json.loads(json.dumps(chance.choice(VALUES_MADE)))


def _deep(levels: int) -> Any:
    nested: Any = "deep"
    for _ in range(levels):
        nested = [nested]
    return nested


def _rewritten(chance: random.Random, raw: bytes) -> bytes:
    spot = chance.randrange(len(raw) + 1)
    match chance.randrange(5):
        case 0:
            return raw[:spot]
        case 1:
            flipped = bytearray(raw)
            for _ in range(min(chance.randrange(1, 9), len(flipped))):
                flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
            return bytes(flipped)
        case 2:
            return raw[:spot] + chance.randbytes(chance.randrange(1, 20)) + raw[spot:]
        case 3:
            return raw[:spot] + chance.choice(WORDS).encode() + raw[spot:]
        case _:
            end = min(len(raw), spot + chance.randrange(1, 500))
            return raw[:end] + raw[spot:end] + raw[end:]


def rounds(seed: int, count: int) -> tuple[int, int]:
    """How many were refused, and how many taken. Fails if one does anything else, or changes something although refused."""
    chance = random.Random(seed)
    store = Store(Database.in_memory())
    thread_id, text = original(store)
    before, taken = dump(store), 0
    for number in range(count):
        raw = mutated(chance, text)
        try:
            _take(store, thread_id, raw, merge=number % 2 == 0)
        except StateError as refusal:
            sentence = str(refusal)
        else:
            sentence = None
        if sentence is not None:
            assert sentence.count("\n") == 0 < len(sentence)
            assert dump(store) == before, raw
            continue
        taken += 1
        store.database.close()
        store = Store(Database.in_memory())
        thread_id, text = original(store)
        before = dump(store)
    store.database.close()
    return count - taken, taken


def _take(store: Store, thread_id: str, raw: bytes, *, merge: bool) -> None:
    docs = reading.read_documents(raw)
    for doc in docs:
        transfer.preview_import(store, doc, thread_id)
        made = transfer.merge_document(store, thread_id, doc) if merge else transfer.import_thread(store, doc)
        for message in store.list_all_messages(made.result):
            assert message.langchain.type == message.type
        if len(json.dumps(doc.thread.title)) < 1_000 and len(raw) < 100_000:
            reading.read_document(transfer.export(store, made.result))


@pytest.mark.parametrize("seed", range(3))
def test_no_damaged_file_does_anything_but_be_refused_or_taken(seed: int) -> None:
    _expect_refused_or_taken(seed, ROUND)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 110))
def test_of_a_hundred_thousand_damaged_files_none_does(seed: int, rounds: Rounds) -> None:
    _expect_refused_or_taken(seed, rounds(10_000))


def _expect_refused_or_taken(seed: int, count: int) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused, taken = rounds(seed, count)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEMORY
    assert refused > count * 0.5
    assert taken > count * 0.02  # else it would prove little of what comes after reading


def test_no_damaged_file_makes_the_server_fail(tmp_path: Path) -> None:
    _expect_answers(tmp_path, 100)


@pytest.mark.long
def test_of_five_thousand_damaged_files_none_makes_the_server_fail(tmp_path: Path, rounds: Rounds) -> None:
    _expect_answers(tmp_path, rounds(5_000))


def _expect_answers(folder: Path, count: int) -> None:
    """As the page sends them; anything but a 200 raises `NotAnswered`."""
    store = Store(Database.in_memory())
    _, text = original(store)
    store.database.close()
    chance = random.Random(count)
    with Server(folder / "data") as server:
        page = PageClient(server.link)
        look_on = sqlite3.connect(folder / "data" / "waymark.db")
        try:
            taken = sum(_upload(page, look_on, mutated(chance, text)) for _ in range(count))
        finally:
            look_on.close()
            page.close()
        assert 0 < taken < count
        assert "Traceback" not in server.log


def _upload(page: PageClient, look_on: sqlite3.Connection, raw: bytes) -> bool:
    """Choose the file and, if the dialog opens, import it. True if it was."""
    before = look_on.execute("PRAGMA data_version").fetchone()
    answer = page.choose_file(raw)
    if answer.get("import-dialog", {}).get("is_open"):
        told = page.call("import-confirm.n_clicks", 1)["head"]["data"]
        return told.get("toast") is None
    assert "was not imported" in answer["head"]["data"]["toast"]["text"]
    assert look_on.execute("PRAGMA data_version").fetchone() == before
    return False
