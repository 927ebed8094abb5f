"""Pages that open at random moments at random servers, and hold what they are told against what is stored."""

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self

from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from checkpoints import Message, MessageStatus, StateError
from tests.app_process import PATIENCE
from tests.fakes.server import JSON
from tests.faults.busy_people import People, read_text
from tests.faults.fleet import Fleet, Question, find_words, wait_until
from tests.faults.page import NotAnswered, PageClient

MAX_DELAY_SECONDS = 3.0  # from the order to open a page until it does


@dataclass(eq=False)
class Reading:
    """One page, from its first frame to the end of the run or to a cut."""

    question: Question
    kinds: list[str] = field(default_factory=list)  # of its frames
    stored: Sequence[str] = ()  # the ids of the messages that it read when it had opened
    views: dict[str, JSON] = field(default_factory=dict)  # of answers, by id, in the order in which they came
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    end: JSON | None = None
    shown: Sequence[str] | None = None  # the ids of the messages that the end brought; None: the page read its panels again
    is_left: bool = False  # the conversation went on before the page had read them
    seen_at: float = 0.0  # when the first frame said that nothing runs
    is_late: bool = False  # the next question was asked before it opened
    _version: int = 0  # of what it read when it had opened
    _stable: str = ""
    _tail: str = ""

    def show(self, frame: JSON) -> None:
        self.kinds.append(frame["kind"])
        self._version = frame["version"] if frame["kind"] == "hello" else self._version
        match frame["kind"]:
            case "hello" if frame["run"] and frame["run"]["id"] != self.question.run_id:
                self.is_late = True
            case "hello" if frame["run"]:
                self._stable, self._tail = frame["run"]["stable"], frame["run"]["tail"]
            case "hello":
                self.seen_at = time.time()
            case "delta":
                self._stable, self._tail = self._stable + frame["stable"], frame["tail"]
            case "start":
                self._stable = self._tail = ""
            case "message":
                self._show_message(frame["message"])
                self._stable = self._tail = ""
            case "end":
                self.end, turn = frame, frame["turn"]
                if turn is not None and turn["base"] <= self._version:
                    self.show_messages(turn["data"]["transcript"]["items"]["messages"], frame["version"])
        words = self._live_words
        self._expect(is_counted(words), f"the text in progress is {words}")

    def show_messages(self, views: Sequence[JSON], version: int) -> None:
        """Show the messages of a turn that has ended, or of the whole conversation."""
        assert self.end is not None
        self.shown, self.is_left = [view["id"] for view in views], version > self.end["version"]

    @property
    def is_over(self) -> bool:
        return self.end is not None or bool(self.seen_at) or self.is_late

    @property
    def _live_words(self) -> list[tuple[int, int]]:
        return find_words(self._stable + self._tail)

    def _show_message(self, view: JSON) -> None:
        if view["role"] != "assistant":
            return
        live, kept = self._live_words, find_words(view["text"])
        if live and view["id"] not in self.views:
            is_begun = kept[: len(live)] == live
            is_cut = view["state"] == "partial" and live[: len(kept)] == kept  # what was sent since the last draft
            self._expect(is_begun or is_cut, f"{live} became {kept}")
        self.views[view["id"]] = view
        self.counts[view["id"]] += 1

    def compare(self, messages: Sequence[Message], state: str, ended_at: float) -> list[str]:
        """Compare with the messages of the run, now that it is at rest, and return what is wrong."""
        answers = {each.id: each for each in messages if each.type == "ai"}
        for message_id, view in self.views.items():
            message = answers.get(message_id)
            self._expect(message is not None, f"{view['text']} is of no message of the run")
            if message is not None:
                is_same = (view["text"].strip(), view["state"]) == (read_text(message).strip(), message.status.value)
                self._expect(
                    is_same, f"{view['text']} ({view['state']}) is stored as {message.body['data']} ({message.status})"
                )
                calls = len(message.body["data"].get("tool_calls") or ()) if message.status is MessageStatus.DONE else 0
                self._expect(self.counts[message_id] <= 1 + calls, f"{message_id} came {self.counts[message_id]} times")
        self._expect([*self.views] == [each for each in answers if each in self.views], "messages are not in order")
        if self.end is not None and not self.is_left:
            known = {*self.views, *self.stored, *(self.shown or ())}
            missing = [each for each in answers.values() if each.id not in known]
            if missing and missing[-1].status is MessageStatus.PARTIAL and state != "done":
                self._compare_cut(missing.pop())
            self._expect(not missing, f"{missing} never came")
        if self.end is not None:
            self._expect(self.end["state"] == state, f"{self.end['state']} of a run that is {state}")
        late = ended_at - self.seen_at if self.seen_at else 0.0
        self._expect(late <= 0, f"a run in progress was shown as none, {late:.2f} s before it was {state}")
        return self.faults

    def _compare_cut(self, message: Message) -> None:
        """Compare an answer that the end of its run has cut off: the page has its text, and reads it with the panels."""
        live, kept = self._live_words, find_words(read_text(message))
        self._expect(live[: len(kept)] == kept or kept[: len(live)] == live, f"{live} was cut off to {kept}")

    def _expect(self, is_so: bool, fault: str) -> None:
        if not is_so:
            self.faults.append(fault)


