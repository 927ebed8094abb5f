"""People who keep a fleet busy: they ask, decide about tools, stop, save and restore, each at whatever server answers."""

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import httpx

from agent.tools.decisions import STOPPED_TEXT
from checkpoints import Message, RunState
from checkpoints.upkeep import verification
from tests.app_process import PATIENCE
from tests.fakes.server import JSON
from tests.faults.fleet import WORDS, Fleet, Question, find_words, wait_until
from tests.faults.page import NotAnswered, PageClient

PEOPLE = 8
TURNS = 4  # of a conversation, until its person begins another
SEARCH_SHARE, STOP_SHARE, SAVE_SHARE, RESTORE_SHARE = 0.4, 0.25, 0.4, 0.25
MAX_SECONDS_BEFORE_STOP = 1.5


@dataclass
class Conversation:
    """A conversation as its person knows it: all of it was acknowledged."""

    thread_id: str
    questions: list[str] = field(default_factory=list)
    saved: dict[str, int] = field(default_factory=dict)  # the number of the questions, by the name of the checkpoint


@dataclass
class People:
    """People who do one thing after the other until the block ends."""

    fleet: Fleet
    chance: random.Random
    asked: list[Question] = field(default_factory=list)
    stopped: set[str] = field(default_factory=set)  # the runs that somebody has asked to stop
    conversations: list[Conversation] = field(default_factory=list)
    refusals: Counter[str] = field(default_factory=Counter)  # what a page was told instead
    done: Counter[str] = field(default_factory=Counter)  # what was acknowledged beside the questions
    outages: int = 0  # of the database: an answer may fail in one, and never without
    failures: list[BaseException] = field(default_factory=list)  # of the people's threads
    _open: dict[int, Question] = field(default_factory=dict)  # the last one of each person
    _threads: list[threading.Thread] = field(default_factory=list)
    _is_over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        for number in range(PEOPLE):
            chance = random.Random(self.chance.random())
            self._threads.append(threading.Thread(target=self._live, args=(number, chance), daemon=True))
            self._threads[-1].start()
        wait_until(lambda: len(self._open) == PEOPLE)
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until everybody has the answer to their last question."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert not self.failures, self.failures

    def choose(self, chance: random.Random) -> Question:
        """One of the questions that were asked last."""
        return chance.choice([*self._open.values()])

    def wait_for_answers(self) -> None:
        """Wait until what was asked last has its answer."""
        last = [*self._open.values()]
        wait_until(lambda: all(self.fleet.is_at_rest(each.run_id) for each in last), pause=0.2)

    def _live(self, number: int, chance: random.Random) -> None:
        try:
            self._live_on(number, chance)
        except BaseException as error:
            self.failures.append(error)
            raise

    def _live_on(self, number: int, chance: random.Random) -> None:
        person = _Person(self, [browser.tab() for browser in self.fleet.browsers], chance)
        turns = 0
        while not self._is_over.is_set():
            text = f"Search for q{number}t{turns}" if chance.random() < SEARCH_SHARE else f"Go on, {number}.{turns}"
            for question in person.live_turn(text, begins_new=turns % TURNS == 0):
                self._open[number] = question
                self.asked.append(question)
            turns += 1
        for page in person.pages:
            page.close()


