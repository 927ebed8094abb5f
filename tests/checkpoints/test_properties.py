"""Whatever is done in whatever order, on both databases, a store is what plain Python says it should be."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path as File
from typing import Any, Protocol

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from checkpoints import Caller, CheckpointManager, ConflictError, Database, Draft, Runs, RunState, StateError, Store
from checkpoints.interchange import reading, transfer, waymark
from checkpoints.rows import run_rows, thread_rows
from checkpoints.storage import schema
from checkpoints.upkeep import verification
from checkpoints.values import serde
from tests.checkpoints.model import ORDINARY, THREAD, Conversation, Export, Path, Run, Said
from tests.checkpoints.tables import View, equal, said, written
from tests.conftest import Clock
from tests.rounds import Rounds

WHICH = st.integers(0, 63)
HOW_MANY = st.integers(1, 3)
CLOCK_STEPS = [timedelta(hours=1), -timedelta(hours=1), timedelta(days=365), -timedelta(days=365)]
THREADS = 3  # at most, in one example


def any_one(_: Conversation) -> bool:
    return True


def has_branches(model: Conversation) -> bool:
    return len(model.branches()) > 1 and not model.running


def has_checkpoints_at_rest(model: Conversation) -> bool:
    return bool(model.shown()) and not model.running


def is_running(model: Conversation) -> bool:
    return model.running is not None


@dataclass(frozen=True)
class How:
    """How something is asked for: `back` versions ago is what the caller saw (None: they do not say), maybe twice."""

    back: int | None
    twice: bool


HOW = st.builds(How, st.sampled_from([None, None, None, None, None, None, 0, 0, 1, 3]), st.booleans())


@dataclass
class Talk:
    """A thread of the store beside its model."""

    id: str
    model: Conversation
    states: dict[tuple[int, ...], Any] = field(default_factory=dict)  # by the versions of the operations that stand


class Place(Protocol):
    """A database that can be emptied, and opened as often as wanted."""

    def open(self) -> Database: ...
    def empty(self) -> None: ...


class Conversations(RuleBasedStateMachine):
    """The store and the model, side by side."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        place.empty()
        self.clock, self.numbers, self.view = Clock(), count(), View()
        self.open()
        self.talks: list[Talk] = []
        self.documents: list[tuple[waymark.Document, Export]] = []
        self.imported: dict[str, list[Talk]] = {}
        self.wishes: list[tuple[Callable[[], Any], int]] = []
        self.tables = self.before = self.view.look(self.store)

    def open(self) -> None:
        self.database = self.place.open()
        self.store = Store(self.database, now=self.clock)
        self.runs = Runs(self.store)

    def teardown(self) -> None:
        try:
            assert verification.verify(self.database).damages == ()
        finally:
            self.database.close()

    # what rules choose from

    def fresh(self, number: int) -> list[Said]:
        return [Said(f"text {next(self.numbers)}", ("human", "ai")[index % 2]) for index in range(number)]

    def talk(self, where: int, *, suits: Callable[[Conversation], Any] = lambda model: not model.running) -> Talk:
        """Mostly one that is in the list and at rest (or else suits), sometimes any."""
        fit = [talk for talk in self.talks if suits(talk.model) and not talk.model.thread["deleted"]]
        found = fit if fit and where % 8 else self.talks
        return found[where // 8 % len(found)]

    def message(self, talk: Talk, which: int) -> Path | None:
        """Mostly one of the conversation as it stands, sometimes any; None before there is one."""
        model = talk.model
        ways = list(model.tree) if which % 4 == 3 else [model.head[:end] for end in range(1, len(model.head) + 1)]
        return ways[which % len(ways)] if ways else None

    def checkpoint(self, talk: Talk, which: int, listed: Callable[[Conversation], dict[int, Any]]) -> int:
        """Mostly one that is listed, sometimes any."""
        numbers = list(talk.model.all("checkpoint") if which % 5 == 4 else listed(talk.model)) or [0]
        return numbers[which % len(numbers)]

    def branch(self, talk: Talk, which: int) -> int:
        numbers = list(talk.model.all("branch") if which % 5 == 4 else talk.model.branches())
        return numbers[which % len(numbers)]

    def now(self) -> int:
        return thread_rows.from_time(self.clock.time)

    # how a wish is carried out by both

    def by(self, talk: Talk, how: How) -> Caller:
        version = None if how.back is None else max(0, talk.model.version - how.back)
        return Caller(expected_version=version, request_id=f"wish {next(self.numbers)}")

    def wish(self, talk: Talk, verb: str, how: How, **given: Any) -> Any:
        """The same of the model and of the store: both do it, or both refuse with the same error."""
        by = self.by(talk, how)
        arguments = self.view.arguments(self.tables, talk.id, given)
        # The store is looked up anew each time: a wish that is repeated may have been made before a restart.
        call = lambda: getattr(self.store, verb)(talk.id, **arguments, caller=by)  # noqa: E731
        return self.both(partial(getattr(talk.model, verb), **given, caller=by), call, how.twice)

    def both(self, expected: Callable[[], Any], call: Callable[[], Any], twice: bool = False) -> Any:
        """What the model and the store answer; None if they refuse. A refusal changes nothing."""
        try:
            made = expected()
        except StateError as error:
            self.refuses(call, type(error))
            assert self.view.look(self.store) == self.tables
            return None
        receipt = call()
        self.see()
        if twice:
            self.again(call, receipt.version)
        return made, receipt

    def refuses(self, call: Callable[[], Any], kind: type[StateError]) -> None:
        with pytest.raises(kind) as caught:
            call()
        assert type(caught.value) is kind

    def again(self, call: Callable[[], Any], version: int) -> None:
        """The same client operation id twice has one effect (I10)."""
        receipt = call()
        assert (receipt.repeated, receipt.version) == (True, version)
        assert self.view.look(self.store) == self.tables
        self.wishes.append((call, version))

    def see(self) -> None:
        self.before, self.tables = self.tables, self.view.look(self.store)

    def added(self, thread_id: str, model: Conversation) -> None:
        self.talks.append(Talk(thread_id, model))
        self.see()

    def room(self) -> bool:
        return len(self.talks) < THREADS

    @initialize(filled=st.booleans())
    def begin(self, filled: bool) -> None:
        """Often with something to move in: an alternative, another branch, and checkpoints."""
        self.added(self.store.create_thread().id, Conversation())
        if filled:
            how = How(None, twice=False)
            self.append(1, 3, titled=False, how=how)
            self.save(1, 0, how)
            self.use_tools(1, 2, how)
            self.save(1, 1, how)
            self.edit(1, 2, 2, how)
            self.fork(1, 1, named=True, how=how)
            self.append(1, 2, titled=True, how=how)
            self.save(1, 2, how)

    # conversations

    @precondition(room)
    @rule()
    def new_thread(self) -> None:
        self.added(self.store.create_thread().id, Conversation())

    @rule(where=WHICH, verb=st.sampled_from(["clear", "clear_checkpoints", "prune_branches", "delete_thread"]), how=HOW)
    def take_much_away(self, where: int, verb: str, how: How) -> None:
        self.wish(self.talk(where), verb, how)

    @rule(where=WHICH, how=HOW)
    def rename_thread(self, where: int, how: How) -> None:
        self.wish(self.talk(where, suits=any_one), "rename_thread", how, title=f"title {next(self.numbers)}")

    # messages

    @rule(where=WHICH, number=HOW_MANY, titled=st.booleans(), how=HOW)
    def append(self, where: int, number: int, titled: bool, how: How) -> None:
        title = f"title {next(self.numbers)}" if titled else ""
        self.wish(self.talk(where), "append", how, messages=self.fresh(number), title=title)

    @rule(where=WHICH, number=st.integers(1, 2), how=HOW)
    def use_tools(self, where: int, number: int, how: How) -> None:
        question, asking, *results = self.fresh(2 + number)
        calls = tuple(f"call {result.text}" for result in results)
        answers = [Said(result.text, "tool", answers=call) for result, call in zip(results, calls, strict=True)]
        self.wish(self.talk(where), "append", how, messages=[question, asking._replace(calls=calls), *answers])

    @rule(where=WHICH, which=WHICH, number=st.integers(0, 2), how=HOW)
    def edit(self, where: int, which: int, number: int, how: How) -> None:
        talk = self.talk(where)
        place = self.message(talk, which)
        self.wish(talk, "append", how, messages=self.fresh(number), after=place[:-1] or None if place else None)

    @rule(where=WHICH, which=WHICH, drops=st.sets(st.integers(0, 8), max_size=3), how=HOW)
    def replace(self, where: int, which: int, drops: set[int], how: How) -> None:
        talk = self.talk(where)
        if place := self.message(talk, which):
            head = talk.model.head
            drop = {head[: index + 1] for index in drops if len(place) <= index < len(head)}
            new = self.fresh(1)[0]._replace(type=place[-1].type if place[-1].type != "tool" else "ai")
            self.wish(talk, "replace", how, message_id=place, new=new, drop=drop)

    @rule(where=WHICH, which=WHICH, how=HOW)
    def choose(self, where: int, which: int, how: How) -> None:
        talk = self.talk(where)
        tree = list(talk.model.tree)
        if tree:
            self.wish(talk, "choose", how, message_id=tree[which % len(tree)])

    # branches

    @rule(where=WHICH, which=WHICH, named=st.booleans(), how=HOW)
    def fork(self, where: int, which: int, named: bool, how: How) -> None:
        talk = self.talk(where)
        name = f"branch {next(self.numbers)}" if named else ""
        self.wish(talk, "fork", how, message_id=self.message(talk, which) if which else None, name=name)

    @precondition(room)
    @rule(where=WHICH, which=WHICH, how=HOW)
    def fork_thread(self, where: int, which: int, how: How) -> None:
        talk = self.talk(where)
        done = self.wish(talk, "fork_thread", How(None, how.twice), message_id=self.message(talk, which))
        if done:
            self.added(done[1].result, done[0])

    @rule(where=WHICH, which=WHICH, how=HOW)
    def switch(self, where: int, which: int, how: How) -> None:
        talk = self.talk(where, suits=has_branches)
        self.wish(talk, "switch", how, branch_id=self.branch(talk, which))

    @rule(where=WHICH, which=WHICH, how=HOW)
    def rename_branch(self, where: int, which: int, how: How) -> None:
        talk = self.talk(where, suits=any_one)
        name = f"branch {next(self.numbers)}" if which % 4 else " "
        self.wish(talk, "rename_branch", how, branch_id=self.branch(talk, which), name=name)

    @rule(where=WHICH, which=WHICH, how=HOW)
    def delete_branch(self, where: int, which: int, how: How) -> None:
        talk = self.talk(where, suits=has_branches)
        self.wish(talk, "delete_branch", how, branch_id=self.branch(talk, which))

    # checkpoints

    @rule(where=WHICH, which=WHICH, how=HOW)
    def save(self, where: int, which: int, how: How) -> None:
        named = {0: None, 1: f"Checkpoint {which % 9}", 2: f"name {next(self.numbers)}"}[which % 3]
        extra = {"step": which, "notes": ["a", None]} if which % 2 else {}
        self.wish(self.talk(where, suits=any_one), "save", how, name=named, description="why", extra=extra, time=self.now())

    @rule(where=WHICH, which=WHICH, number=st.integers(0, 2), how=HOW)
    def save_what_was_compacted(self, where: int, which: int, number: int, how: How) -> None:
        talk = self.talk(where)
        keep, new = which % (len(talk.model.head) + 1), self.fresh(number)
        self.wish(talk, "save", how, name="compacted", keep=keep, new=new, time=self.now())

    @rule(where=WHICH, which=WHICH, number=st.integers(1, 2))
    def save_a_state_through_the_manager(self, where: int, which: int, number: int) -> None:
        talk = self.talk(where)
        keep, new = which % (len(talk.model.head) + 1), self.fresh(number)
        manager = CheckpointManager(self.store, talk.id)
        messages = [serde.to_message(written(each).body) for each in [*talk.model.head[:keep], *new]]
        model = partial(talk.model.save, name="state", extra={"k": 1}, keep=keep, new=new, time=self.now())
        self.both(model, lambda: manager.save_checkpoint({"messages": messages, "k": 1}, "state"))

    @rule(where=WHICH, which=WHICH, keep_future=st.booleans(), how=HOW)
    def restore(self, where: int, which: int, keep_future: bool, how: How) -> None:
        """A restore is exactly one saved state, tool messages included (I5)."""
        talk = self.talk(where, suits=has_checkpoints_at_rest)
        number = self.checkpoint(talk, which, Conversation.shown)
        told, expected = None, (0, 0)
        if number in talk.model.shown() and not talk.model.thread["deleted"]:
            identifier = self.view.ids(self.tables, talk.id)["checkpoint", number]
            told, expected = self.store.preview_removal(talk.id, identifier), talk.model.leaving(number)
        saved = talk.model.all("checkpoint").get(number, {}).get("path")
        if self.wish(talk, "restore", how, checkpoint_id=number, keep_future=keep_future):
            assert tuple(self.shown(talk)) == saved
            assert told is not None
            assert (told.messages, told.checkpoints) == expected

    @rule(where=WHICH, which=WHICH, change=st.sampled_from(["name", "description", "pinned", "nothing"]), how=HOW)
    def change_checkpoint(self, where: int, which: int, change: str, how: How) -> None:
        talk = self.talk(where, suits=Conversation.listed)
        values = {"name": f"name {which}", "description": f"about {which}", "pinned": which % 2 == 0}
        given = {name: value for name, value in values.items() if name == change}
        self.wish(talk, "change_checkpoint", how, checkpoint_id=self.checkpoint(talk, which, Conversation.listed), **given)

    @rule(where=WHICH, which=WHICH, how=HOW)
    def delete_checkpoint(self, where: int, which: int, how: How) -> None:
        """Deleting one checkpoint changes no other (I6)."""
        talk = self.talk(where, suits=Conversation.listed)
        if done := self.wish(
            talk, "delete_checkpoint", how, checkpoint_id=self.checkpoint(talk, which, Conversation.listed)
        ):
            now, then = self.tables["checkpoint"], self.before["checkpoint"]
            assert [key for key in now if now[key] != then[key]] == [(done[1].result,)]

    # back and forth

    @rule(where=WHICH, times=HOW_MANY, how=HOW)
    def undo(self, where: int, times: int, how: How) -> None:
        talk = self.talk(where, suits=Conversation.undoable)
        for _ in range(times):
            self.wish(talk, "undo", how)

    @rule(where=WHICH, times=HOW_MANY)
    def undo_and_redo(self, where: int, times: int) -> None:
        talk = self.talk(where, suits=lambda model: model.undoable() and not model.running)
        for verb in [*["undo"] * times, *["redo"] * times]:
            self.wish(talk, verb, How(None, twice=False))

    @precondition(lambda self: any(talk.model.redoable() for talk in self.talks))
    @rule(where=WHICH, times=HOW_MANY, how=HOW)
    def redo(self, where: int, times: int, how: How) -> None:
        talk = self.talk(where, suits=Conversation.redoable)
        for _ in range(times):
            self.wish(talk, "redo", how)

    @rule(how=HOW)
    def undo_what_hid_a_thread(self, how: How) -> None:
        for talk in self.talks:
            if talk.model.thread["deleted"]:
                self.wish(talk, "redo" if talk.model.redoable() else "undo", how)

    @precondition(lambda self: self.wishes)
    @rule(which=WHICH)
    def repeat_an_old_wish(self, which: int) -> None:
        call, version = self.wishes[which % len(self.wishes)]
        receipt = call()
        assert (receipt.repeated, receipt.version) == (True, version)
        assert self.view.look(self.store) == self.tables

    # transfer

    @rule(where=WHICH)
    def export(self, where: int) -> None:
        talk = self.talk(where)
        if not talk.model.thread["deleted"]:
            made = reading.read_document(transfer.export(self.store, talk.id))
            self.documents.append((made, talk.model.export()))

    @precondition(lambda self: self.documents and self.room())
    @rule(which=WHICH)
    def import_thread(self, which: int) -> None:
        made, expected = self.documents[which % len(self.documents)]
        there = [talk for talk in self.imported.get(made.sha256, []) if not talk.model.thread["deleted"]]
        receipt = transfer.import_thread(self.store, made)
        if there:
            assert receipt.repeated
            assert receipt.result in [talk.id for talk in there]
            assert self.view.look(self.store) == self.tables
            return
        self.added(receipt.result, Conversation.import_thread(expected))
        self.imported.setdefault(made.sha256, []).append(self.talks[-1])

    @precondition(lambda self: self.documents)
    @rule(where=WHICH, which=WHICH, how=HOW)
    def import_into(self, where: int, which: int, how: How) -> None:
        talk, (made, expected) = self.talk(where), self.documents[which % len(self.documents)]
        by = self.by(talk, how)
        call = lambda: self.store.import_into(talk.id, transfer.make_replacement(made), caller=by)  # noqa: E731
        self.both(partial(talk.model.import_into, expected, caller=by), call, how.twice)

    @precondition(lambda self: self.documents)
    @rule(where=WHICH, which=WHICH, how=HOW)
    def merge(self, where: int, which: int, how: How) -> None:
        talk, (made, expected) = self.talk(where), self.documents[which % len(self.documents)]
        by = self.by(talk, how)
        done = self.both(
            partial(talk.model.merge, expected, caller=by),
            lambda: transfer.merge_document(self.store, talk.id, made, caller=by),
        )
        if done:
            assert done[1].repeated is not done[0]
            assert transfer.merge_document(self.store, talk.id, made).repeated  # the second time there is nothing new

    # runs

    @rule(where=WHICH, which=WHICH, asked=st.booleans(), elsewhere=st.booleans(), how=HOW)
    def begin_a_run(self, where: int, which: int, asked: bool, elsewhere: bool, how: How) -> None:
        self.start(self.talk(where), which, asked, elsewhere, how)

    def start(self, talk: Talk, which: int, asked: bool, elsewhere: bool, how: How) -> None:
        by, message = self.by(talk, how), self.fresh(1)[0] if asked else None
        after = {"after": self.message(talk, which)} if elsewhere else {}
        begin = partial(
            self.runs.begin_run,
            talk.id,
            written(message) if message else None,
            **self.view.arguments(self.tables, talk.id, after),
            caller=by,
        )
        model = partial(talk.model.begin, message, run_id=by.request_id or "", title="asked", **after, caller=by)
        if self.both(model, partial(begin, title="asked")) and how.twice:
            assert begin().id == by.request_id
            assert self.view.look(self.store) == self.tables

    @precondition(room)
    @rule()
    def begin_a_run_in_a_new_thread(self) -> None:
        message, request = self.fresh(1)[0], f"wish {next(self.numbers)}"
        model = Conversation()
        model.begin(message, run_id=request)
        self.added(self.runs.begin_run(None, written(message), caller=Caller(request_id=request)).thread_id, model)

    def run_of(self, talk: Talk) -> tuple[Run, Any] | None:
        """The newest run, running or not, as the model and the store have it."""
        if not talk.model.runs:
            return None
        run = talk.model.runs[-1]
        with self.database.begin_read() as connection:
            return run, run_rows.parse_run(connection.execute(sa.select(schema.run).where(schema.run.c.id == run.id)).one())

    @precondition(lambda self: any(talk.model.runs for talk in self.talks))
    @rule(where=WHICH)
    def commit_what_the_agent_said(self, where: int) -> None:
        self.commit(self.talk(where, suits=is_running))

    def commit(self, talk: Talk) -> None:
        if found := self.run_of(talk):
            run, stored = found
            message = self.fresh(2)[1]
            if run.state == "running":
                talk.model.say(run, [message])
                assert self.runs.commit_message(stored, written(message))[1] == talk.model.version
            else:
                self.refuses(lambda: self.runs.commit_message(stored, written(message)), ConflictError)
            self.see()

    @precondition(lambda self: any(talk.model.runs for talk in self.talks))
    @rule(where=WHICH)
    def keep_a_draft(self, where: int) -> None:
        if found := self.run_of(self.talk(where, suits=is_running)):
            draft = f"draft {next(self.numbers)}"
            self.runs.save_drafts({found[0].id: Draft(draft)})
            found[0].draft = draft if found[0].state == "running" else ""
            self.see()

    @precondition(lambda self: any(talk.model.runs for talk in self.talks))
    @rule(where=WHICH, state=st.sampled_from([RunState.DONE, RunState.STOPPED, RunState.FAILED]), more=st.booleans())
    def end_a_run(self, where: int, state: RunState, more: bool) -> None:
        self.end(self.talk(where, suits=is_running), state, more)

    def end(self, talk: Talk, state: RunState, more: bool) -> None:
        if found := self.run_of(talk):
            run, stored = found
            last = [self.fresh(2)[1]] if more else []
            if run.state == "running":
                talk.model.end(run, state, last)
            assert self.runs.end_run(stored, state, last_messages=[written(each) for each in last]) == talk.model.version
            self.see()

    @rule(where=WHICH, which=WHICH, said=HOW_MANY, elsewhere=st.booleans(), undone=st.booleans())
    def answer_while_the_user_does_something(self, where: int, which: int, said: int, elsewhere: bool, undone: bool) -> None:
        """A whole run, which is undone as one; what the user did meanwhile stays, unless it was done to the same rows."""
        talk, how = self.talk(where), How(None, twice=False)
        self.start(talk, which, True, elsewhere, how)
        for _ in range(said):
            self.commit(talk)
        if which % 2:
            self.wish(talk, "rename_thread", how, title=f"title {next(self.numbers)}")
        else:
            self.wish(talk, "save", how, time=self.now())
        self.commit(talk)
        self.end(talk, RunState.DONE, more=which % 3 == 0)
        if undone:
            self.wish(talk, "undo", how)

    def interrupt_left(self) -> None:
        left = [(talk, run) for talk in self.talks for run in talk.model.runs if run.state == "running"]
        for talk, run in left:
            talk.model.end(run, "interrupted", [Said(run.draft, "ai", partial=True)] if run.draft else [])
        assert {run.id for run in self.runs.interrupt_orphans()} == {run.id for _, run in left}
        self.see()

    # the world around

    @rule(step=st.sampled_from([None, *CLOCK_STEPS]))
    def restart_or_turn_the_clock(self, step: timedelta | None) -> None:
        """What was acknowledged is there after a restart, and all of it with the clock stepped (I11)."""
        if step is not None:
            self.clock.turn(step)
            return
        self.database.close()
        self.open()
        self.interrupt_left()

    # what is always true

    @invariant()
    def acknowledged_messages_survive(self) -> None:
        """I1, of everything but the kill: no message that was there is gone or another."""
        assert all(self.tables["message"].get(key) == row for key, row in self.before["message"].items())

    @invariant()
    def every_head_has_a_whole_chain(self) -> None:
        """I2, by parent links alone."""
        messages = {key[0]: row for key, row in self.tables["message"].items()}
        heads = {row["head_id"] for row in self.tables["branch"].values()} - {None}
        for identifier in heads | {row["message_id"] for row in self.tables["checkpoint"].values()}:
            depth, above = messages[identifier]["depth"], messages[identifier]["parent_id"]
            while above is not None:
                assert messages[above]["depth"] == depth - 1
                depth, above = depth - 1, messages[above]["parent_id"]
            assert depth == 0

    @invariant()
    def versions_strictly_increase_and_reads_see_acknowledged_writes(self) -> None:
        """I3: every method that reads says what the model says."""
        then = self.before["thread"]
        for key, thread in self.tables["thread"].items():
            assert thread["version"] >= then.get(key, thread)["version"]
        alive = [talk for talk in self.talks if not talk.model.thread["deleted"]]
        assert {thread.id for thread in self.store.list_threads()} == {talk.id for talk in alive}
        for talk in alive:
            if self.tables["thread"][talk.id,] != then.get((talk.id,)):
                self.reads_are_the_models(talk)

    def shown(self, talk: Talk) -> list[Said]:
        return [said(message.body, message.status) for message in self.store.list_messages(talk.id)]

    def reads_are_the_models(self, talk: Talk) -> None:
        store, model = self.store, talk.model
        with self.database.begin_read():
            path, thread, listed = store.list_messages(talk.id), store.get_thread(talk.id), store.list_checkpoints(talk.id)
            branches, alternatives = store.list_branches(talk.id), store.find_alternatives(talk.id, path)
            redoable, undoable = store.find_redoable(talk.id), store.find_undoable(talk.id)
            states = {checkpoint.position: checkpoint.state for checkpoint in listed[-1:]}
        assert tuple(said(message.body, message.status) for message in path) == model.head
        assert (thread.version, thread.title) == (model.version, model.thread["title"])
        assert [checkpoint.position for checkpoint in listed] == list(model.shown())
        assert [(b.name, length) for b, length in branches] == [
            (b["name"], len(b["head"])) for b in model.branches().values()
        ]
        texts = {
            m.depth: [self.view.paths[each][-1].text for each in alternatives[m.id]] for m in path if m.id in alternatives
        }
        assert texts == model.siblings()
        assert (undoable and undoable.version) == self.version_of(model, model.undoable())
        assert (redoable and redoable.version) == self.version_of(model, model.redoable())
        for number, state in states.items():
            expected = model.all("checkpoint")[number]
            messages = [serde.to_message(written(each).body) for each in expected["path"]]
            assert state == {**expected["extra"], "messages": messages}

    def version_of(self, model: Conversation, entry: Any) -> int | None:
        return next((version for version, each in enumerate(model.log, 1) if each is entry), None)

    @invariant()
    def no_update_is_lost(self) -> None:
        """I4: all that was accepted is there, once and in order, and nothing else is."""
        for talk in self.talks:
            equal(self.view, self.tables, talk.id, talk.model)

    @invariant()
    def undo_brings_the_state_before_back(self) -> None:
        """I7: the state depends on the operations that stand, and on nothing else."""
        for talk in self.talks:
            kept = [number for number, entry in enumerate(talk.model.log) if entry.kind in ORDINARY and not entry.undone]
            every = self.view.rows(self.tables, talk.id)
            state = {row: columns for row, columns in every.items() if row == THREAD or not columns["deleted"]}
            assert talk.states.setdefault(tuple(kept), state) == state


class InFile(Place):
    """A SQLite file. A new one is copied from an empty one: making it takes half a second."""

    def __init__(self, folder: File) -> None:
        self.file, self.new = folder / "waymark.db", folder / "new.db"
        Database.open_file(self.new).close()

    def open(self) -> Database:
        database = Database.open_file(self.file)
        sa.event.listen(database.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = OFF"))
        database.engine.dispose()
        return database

    def empty(self) -> None:
        for file in self.file.parent.glob("waymark.db*"):
            file.unlink()
        shutil.copy(self.new, self.file)


class OnServer(Place):
    """A database of a PostgreSQL server."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.broom = sa.create_engine(address, poolclass=sa.NullPool)

    def open(self) -> Database:
        return Database.open_url(self.address)

    def empty(self) -> None:
        names = [table.name for table in reversed(schema.metadata.sorted_tables)]
        with self.broom.begin() as connection:
            connection.exec_driver_sql("; ".join(f"DELETE FROM {name}" for name in names))


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: File) -> Place:
    if request.param == "sqlite":
        return InFile(tmp_path)
    return OnServer(request.getfixturevalue("postgres_url"))


def expect_same_as_model(place: Place, examples: int, steps: int, *, derandomize: bool) -> None:
    chosen = settings(
        derandomize=derandomize,
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: Conversations(place), settings=chosen)  # type: ignore[no-untyped-call]


def test_a_store_is_what_the_plain_model_is(place: Place) -> None:
    expect_same_as_model(place, 4, 30, derandomize=True)  # the same every time; the long run looks for what is new


def test_checkpoints_that_another_branch_lists_are_changed_as_in_the_plain_model(place: Place) -> None:
    both, how = Conversations(place), How(None, twice=True)
    both.begin(filled=True)
    [talk] = both.talks
    both.wish(talk, "fork", how, message_id=None, name="without messages")
    changes: list[tuple[str, dict[str, Any]]] = [
        ("change_checkpoint", {"name": "another name", "description": "why"}),
        ("change_checkpoint", {"pinned": True}),
        ("delete_checkpoint", {}),
    ]
    hidden = talk.model.listed().keys() - talk.model.shown().keys()
    wishes = [(verb, {**given, "checkpoint_id": number}) for number in sorted(hidden) for verb, given in changes]
    assert wishes
    for verb, given in [*wishes, *((verb, {}) for verb in ("undo", "redo", "undo") for _ in wishes)]:
        assert both.wish(talk, verb, how, **given)
        both.no_update_is_lost()
        both.undo_brings_the_state_before_back()
    both.teardown()


@pytest.mark.long
@pytest.mark.parametrize("_", range(8))
def test_a_store_is_what_the_plain_model_is_for_long(place: Place, rounds: Rounds, _: int) -> None:
    expect_same_as_model(place, rounds(250), 50, derandomize=False)
