"""kill -9 at random moments of a conversation: what was said to be there is there afterwards, once, and it goes on."""

import json
import os
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.exceptions import WebSocketException

from tests.faults.page import JSON, Frames, NotAnswered, PageClient
from tests.servers import Server

ROUNDS = int(os.environ.get("KILL_ROUNDS", "25"))
QUESTIONS = ("What is 12 * (3 + 4)?", "Show me a piece of Python", "Tell me something long", "And what is 7*8 and 2+2?")


class Talk:
    """One person at the page until the server dies: what they were told is done, and what hangs in the air.

    `sent` are the user's messages of the conversation as the page last said; `maybe` the same, had the wish that was never
    answered been carried out.
    """

    def __init__(self, page: PageClient, number: int, chance: random.Random) -> None:
        self.page = page
        self.frames = Frames()
        self.acknowledged: list[str] = []
        self.sent: list[str] = []
        self.maybe: list[str] = []
        self.saved: dict[str, list[str]] = {}
        self._number = number
        self._chance = chance

    def until_killed(self) -> None:
        try:
            self._send()
            with self.page.following() as self.frames:
                while True:
                    self._something()
        except (NotAnswered, OSError, WebSocketException):
            pass

    def _something(self) -> None:
        if self._chance.random() < 0.7:
            self._wait_for_rest()
        wish = self._chance.random()
        if wish < 0.65:
            self._wait_for_rest()
            self._send()
        elif wish < 0.85 or not self.saved:
            self._save()
        else:
            self._restore()

    def _send(self) -> None:
        text = f"{self._number}.{len(self.acknowledged)} {self._chance.choice(QUESTIONS)}"
        self.page.look()
        self.maybe = [*self.sent, text]
        reply = self.page.send(text)
        assert reply["ok"], reply
        self.sent = self.maybe
        self.acknowledged.append(text)

    def _save(self) -> None:
        name = f"{self._number}/{len(self.saved)}"
        self.page.look()
        self.page.save(name)
        self.saved[name] = list(self.sent)

    def _restore(self) -> None:
        chosen = self._chance.choice(self.page.checkpoints())
        self.maybe = self.saved[chosen["name"]]
        answer = self.page.restore(chosen["id"])
        if "toast" not in answer["head"]["data"]:
            self.sent = self.maybe
        self.saved = {name: self.saved[name] for name in (each["name"] for each in self.page.checkpoints())}

    def _wait_for_rest(self) -> None:
        while (self.page.look()["run"] or {}).get("state") == "running":
            time.sleep(0.03)

    def shown(self) -> list[JSON]:
        """The messages that the socket showed as committed."""
        return [frame["message"] for frame in self.frames.seen if frame["k"] in ("start", "message") and frame["message"]]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path / "data", DEMO_SECONDS_PER_TOKEN="0.01") as server:
        yield server


def test_nothing_that_was_acknowledged_is_lost_when_the_server_is_killed(server: Server, tmp_path: Path) -> None:
    seed = int(os.environ.get("KILL_SEED", time.time_ns() % 10**6))
    print(f"KILL_SEED={seed}")  # noqa: T201  (pytest shows it beside a failure)
    chance = random.Random(seed)
    browser = PageClient(server.link)
    interrupted = partial = 0
    for number in range(ROUNDS):
        page = browser.tab()
        page.thread = None
        talk = Talk(page, number, chance)
        killer = threading.Timer(chance.uniform(0.05, 1.7), server.kill)
        killer.start()
        talk.until_killed()
        killer.join()
        server.restart()
        _check_rows(tmp_path / "data" / "waymark.db", talk)
        if page.thread is not None:
            state = _check_page(page, talk)
            interrupted += state is not None
            partial += state == "partial"
        page.close()
    browser.close()
    assert interrupted >= ROUNDS // 8, "the kills never came while an answer was written: the test has lost its meaning"
    print(f"{interrupted} answers interrupted, {partial} of them with text")  # noqa: T201


def _check_rows(file: Path, talk: Talk) -> None:
    """Every acknowledged message is there once; nothing hangs in the air; what the socket showed is what is stored."""
    with sqlite3.connect(file) as connection:
        rows = connection.execute("SELECT id, thread_id, parent_id, depth, body, status FROM message").fetchall()
        problems = connection.execute("PRAGMA integrity_check").fetchall()
        heads = connection.execute("SELECT head_id FROM branch WHERE head_id IS NOT NULL").fetchall()
        running = connection.execute("SELECT count(*) FROM run WHERE state = 'running'").fetchone()[0]
    connection.close()
    by_id = {row[0]: row for row in rows}
    texts = [json.loads(row[4])["data"]["content"] for row in rows]
    assert problems == [("ok",)]
    assert running == 0
    for text in talk.acknowledged:
        assert texts.count(text) == 1, text
    for row in rows:
        parent = by_id.get(row[2])
        assert (row[3] == 0) if row[2] is None else (parent is not None and parent[1] == row[1] and parent[3] == row[3] - 1)
    assert all(head in by_id for (head,) in heads)
    for message in talk.shown():
        assert json.loads(by_id[message["id"]][4])["data"]["content"] == message["text"]


def _check_page(page: PageClient, talk: Talk) -> str | None:
    """The page shows what it should, what was cut off is marked and can be dealt with, and the next message works."""
    shown = page.look()
    sent = [message["text"] for message in shown["messages"] if message["role"] == "user"]
    assert sent in (talk.sent, talk.maybe)
    assert set(talk.saved) <= {each["name"] for each in page.checkpoints()} or sent != talk.sent
    state = None
    assert (shown["run"] or {}).get("state") in (None, "interrupted", "stopped")
    if shown["run"] and shown["run"]["state"] == "interrupted":
        last = shown["messages"][-1]
        state = "partial" if last["state"] == "partial" else "nothing yet"
        # What the page offers: a cut-off answer is continued, a question without one is asked again; or it is dismissed.
        if len(talk.acknowledged) % 2:
            page.act("transcript", "continue" if state == "partial" else "retry")
            page.stop()
            after = page.look()
            assert (after["run"] or {}).get("state") in (None, "stopped")
            assert last["role"] != "assistant" or state != "partial" or last["id"] in [m["id"] for m in after["messages"]]
        else:
            page.act("transcript", "dismiss")
            assert page.look()["run"] is None
    final = f"{page.thread} is still here?"
    answered = page.say(final)
    assert [answered["messages"][-2]["text"], answered["run"]] == [final, None]
    assert [m["text"] for m in answered["messages"] if m["role"] == "user"] == [*sent, final]
    return state
