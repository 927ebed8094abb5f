"""A change fails at its first write, at its second, at any, or at the end: all of it is there afterwards, or nothing."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import (
    Caller,
    CheckpointManager,
    Database,
    Draft,
    OperationDetail,
    Run,
    Runs,
    RunState,
    Store,
    StoreUnavailableError,
)
from checkpoints.interchange import reading, transfer, waymark
from tests.checkpoints.conversations import new, said, talked
from tests.checkpoints.tables import read
from tests.conftest import Clock
from tests.postgres import Postgres

WISH = Caller(request_id="a wish")
WRITES = ("INSERT", "UPDATE", "DELETE")


@dataclass(frozen=True)
class World:
    """A conversation with branches, an alternative, checkpoints and something to redo; another one; and a run."""

    store: Store
    thread: str
    branch: str
    messages: tuple[str, ...]
    set_aside: str
    checkpoint: str
    exported: waymark.Document
    run: Run

    @classmethod
    def build(cls, store: Store) -> "World":
        other = talked(store, "m", "n", "o", "p")
        store.fork(other, store.list_messages(other)[1].id, name="Way")
        run = Runs(store).begin_run(None, new("q")[0])
        Runs(store).save_drafts({run.id: Draft("half", "Why?")})
        thread = talked(store, "a", "b", "c", "d")
        first = [message.id for message in store.list_messages(thread)]
        store.append(thread, new("C", "D"), after=first[1])
        store.fork(thread, store.list_messages(thread)[3].id)
        store.rename_thread(thread, "Undone")
        store.undo(thread)
        return cls(
            store,
            thread,
            branch=store.list_branches(thread)[0][0].id,
            messages=tuple(message.id for message in store.list_messages(thread)),
            set_aside=first[2],
            checkpoint=store.list_checkpoints(thread)[0].id,
            exported=reading.read_document(transfer.export(store, other)),
            run=run,
        )


Change = Callable[[World], Any]
CHANGES: dict[str, Change] = {
    "append": lambda w: w.store.append(w.thread, new("x", "y", "z"), title="Title", caller=WISH),
    "edit": lambda w: w.store.append(w.thread, new("x"), after=w.messages[1], caller=WISH),
    "replace": lambda w: w.store.replace(w.thread, w.messages[0], new("A")[0], drop={w.messages[2]}, caller=WISH),
    "choose": lambda w: w.store.choose(w.thread, w.set_aside, caller=WISH),
    "save": lambda w: w.store.save(w.thread, description="why", extra={"k": 1}, caller=WISH),
    "save what was compacted": lambda w: w.store.save(w.thread, keep=1, new=new("", "short"), caller=WISH),
    "change a checkpoint": lambda w: w.store.change_checkpoint(w.thread, w.checkpoint, name="N", pinned=True, caller=WISH),
    "delete a checkpoint": lambda w: w.store.delete_checkpoint(w.thread, w.checkpoint, caller=WISH),
    "clear the checkpoints": lambda w: w.store.clear_checkpoints(w.thread, caller=WISH),
    "restore": lambda w: w.store.restore(w.thread, w.checkpoint, caller=WISH),
    "restore and keep": lambda w: w.store.restore(w.thread, w.checkpoint, keep_future=True, caller=WISH),
    "switch": lambda w: w.store.switch(w.thread, w.branch, caller=WISH),
    "fork": lambda w: w.store.fork(w.thread, w.messages[1], caller=WISH),
    "fork a conversation": lambda w: w.store.fork_thread(w.thread, w.messages[1], caller=WISH),
    "rename a branch": lambda w: w.store.rename_branch(w.thread, w.branch, "Other", caller=WISH),
    "delete a branch": lambda w: w.store.delete_branch(w.thread, w.branch, caller=WISH),
    "prune": lambda w: w.store.prune_branches(w.thread, caller=WISH),
    "clear": lambda w: w.store.clear(w.thread, caller=WISH),
    "tag": lambda w: w.store.tag_thread(w.thread, add=["Work", "Home"], caller=WISH),
    "rename": lambda w: w.store.rename_thread(w.thread, "Other", caller=WISH),
    "delete": lambda w: w.store.delete_thread(w.thread, caller=WISH),
    "undo": lambda w: w.store.undo(w.thread, caller=WISH),
    "redo": lambda w: w.store.redo(w.thread, caller=WISH),
    "import": lambda w: transfer.import_thread(w.store, w.exported),
    "import into": lambda w: w.store.import_into(w.thread, transfer.make_replacement(w.exported), caller=WISH),
    "begin a run": lambda w: Runs(w.store).begin_run(w.thread, new("x")[0], caller=WISH, title="Title"),
    "begin a run and a conversation": lambda w: Runs(w.store).begin_run(None, new("x")[0], caller=WISH),
    "end a run": lambda w: Runs(w.store).end_run(w.run, RunState.DONE, last_messages=new("x", "y")),
    "interrupt runs": lambda w: Runs(w.store).interrupt_orphans(),
    "keep a draft": lambda w: Runs(w.store).save_drafts({w.run.id: Draft("so far", "Why?")}),
}
UNNAMED: dict[str, Change] = {  # they carry no id by which a repetition would be known
    "make a conversation": lambda w: w.store.create_thread(),
    "commit": lambda w: Runs(w.store).commit_message(w.run, new("", "x")[1]),
    "commit on a branch": lambda w: Runs(w.store).commit_message(w.run, new("x")[0], branch_id=_branch(w)),
    "summarise": lambda w: Runs(w.store).replace_with_summary(
        w.run, new("short"), after=None, detail=OperationDetail(messages=1)
    ),
    "branch off": lambda w: Runs(w.store).branch_off(w.run, [("a", new("x")[0]), ("b", new("y")[0])], after=None),
    "save a state": lambda w: CheckpointManager(w.store, w.thread).save_checkpoint({"messages": said("x"), "k": 1}),
}
EVERY = CHANGES | UNNAMED


def _branch(world: World) -> str:
    return world.store.list_branches(world.run.thread_id)[0][0].id


@dataclass(frozen=True)
class Original:
    """A database with a world in it. Each test gets one as it was then."""

    world: World
    copy: Callable[[Path], str]  # returns its address; a file is made in that folder


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Original]:
    """A world, built once: that takes longer than a test."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("original") / "waymark.db"
        yield Original(_build_world(f"sqlite:///{path}"), lambda folder: f"sqlite:///{shutil.copy(path, folder)}")
    else:
        server: Postgres = request.getfixturevalue("postgres")
        address = server.lend()
        world = _build_world(address)
        server.keep_rows(address)
        yield Original(world, lambda _: server.put_rows_back(address))
        server.forget_rows(address)
        server.take_back(address)


