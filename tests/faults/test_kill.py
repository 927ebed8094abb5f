"""kill -9 at random moments of whatever is done at the page: what was answered is there afterwards, nothing is half-done."""

import json
import os
import random
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import WebSocketException

from checkpoints import Database, Store
from checkpoints.upkeep import verification
from tests.checkpoints.tables import Tables, read
from tests.faults.page import JSON, Frames, NotAnswered, PageClient
from tests.rounds import Rounds
from tests.servers import Server

pytestmark = pytest.mark.slow

QUESTIONS = ("What is 12 * (3 + 4)?", "Show me a piece of Python", "Tell me something long", "And what is 7*8 and 2+2?")
KINDS = {  # what each wish is called among the operations
    "send": {"append"},
    "edit": {"edit"},
    "change": {"replace"},
    "retry": {"retry"},
    "choose": {"switch"},
    "save": {"save"},
    "delete": {"delete"},
    "restore": {"restore"},
    "fork": {"fork"},
    "switch": {"switch"},
    "undo": {"undo"},
    "redo": {"redo"},
    "merge": {"import"},
    "import": set[str](),
}


class Talk:
    """One person at the page until the server dies: what they were told is done, and what hangs in the air.

    `shown` is what the page last said of the conversation. `wished` is what was asked for since and never answered.
    """

    def __init__(self, page: PageClient, number: int, chance: random.Random, killer: threading.Timer) -> None:
        self.page = page
        self.frames = Frames()
        self.acknowledged: list[str] = []  # texts
        self.operations: list[str] = []  # the ids of the wishes that were answered
        self.imported: list[str] = []
        self.shown: Shown | None = None
        self.wished = "send"
        self.done = False  # what was never answered, as is found afterwards
        self._number = number
        self._chance = chance
        self._killer = killer

    def until_killed(self) -> None:
        try:
            self._send()
            last = self._chance.randint(2, 9)  # which is cut off: counted in wishes, since a busy machine is slow
            with self.page.following() as self.frames:
                for number in count(1):
                    if number == last:
                        self._killer.start()
                    self._something()
        except (NotAnswered, OSError, WebSocketException):
            pass

    def _something(self) -> None:
        if self._chance.random() < 0.8:
            self.page.rest()
        self.shown = shown = Shown.on(self.page)
        if self._chance.random() < 0.35:
            self.page.rest()
            self._send()
        else:
            self.wished = self._chance.choice(list(KINDS)[1:])
            self.operation = str(uuid.uuid4())
            if getattr(self, f"_{self.wished}")(shown):
                self.operations.append(self.operation)
            if self.page.thread in self.imported:
                self.page.thread = shown.thread
        self.shown = Shown.on(self.page)

    def _send(self) -> None:
        self.wished = "send"
        self.page.look()
        text = self._text()
        reply = self.page.send(text)
        if self.shown is None or reply["ok"]:
            assert reply["ok"], reply
            self.acknowledged.append(text)
        self.shown = Shown.on(self.page)

    def _text(self) -> str:
        return f"{self._number}.{self._chance.random()} {self._chance.choice(QUESTIONS)}"

    # each says whether it was acknowledged under its id

    def _edit(self, shown: "Shown") -> bool:
        text = self._text()
        answer = self.page.act(
            "transcript", "edit", request_id=self.operation, message=shown.question(self._chance), text=text
        )
        return self._written(answer, text)

    def _change(self, shown: "Shown") -> bool:
        text = self._text()
        answer = self.page.act(
            "transcript", "change", request_id=self.operation, message=shown.question(self._chance), text=text
        )
        return self._written(answer, text)

    def _written(self, answer: JSON, text: str) -> bool:
        if not answer["transcript"]["reply"]["ok"]:
            return False
        self.acknowledged.append(text)
        return True

    def _retry(self, _: "Shown") -> bool:
        answer = self.page.act("transcript", "retry", request_id=self.operation)
        return bool(answer["transcript"]["reply"]["ok"])

    def _choose(self, shown: "Shown") -> bool:
        others = [each for message in shown.messages for each in message.get("siblings") or [] if each != message["id"]]
        if not others:
            return False
        answer = self.page.act("transcript", "choose", request_id=self.operation, message=self._chance.choice(others))
        return bool(answer["transcript"]["reply"]["ok"])

    def _save(self, _: "Shown") -> bool:
        name = f"{self._number}/{self._chance.random()}"
        return _accepted(self.page.save(name, request_id=self.operation))

    def _restore(self, shown: "Shown") -> bool:
        return bool(shown.checkpoints) and _accepted(
            self.page.restore(self._chance.choice(shown.checkpoints)["id"], request_id=self.operation)
        )

    def _delete(self, shown: "Shown") -> bool:
        if not shown.checkpoints:
            return False
        self.page.act(
            "history", "delete", request_id=self.operation, checkpoint=self._chance.choice(shown.checkpoints)["id"]
        )
        return _accepted(self.page.confirm("delete-checkpoint"))

    def _fork(self, shown: "Shown") -> bool:
        if not shown.messages:
            return False
        return _accepted(self.page.fork(self._chance.choice(shown.messages)["id"], request_id=self.operation))

    def _switch(self, shown: "Shown") -> bool:
        branch = self._chance.choice(shown.branches)["id"]
        return _accepted(self.page.act("history", "switch", request_id=self.operation, branch=branch))

    def _undo(self, _: "Shown") -> bool:
        return _accepted(self.page.step("undo", request_id=self.operation))

    def _redo(self, _: "Shown") -> bool:
        return _accepted(self.page.step("redo", request_id=self.operation))

    def _merge(self, _: "Shown") -> bool:
        self.page.import_file(self.page.get(f"/api/threads/{self.page.thread}/export").content, into_this=True)
        return False

    def _import(self, _: "Shown") -> bool:
        self.page.import_file(self.page.get(f"/api/threads/{self.page.thread}/export").content)
        if self.shown and self.page.thread not in (None, self.shown.thread):
            self.imported.append(str(self.page.thread))
        return False

    def committed(self) -> list[JSON]:
        """The messages that the socket showed as committed."""
        return [frame["message"] for frame in self.frames.seen if frame["kind"] in ("start", "message") and frame["message"]]


