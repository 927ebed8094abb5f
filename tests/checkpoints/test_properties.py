"""Whatever is done in whatever order, a store is what a plain list of lists would be."""

import atexit
import copy
import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from checkpoints import CheckpointManager, Database, NothingToUndoError, Store, schema, serde
from tests.checkpoints.conversations import dump, names, new, said, texts
from tests.conftest import Clock

Path_ = tuple[str, ...]  # every text is said once only, so equal paths are the same messages
WHICH = st.integers(0, 50)
HOW_MANY = st.integers(1, 3)


@dataclass
class Mark:
    """A checkpoint of the model."""

    id: str
    name: str
    path: Path_
    branch: int
    detached: bool = False


@dataclass
class Model:
    """A conversation in plain Python."""

    heads: list[Path_] = field(default_factory=lambda: [()])
    current: int = 0
    marks: list[Mark] = field(default_factory=list)

    @property
    def head(self) -> Path_:
        return self.heads[self.current]

    @head.setter
    def head(self, path: Path_) -> None:
        self.heads[self.current] = path

    def on_path(self, mark: Mark) -> bool:
        return self.head[: len(mark.path)] == mark.path

    def shown(self) -> list[Mark]:
        return [m for m in self.marks if self.on_path(m) or (m.detached and m.branch == self.current)]

    def save(self, identifier: str, name: str) -> None:
        self.marks.append(Mark(identifier, name, self.head, self.current))

    def move(self, path: Path_) -> None:
        """To a state that need not continue what there was: what was shown stays shown."""
        shown = self.shown()
        self.head = path
        for mark in shown:
            if not self.on_path(mark) and not mark.detached:
                mark.detached, mark.branch = True, self.current

    def let_go(self, since: int, future: int | None) -> None:
        for mark in self.marks[since:]:
            if mark.detached and mark.branch == self.current:
                mark.branch, mark.detached = (self.current, False) if future is None else (future, True)

    def restore(self, mark: Mark, keep_future: bool) -> None:
        future = len(self.heads) if keep_future else None
        if keep_future:
            self.heads.append(self.head)
        self.let_go(self.marks.index(mark) + 1, future)
        self.head = mark.path