def _build_world(address: str) -> World:
    database = Database.open_url(address)
    world = World.build(Store(database, now=Clock()))
    database.close()
    return world


@pytest.fixture
def world(original: Original, tmp_path: Path) -> Iterator[World]:
    address = original.copy(tmp_path)
    database = Database.open_url(address)
    yield replace(original.world, store=Store(database, now=Clock()))
    database.close()


class Failure:
    """What fails: the write with this number; and whether it came to that."""

    def __init__(self, number: int) -> None:
        self.left = number
        self.happened = False


@contextmanager
def failing(store: Store, number: int) -> Iterator[Failure]:
    """Let the database fail at the `number`-th write."""
    engine, failure = store.database.engine, Failure(number)

    def fail(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.lstrip().startswith(WRITES):
            failure.left -= 1
            if failure.left == 0:
                failure.happened = True
                full = engine.dialect.loaded_dbapi.OperationalError("disk full")
                raise sa.exc.OperationalError(statement, None, full) from full

    sa.event.listen(engine, "before_cursor_execute", fail)
    try:
        yield failure
    finally:
        sa.event.remove(engine, "before_cursor_execute", fail)


@pytest.mark.parametrize("change", EVERY.values(), ids=EVERY)
def test_a_change_that_fails_at_any_write_leaves_all_as_it_was_and_works_the_next_time(world: World, change: Change) -> None:
    old = read(world.store)
    for number in count(1):
        with failing(world.store, number) as failure:
            try:
                change(world)
            except StoreUnavailableError:
                assert failure.happened
        if not failure.happened:
            break
        assert read(world.store) == old
    assert number > 1
    assert read(world.store) != old


@pytest.mark.parametrize("change", EVERY.values(), ids=EVERY)
def test_a_change_whose_commit_fails_leaves_all_as_it_was_and_works_the_next_time(
    world: World, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, dialect = read(world.store), world.store.database.engine.dialect

    def fail(_: Any) -> None:
        raise dialect.loaded_dbapi.OperationalError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(dialect, "do_commit", fail)
        with pytest.raises(StoreUnavailableError):
            change(world)
    assert read(world.store) == old
    change(world)
    assert read(world.store) != old


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_whose_commit_worked_but_was_never_told_is_not_done_again(
    world: World, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, dialect = read(world.store), world.store.database.engine.dialect
    commit = dialect.do_commit

    def fail_after(connection: Any) -> None:
        commit(connection)
        raise dialect.loaded_dbapi.OperationalError("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(dialect, "do_commit", fail_after)
        with pytest.raises(StoreUnavailableError):
            change(world)
    done = read(world.store)
    assert done != old
    change(world)
    assert read(world.store) == done