@dataclass(frozen=True)
class Shown:
    """What the page shows of a conversation at one moment."""

    thread: str
    version: int
    messages: list[JSON]
    checkpoints: list[JSON]
    branches: list[JSON]

    @classmethod
    def on(cls, page: PageClient) -> "Shown":
        transcript = page.look()
        history = page.shown("history")
        version = min(transcript["version"], history["version"])  # an answer may go on being written between the two
        return cls(str(page.thread), version, transcript["messages"], history["checkpoints"], history["branches"])

    def question(self, chance: random.Random) -> str:
        return str(chance.choice([message["id"] for message in self.messages if message["role"] == "user"] or ["none"]))

    @property
    def settled(self) -> list[Any]:
        """What only the user changes."""
        asked = [message["text"] for message in self.messages if message["role"] == "user"]
        return [asked, [c["name"] for c in self.checkpoints], [b["name"] for b in self.branches]]


def _accepted(answer: JSON) -> bool:
    """Whether a change was made: what is refused is said."""
    toast = answer.get("head", {}).get("data", {}).get("toast")
    return "head" in answer and toast is None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "data", DEMO_SECONDS_PER_TOKEN="0.003") as server:
        yield server


def test_nothing_that_was_acknowledged_is_lost_when_the_server_is_killed(server: Server, tmp_path: Path) -> None:
    expect_nothing_lost(server, tmp_path / "data" / "waymark.db", number_of_rounds=3)


@pytest.mark.long
@pytest.mark.parametrize("_", range(5))
def test_nothing_that_was_acknowledged_is_lost_however_often_the_server_is_killed(
    server: Server, tmp_path: Path, rounds: Rounds, _: int
) -> None:
    expect_nothing_lost(server, tmp_path / "data" / "waymark.db", number_of_rounds=rounds(100))