@cache
def _empty() -> Path:
    """A new database file, to be copied: making one takes half a second."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    path = Path(folder) / "waymark.db"
    Database.at(path).close()
    return path


class Conversation(RuleBasedStateMachine):
    """The store and the model, side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name) / "waymark.db"
        shutil.copy(_empty(), self.file)
        self.clock, self.said = Clock(), count()
        self.open()
        self.thread_id = self.store.create_thread().id
        self.manager = CheckpointManager(self.store, self.thread_id)
        self.model, self.version = Model(), 0
        self.done: list[Model] = []
        self.undone: list[Model] = []

    def open(self) -> None:
        self.database = Database.at(self.file)
        self.store = Store(self.database, now=self.clock)

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()

    def fresh(self, number: int) -> Path_:
        return tuple(f"text {next(self.said)}" for _ in range(number))

    def begin(self) -> None:
        """Remember what an undo of the coming operation must bring back."""
        self.done.append(copy.deepcopy(self.model))
        self.undone.clear()

    def pick(self, which: int) -> Mark:
        shown = self.model.shown()
        return shown[which % len(shown)]

    @rule(number=HOW_MANY)
    def append(self, number: int) -> None:
        self.begin()
        more = self.fresh(number)
        self.store.append(self.thread_id, new(*more))
        self.model.head += more

    @precondition(lambda self: self.model.head)
    @rule(which=WHICH)
    def edit(self, which: int) -> None:
        self.begin()
        kept = which % len(self.model.head)
        above = self.store.messages(self.thread_id)[kept - 1].id if kept else None
        more = self.fresh(1)
        self.store.append(self.thread_id, new(*more), after=above)
        self.model.head = self.model.head[:kept] + more

    @precondition(lambda self: self.model.head)
    @rule()
    def save(self) -> None:
        self.begin()
        made = self.manager.save_checkpoint()
        self.model.save(made.id, made.name)

    @rule(which=WHICH, number=st.integers(0, 2))
    def save_state(self, which: int, number: int) -> None:
        kept = self.model.head[: which % (len(self.model.head) + 1)]
        path = kept + self.fresh(number if kept else number + 1)
        self.begin()
        messages = [m.langchain for m in self.store.messages(self.thread_id)][: len(kept)]
        made = self.manager.save_checkpoint({"messages": messages + said(*path)[len(kept) :]}, f"at {path[-1]}")
        self.model.move(path)
        self.model.save(made.id, made.name)

    @precondition(lambda self: self.model.shown())
    @rule(which=WHICH, keep_future=st.booleans())
    def restore(self, which: int, keep_future: bool) -> None:
        self.begin()
        mark = self.pick(which)
        told = self.store.leaving(self.thread_id, mark.id)
        head, shown = self.model.head, {m.id for m in self.model.shown()}
        state = self.manager.restore_checkpoint(mark.id, keep_future=keep_future)
        self.model.restore(mark, keep_future)
        assert tuple(m.content for m in state["messages"]) == self.model.head
        shared = sum(1 for a, b in zip(head, self.model.head, strict=False) if a == b)
        left = shown - {m.id for m in self.model.shown()}  # others may come back: those on the path of a compacted past
        assert (told.messages, told.checkpoints) == (len(head) - shared, len(left))

    @rule(which=WHICH)
    def switch(self, which: int) -> None:
        self.begin()
        self.model.current = which % len(self.model.heads)
        self.store.switch(self.thread_id, self.store.branches(self.thread_id)[self.model.current][0].id)

    @precondition(lambda self: self.model.shown())
    @rule(which=WHICH)
    def delete(self, which: int) -> None:
        self.begin()
        mark = self.pick(which)
        assert self.manager.delete_checkpoint(mark.id)
        self.model.marks.remove(mark)

    @rule()
    def clear_checkpoints(self) -> None:
        self.begin()
        self.manager.clear_all()
        shown = self.model.shown()
        self.model.marks = [mark for mark in self.model.marks if mark not in shown]

    @rule()
    def clear(self) -> None:
        self.begin()
        self.store.clear(self.thread_id)
        self.model.let_go(0, None)
        self.model.head = ()

    @rule()
    def import_what_was_exported(self) -> None:
        self.begin()
        self.manager.import_checkpoints(self.manager.export_checkpoints())
        ids = {c.id for c in self.store.every_checkpoint(self.thread_id)}
        self.model.marks = [mark for mark in self.model.marks if mark.id in ids]

    @rule()
    def undo(self) -> None:
        if not self.done:
            self.refuses(self.manager.undo)
            return
        self.manager.undo()
        self.undone.append(self.model)
        self.model = self.done.pop()

    @rule()
    def redo(self) -> None:
        if not self.undone:
            self.refuses(self.manager.redo)
            return
        self.manager.redo()
        self.done.append(self.model)
        self.model = self.undone.pop()

    def refuses(self, verb: Any) -> None:
        try:
            verb()
        except NothingToUndoError:
            return
        raise AssertionError("there was something to take back")

    @rule()
    def reopen(self) -> None:
        self.database.close()
        self.open()
        self.manager = CheckpointManager(self.store, self.thread_id)

    @rule(days=st.integers(-400, 400))
    def turn_the_clock(self, days: int) -> None:
        self.clock.turn(timedelta(days=days))

    @invariant()
    def the_conversation_is_the_models(self) -> None:
        assert tuple(texts(self.store, self.thread_id)) == self.model.head
        assert [c["id"] for c in self.manager.list_checkpoints()] == [mark.id for mark in self.model.shown()]
        assert names(self.store, self.thread_id) == [mark.name for mark in self.model.shown()]
        assert [length for _, length in self.store.branches(self.thread_id)] == [len(h) for h in self.model.heads]

    @invariant()
    def every_shown_state_is_whole(self) -> None:
        for mark in self.model.shown()[-3:]:
            found = self.manager.get_checkpoint(mark.id)
            assert found is not None
            assert tuple(m.content for m in found.state["messages"]) == mark.path

    @invariant()
    def every_message_hangs_on_its_parent(self) -> None:
        hashes: dict[str | None, str | None] = {None: None}
        depths: dict[str | None, int] = {None: -1}
        for message in self.store.every_message(self.thread_id):
            above = hashes[message.parent_id]
            hashes[message.id] = serde.content_hash(message.body, message.agent, message.status, above)
            depths[message.id] = depths[message.parent_id] + 1
            assert (message.hash, message.depth) == (hashes[message.id], depths[message.id])

    @invariant()
    def versions_only_grow(self) -> None:
        version = self.store.thread(self.thread_id).version
        made = [operation.version for operation in self.store.operations(self.thread_id)]
        assert version >= self.version
        assert made == list(range(version, 0, -1))
        self.version = version

    @invariant()
    def default_names_never_come_twice(self) -> None:
        found = [row[7] for row in dump(self.store)["checkpoint"] if row[7].startswith("Checkpoint ")]
        assert len(set(found)) == len(found)


assert list(schema.checkpoint.columns)[7].name == "name"

TestConversation = Conversation.TestCase
TestConversation.settings = settings(
    max_examples=60,
    stateful_step_count=25,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