def is_counted(words: list[tuple[int, int]]) -> bool:
    """Whether these are the first words of one answer, each once and in order."""
    return [place for _, place in words] == list(range(len(words))) and len({answer for answer, _ in words}) <= 1


@dataclass
class Readers:
    """Readers of the questions that people ask, in an event loop of their own until the block ends."""

    fleet: Fleet
    people: People
    chance: random.Random
    found: list[Reading] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)  # of all frames
    opened: int = 0
    _open: list[Reading] = field(default_factory=list)
    _pending: list[Future[None]] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Wait until all have read to an end."""
        try:
            if kind is None:
                wait_until(lambda: all(each.done() for each in self._pending), pause=0.1)
                for each in self._pending:
                    each.result()
        except AssertionError:
            raise AssertionError(f"pages still read: {[(each.question, each.kinds) for each in self._open]}") from None
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(PATIENCE)
            self._loop.close()

    def open(self, count: int) -> None:
        """Open so many pages, each at a moment of its own."""
        self.opened += count
        for _ in range(count):
            self._pending.append(asyncio.run_coroutine_threadsafe(self._open_later(), self._loop))

    async def _open_later(self) -> None:
        await asyncio.sleep(self.chance.uniform(0, MAX_DELAY_SECONDS))
        question = self.people.choose(self.chance)
        while not await self._read(question):
            pass

    async def _read(self, question: Question) -> bool:
        """Read at any server until the run ends. Return whether it did, or the page was cut off."""
        reading = Reading(question)
        self._open.append(reading)
        with suppress(OSError, WebSocketException, TimeoutError, StateError):
            await self._follow(reading, self.chance.choice(self.fleet.browsers))
        self._open.remove(reading)
        if not reading.is_late:
            self.found.append(reading)
        if not reading.is_over:
            await asyncio.sleep(0.1)  # as a page does, before it opens again
        return reading.is_over

    async def _follow(self, reading: Reading, browser: PageClient) -> None:
        thread_id = reading.question.thread_id
        address = f"{browser.origin.replace('http', 'ws')}/api/threads/{thread_id}/events"
        async with connect(address, proxy=None, **browser.socket_options) as socket:
            async for message in socket:
                frame = json.loads(message)
                self.kinds[frame["kind"]] += 1
                if "receipt" in frame:
                    await socket.send(frame["receipt"])
                reading.show(frame)
                if reading.is_over:
                    break
                if not reading.stored:
                    path = await asyncio.to_thread(self.fleet.store.list_messages, thread_id)
                    reading.stored = [each.id for each in path]
        if reading.end is not None and reading.shown is None:
            await self._read_again(reading)

    async def _read_again(self, reading: Reading) -> None:
        """Read the panels, as a page does at an end that brings no changes: until a server answers."""
        while reading.shown is None:
            page = self.chance.choice(self.fleet.browsers).tab()
            page.thread = reading.question.thread_id
            with suppress(NotAnswered):
                found = await asyncio.to_thread(page.look)
                reading.show_messages(found["messages"], found["version"])
            page.close()
            await asyncio.sleep(0.1)

    def compare(self) -> list[str]:
        """Compare all with what is stored, and return what is wrong."""
        faults: list[str] = []
        messages: dict[str, list[Message]] = {}
        for reading in self.found:
            question = reading.question
            run = self.fleet.runs.get_run(question.run_id)
            assert run is not None
            assert run.ended_at is not None
            if question.run_id not in messages:
                waited = Question(question.thread_id, question.waited)
                own = self.fleet.list_of_run(question)
                messages[question.run_id] = [*(self.fleet.list_of_run(waited) if waited.run_id else ()), *own]
            wrong = reading.compare(messages[question.run_id], run.state.value, run.ended_at.timestamp())
            faults += [f"{question}: {each}, after {reading.kinds}" for each in wrong]
        return faults