def expect_nothing_lost(server: Server, file: Path, number_of_rounds: int) -> None:
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 10**6))
    print(f"KILL_SEED={seed}")  # noqa: T201  (pytest shows it beside a failure)
    chance = random.Random(seed)
    browser = PageClient(server.link)
    answered = interrupted = 0
    for number in range(number_of_rounds):
        page = browser.tab()
        page.thread = None
        killer = threading.Timer(chance.uniform(0.0, 0.3), server.kill)
        talk = Talk(page, number, chance, killer)
        talk.until_killed()
        killer.join()
        server.restart()
        _check_rows(file, talk)
        if talk.shown is not None:
            page.thread = talk.shown.thread
            interrupted += _check_page(page, talk)
        answered += len(talk.operations) + len(talk.acknowledged)
        page.close()
    browser.close()
    print(f"{answered} wishes answered, {interrupted} answers interrupted")  # noqa: T201
    assert interrupted >= number_of_rounds // 20, "no kill came while an answer was written: the test has lost its meaning"
    # In a round or two, chance may leave nearly all wishes unanswered.
    assert answered >= (number_of_rounds - 2) * 2, "too little was done before the kills: the test has lost its meaning"


def _check_rows(file: Path, talk: Talk) -> None:
    """Every acknowledged wish is there once, none is half-done, and what the socket showed is what is stored."""
    database = Database.open_read_only(f"sqlite:///{file}")
    assert verification.verify(database).damages == ()
    tables = read(Store(database))
    database.close()
    messages = {key[0]: json.loads(row["body"])["data"]["content"] for key, row in tables["message"].items()}
    requests = [row["request_id"] for row in tables["operation"].values()] + [row["id"] for row in tables["run"].values()]
    assert all(row["state"] != "running" for row in tables["run"].values())
    for operation in talk.operations:
        assert operation in requests
    for text in talk.acknowledged:
        assert list(messages.values()).count(text) >= 1  # more than once where a message before it was replaced
    for message in talk.committed():
        assert messages[message["id"]] == message["text"]
    for thread in talk.imported:
        assert (thread,) in tables["thread"]
    _check_that_no_operation_is_half_done(tables)
    if talk.shown is not None:
        _check_what_was_never_answered(tables, talk, talk.shown)


def _check_that_no_operation_is_half_done(tables: Tables) -> None:
    """What the operations say, one after the other, that they made of each row, is what it is."""
    said: dict[tuple[str, str], JSON] = {}
    for _, operation in sorted(tables["operation"].items()):
        for table, identifier, before, after in json.loads(operation["changes"]):
            row = said.setdefault((table, identifier), {})
            assert {name: row.get(name, value) for name, value in before.items()} == before
            row.update(after)
    for (table, identifier), columns in said.items():
        row = tables[table][identifier,]
        assert {name: row[name] for name in columns} == columns


def _check_what_was_never_answered(tables: Tables, talk: Talk, shown: Shown) -> None:
    """Of the user's wishes since the page was last read at most one is there, and that is the one that hung in the air."""
    assert tables["thread"][shown.thread,]["version"] >= shown.version
    since = [
        row["kind"]
        for (thread, version), row in sorted(tables["operation"].items())
        if thread == shown.thread and version > shown.version and row["actor"] == "user"
    ]
    assert since in ([], *([kind] for kind in KINDS[talk.wished]))
    talk.done = bool(since)


def _check_page(page: PageClient, talk: Talk) -> bool:
    """The page shows what it showed, what was cut off is marked and can be dealt with, and the next message works."""
    assert talk.shown is not None
    shown = Shown.on(page)
    if not talk.done:
        assert shown.settled == talk.shown.settled
    run = page.look()["run"] or {}
    assert run.get("state") in (None, "interrupted", "stopped")
    if run.get("state") == "interrupted":
        _deal_with_it(page, shown.messages[-1], go_on=len(talk.acknowledged) % 2 == 1)
    final = f"{page.thread} is still here?".translate(str.maketrans("0123456789", "ghijklmnop"))  # no sum for the demo
    answered = page.say(final)
    assert [answered["messages"][-2]["text"], answered["run"]] == [final, None]
    return run.get("state") == "interrupted"


def _deal_with_it(page: PageClient, last: JSON, *, go_on: bool) -> None:
    """What the page offers: a cut-off answer is continued, a question without one is asked again; or it is dismissed."""
    if not go_on:
        page.act("transcript", "dismiss")
        assert page.look()["run"] is None
        return
    is_partial = last["role"] == "assistant" and last["state"] == "partial"
    page.act("transcript", "continue" if is_partial else "retry")
    page.stop()
    after = page.look()
    assert (after["run"] or {}).get("state") in (None, "stopped")
    assert not is_partial or last["id"] in [message["id"] for message in after["messages"]]
