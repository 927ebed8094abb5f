"""Bytes that flip inside stored messages, in the file itself: each is found and named, and the rest reads as before."""

import random
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import pytest

from checkpoints import Database, Message, Store
from checkpoints.upkeep import verification
from tests.checkpoints.conversations import new
from tests.faults.page import PageClient
from tests.rounds import sample
from tests.servers import Server

pytestmark = pytest.mark.slow

FLIPS = 64
ROUNDS = 50
_WORDS = ("memory", "größer", "“quoted”", "new\nline", "日本語", "🙂", '{"json": [1, 2]}', "\\", "plain")
Read = dict[str, Message]  # by id


@dataclass(frozen=True)
class Original:
    """A database file, what is read from it, and where in it the bytes of each message's body stand."""

    file: Path
    every: Read
    paths: Read
    places: dict[str, range]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Original:
    """300 messages in three conversations, each with a fork."""
    file = tmp_path_factory.mktemp("original") / "waymark.db"
    database = Database.open_file(file)
    store, chance = Store(database), random.Random(1)
    for number in range(3):
        thread_id = store.create_thread(title=f"Conversation {number}").id
        lines = [f"{number}.{index} " + " ".join(chance.choices(_WORDS, k=60)) for index in range(90)]
        store.append(thread_id, new(*lines))
        store.append(thread_id, new(*lines[80:]), after=store.list_messages(thread_id)[79].id)
    database.close()  # the last to close moves everything from the log into the file
    places = found_in(file)
    assert len(places) > 200
    return Original(file, *read(file), places)


def found_in(file: Path) -> dict[str, range]:
    """Where the bodies stand that are in one piece and there once: others were moved when their page was split."""
    held = file.read_bytes()
    raw = sqlite3.connect(file)
    bodies = [(identifier, body.encode()) for identifier, body in raw.execute("SELECT id, body FROM message")]
    raw.close()
    starts = {identifier: held.find(body) for identifier, body in bodies if held.count(body) == 1}
    return {
        identifier: range(starts[identifier], starts[identifier] + len(body))
        for identifier, body in bodies
        if identifier in starts
    }


def flip(file: Path, chance: random.Random, places: dict[str, range]) -> set[str]:
    """Change bytes of bodies in the file to others; the ids of the messages that they belong to."""
    hit = {chance.choice(places[each]): each for each in chance.choices(list(places), k=FLIPS)}
    held = bytearray(file.read_bytes())
    for position in hit:
        held[position] ^= chance.randrange(1, 256)
    file.write_bytes(held)
    return set(hit.values())


def read(file: Path) -> tuple[Read, Read]:
    """Every message, and those of the conversations as of their heads: two ways of reading."""
    database = Database.open_read_only(f"sqlite:///{file}")
    store = Store(database)
    threads = [thread.id for thread in store.list_threads()]
    every = {m.id: m for thread_id in threads for m in store.list_all_messages(thread_id)}
    paths = {m.id: m for thread_id in threads for m in store.list_messages(thread_id)}
    database.close()
    return every, paths


def named(file: Path) -> set[str | None]:
    database = Database.open_read_only(f"sqlite:///{file}")
    report = verification.verify(database)
    database.close()
    return {damage.message_id for damage in report.damages}


@pytest.mark.parametrize("seed", sample(range(ROUNDS), 5))
def test_64_flipped_bytes_are_all_named_and_nothing_else_is(original: Original, tmp_path: Path, seed: int) -> None:
    file = Path(shutil.copy(original.file, tmp_path))
    hit = flip(file, random.Random(seed), original.places)
    assert named(file) == hit
    for found, before in zip(read(file), (original.every, original.paths), strict=True):
        assert {each for each in found if found[each].damaged} == hit & set(before)
        assert {each: found[each] for each in set(found) - hit} == {each: before[each] for each in set(before) - hit}


def test_the_page_shows_the_rest_and_no_model_is_asked_with_what_is_damaged(original: Original, tmp_path: Path) -> None:
    file = tmp_path / "data" / "waymark.db"
    file.parent.mkdir()
    shutil.copy(original.file, file)
    flip(file, random.Random(7), original.places)
    found = list(read(file)[1].values())
    window = [message for message in found if message.thread_id == found[0].thread_id][-50:]
    assert any(message.damaged for message in window)
    with Server(file.parent) as server:
        page = PageClient(server.link)
        page.thread = found[0].thread_id
        shown = page.look()["messages"]
        assert [view["id"] for view in shown if view["state"] == "error"] == [m.id for m in window if m.damaged]
        whole = [view["text"] for view in shown if view["state"] == "done"]
        assert whole == [m.body["data"]["content"] for m in window if not m.damaged]
        failed = page.say("And now?")["run"]
        assert "is damaged: its content does not fit its hash. Go back to before it, or edit it." in failed["error"]
        assert page.texts()[-1] == "And now?"
        page.close()