class _Person:
    """One person, with a page at each server."""

    def __init__(self, people: People, pages: list[PageClient], chance: random.Random) -> None:
        self.pages = pages
        self._people, self._fleet, self._chance = people, people.fleet, chance
        self._conversation: Conversation | None = None

    def live_turn(self, text: str, *, begins_new: bool) -> Iterator[Question]:
        """Ask, and do with the answer what people do. The questions and the decisions come as they are acknowledged."""
        if begins_new:
            self._conversation = None
        yield (question := self._ask(text))
        chance = self._chance
        if chance.random() < STOP_SHARE:
            time.sleep(chance.uniform(0, MAX_SECONDS_BEFORE_STOP))
            self._stop(question)
        self._wait_for_end(question)
        if (run := self._fleet.find_run(question.run_id)) and run.state is RunState.WAITING:
            yield (decision := self._allow(question))
            self._wait_for_end(decision)
        if chance.random() < SAVE_SHARE:
            self._save(f"after {text}")
        if chance.random() < RESTORE_SHARE and self._known.saved:
            self._restore(chance.choice([*self._known.saved]))

    @property
    def _known(self) -> Conversation:
        assert self._conversation is not None
        return self._conversation

    def _wait_for_end(self, question: Question) -> None:
        try:
            wait_until(partial(self._fleet.is_at_rest, question.run_id), pause=0.2)
        except AssertionError:
            raise AssertionError(f"{question} has no end: {self._fleet.find_run(question.run_id)}") from None

    def _ask(self, text: str) -> Question:
        """Send until a server acknowledges, as a page does: the same request, at any server."""
        request_id = str(uuid.uuid4())

        def send(page: PageClient) -> bool:
            reply = page.send(text, request_id=request_id)
            if not reply["ok"]:
                self._people.refusals[str(reply.get("text"))] += 1
                return False
            if self._conversation is None:
                assert page.thread is not None
                self._conversation = Conversation(page.thread)
                self._people.conversations.append(self._conversation)
            return True

        self._repeat(send, text)
        self._known.questions.append(text)
        return Question(self._known.thread_id, request_id, text)

    def _stop(self, question: Question) -> None:
        self._people.stopped.add(question.run_id)

        def stop(page: PageClient) -> bool:
            page.stop()
            return True

        self._repeat(stop, "stop")
        self._people.done["stops"] += 1

    def _allow(self, question: Question) -> Question:
        """Allow the call that waits, at any server, until one has acknowledged it."""
        request_id = str(uuid.uuid4())

        def decide(page: PageClient) -> bool:
            shown = page.shown("transcript")
            waiting = [each for message in shown["messages"] for each in message["tools"] if each["status"] == "waiting"]
            if waiting:
                about = {"version": shown["version"], "call": waiting[0]["id"], "kind": "allow"}
                page.request_action("transcript", {"type": "decide", "request_id": request_id, **about})
            return self._fleet.find_run(request_id) is not None

        self._repeat(decide, f"allowed: {question}")
        self._people.done["approvals"] += 1
        return Question(question.thread_id, request_id, waited=question.run_id)

    def _save(self, name: str) -> None:
        request_id = str(uuid.uuid4())

        def save(page: PageClient) -> bool:
            page.save(name, request_id=request_id)
            return name in [each["name"] for each in page.checkpoints()]

        self._repeat(save, f"saved: {name}")
        self._known.saved[name] = len(self._known.questions)
        self._people.done["saves"] += 1

    def _restore(self, name: str) -> None:
        """Go back to a checkpoint. What a page then shows is acknowledged."""
        known, request_id = self._known, str(uuid.uuid4())
        kept = known.saved[name]
        self._fleet.note_left_messages(known.thread_id)

        def restore(page: PageClient) -> bool:
            listed = {each["name"]: each["id"] for each in page.shown("history")["checkpoints"]}
            page.restore(listed[name], request_id=request_id)
            return _list_questions(page.look()) == known.questions[:kept]

        self._repeat(restore, f"restored: {name}")
        del known.questions[kept:]
        known.saved = {each: count for each, count in known.saved.items() if count <= kept}
        self._people.done["restores"] += 1

    def _repeat(self, act: Callable[[PageClient], bool], what: str) -> None:
        """Do something at any server until it is acknowledged."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            page = self._chance.choice(self.pages)
            page.thread = self._conversation.thread_id if self._conversation else None
            with suppress(NotAnswered, httpx.HTTPError):
                page.look()
                if act(page):
                    return
            time.sleep(0.05)
        raise AssertionError(f"no server has acknowledged “{what}”: {self._people.refusals}")


def _list_questions(shown: JSON) -> list[str]:
    return [each["text"] for each in shown["messages"] if each["role"] == "user"]


def expect_whole(fleet: Fleet, people: People, allowed: Collection[RunState]) -> Counter[RunState]:
    """Everything acknowledged is there once, no tool ran twice, and the database is whole. Return the runs by state."""
    states: Counter[RunState] = Counter()
    for question in people.asked:
        run = fleet.runs.get_run(question.run_id)
        assert run is not None, question
        own = fleet.list_of_run(question)
        assert [read_text(each) for each in own if each.type == "human"] == [question.text][: bool(question.text)]
        results = [each.body["data"]["tool_call_id"] for each in own if each.type == "tool"]
        assert len(results) == len(set(results))
        if run.state is RunState.DONE:
            answer = [place for _, place in find_words(read_text(own[-1]))]
            assert answer == list(range(WORDS)), question
            assert STOPPED_TEXT not in map(read_text, own), "a tool was cut off, and its answer went on"
        if question.run_id not in people.stopped or run.state is not RunState.STOPPED:
            states[run.state] += 1
    _expect_known(fleet, people)
    searched = Counter(request["query"] for request in fleet.search.requests)
    assert [query for query, count in searched.items() if count > 1] == []
    frozen = sum(each.log.count("this one was frozen") for each in fleet.processes)  # by a busy machine: its tools are lost
    late = {RunState.INTERRUPTED} if states[RunState.INTERRUPTED] <= frozen else set()
    assert states.keys() <= {*allowed, *late}, (states, [each.log[-6000:] for each in fleet.processes])
    assert states[RunState.FAILED] <= people.outages * PEOPLE, states
    assert verification.verify(fleet.store.database).damages == ()
    return states


def _expect_known(fleet: Fleet, people: People) -> None:
    """Every conversation stands where its person has left it: with their questions, and with their checkpoints."""
    for known in people.conversations:
        path = fleet.store.list_messages(known.thread_id)
        assert [read_text(each) for each in path if each.type == "human"] == known.questions
        assert [each.name for each in fleet.store.list_checkpoints(known.thread_id)] == [*known.saved]


def searched_results(fleet: Fleet, asked: Collection[Question]) -> list[str]:
    """The results of all tools."""
    return [read_text(each) for question in asked for each in fleet.list_of_run(question) if each.type == "tool"]


def read_text(message: Message) -> str:
    return str(message.langchain.text)
