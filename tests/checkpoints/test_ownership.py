"""One owner never sees or moves another's things, whichever method is called with whichever id."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import (
    EVERYBODY,
    CandidateEnd,
    CandidateKey,
    Draft,
    OperationDetail,
    OperationKind,
    Rerun,
    RerunStep,
    Run,
    RunEnd,
    Runs,
    RunState,
    Store,
    ThreadNotFoundError,
    UnownedStatementError,
    act_for,
)
from checkpoints.default_instructions import DefaultInstructions
from checkpoints.people.members import Members
from checkpoints.people.shares import NewShare, Shares
from checkpoints.saved_prompts import SavedPrompts
from checkpoints.storage import schema
from checkpoints.tags import Tags
from checkpoints.values.model import ThreadRole
from tests.checkpoints import tables
from tests.checkpoints.conversations import new
from tests.filled_stores import FilledStore, fill_store
from tests.people import NOTHING, UNKNOWN, Things, fill

OF_THE_SERVER = ("index_portion", "interrupt_orphans", "save_drafts")  # they act for everybody, and tell nothing
TELLING = ("belongs_to_another", "read_files", "open_link")  # that an id is taken; who knows a hash or a token may read
CHOSEN_IDS = ("save_prompt",)  # an id that is taken is refused
METHODS = [
    pytest.param(kind, name, id=f"{kind.__name__}.{name}")
    for kind in (Store, Runs, Tags, SavedPrompts, DefaultInstructions, Shares, Members)
    for name, _ in inspect.getmembers(kind, inspect.isfunction)
    if not name.startswith("_") and name not in (*OF_THE_SERVER, *TELLING, *CHOSEN_IDS)
]


def map_arguments(ids: Things, thread_id: str) -> Mapping[str, Any]:
    """What each parameter means. The test says so when a method has one that is not here."""
    [one] = new("one")
    run = Run(ids.run, thread_id, RunState.RUNNING, Draft(), None, False, datetime.now(UTC), None)
    return {
        "thread_id": thread_id,
        "thread_ids": [thread_id],
        **dict.fromkeys(("message_id", "left_id", "right_id", "after"), ids.message),
        **{"dropped_ids": [ids.message], "drop": [ids.message]},
        "checkpoint_id": ids.checkpoint,
        "branch_id": ids.branch,
        "tag_id": ids.tag,
        "prompt_id": ids.prompt,
        "share_id": ids.share,
        "token": UNKNOWN,
        "link": NewShare(thread_id, ids.checkpoint),
        **dict.fromkeys(("run_id", "request_id"), ids.run),
        "run": run,
        "step": RerunStep(ids.rerun, 1),
        "key": CandidateKey(ids.run, 1),
        "rerun": Rerun(UNKNOWN, thread_id, "", {}, (ids.message,)),
        "source_hash": ids.source,
        "job": "{}",
        "this": thread_id,
        "messages": [one],
        **dict.fromkeys(("first", "new", "message"), one),
        "first_messages": [("x", one)],
        "end": CandidateEnd(None, RunEnd(RunState.DONE)),  # type: ignore[arg-type]  # refused before it is looked at
        **dict.fromkeys(("text", "title", "name", "description", "model"), "heron"),
        "values": {"model": "demo"},
        "usage": {},
        "detail": OperationDetail(),
        "draft": Draft("heron"),
        "kind": OperationKind.REWIND,
        "state": RunState.DONE,
        **dict.fromkeys(("archived", "pinned"), True),
        **dict.fromkeys(("count", "last", "before", "version", "n"), 1),
        **dict.fromkeys(("since", "now"), datetime(2020, 1, 1, tzinfo=UTC)),
        **{"agent": "main", "limit": 10, "marks": ("mark",), "has_origins": True},
        **{"person": "carol", "owner": "ann"},
        "role": ThreadRole.READER,
        "fill": lambda _: None,
        "is_wanted": lambda _: True,
    }


def call(store: Store, kind: type, name: str, ids: Things, thread_id: str) -> str:
    """Call a method with these ids, and return its result, with marks in the place of the ids."""
    parameters = list(inspect.signature(getattr(kind, name)).parameters.values())[1:]
    known = map_arguments(ids, thread_id)
    if name in ("find_last_result", "find_alternatives"):
        message = replace(LAST[0], id=ids.message, thread_id=thread_id)
        known = {**known, "message": message, "messages": [message]}
    unknown = [each.name for each in parameters if each.default is each.empty and each.name not in known]
    assert not unknown, f"say in map_arguments what the parameters {unknown} of {name} mean"
    wanted = [each.name for each in parameters if each.default is each.empty or each.name in ("this", "after", "drop")]
    try:
        done = repr(getattr(store if kind is Store else kind(store), name)(**{each: known[each] for each in wanted}))
    except Exception as error:  # noqa: BLE001  (which one it is, is compared)
        done = f"{type(error).__name__}: {error}"
    for each in {*astuple(ids), thread_id}:
        done = done.replace(each, "ID")
    return done


LAST: list[Any] = []  # a message, of which the ids are replaced


@dataclass
class Town:
    """A store in which Ann and Bob have the same things."""

    store: Store
    ann: Things
    bob: Things

    def read_rows(self) -> tables.Tables:
        with act_for(EVERYBODY):
            return tables.read(self.store, self.ann.thread)


@pytest.fixture(
    scope="module",
    params=[
        "memory_store",
        pytest.param("postgres_store", marks=pytest.mark.slow),
        pytest.param("ordinary_store", marks=pytest.mark.slow),
    ],
)
def filled_town(request: pytest.FixtureRequest) -> Iterator[FilledStore[list[Things]]]:
    with fill_store(request, _fill_town) as filled:
        yield filled


def _fill_town(store: Store) -> list[Things]:
    store.database.separate_owners()
    return [fill(store, "ann"), fill(store, "bob")]


@pytest.fixture
def town(filled_town: FilledStore[list[Things]]) -> Iterator[Town]:
    with filled_town.copy() as store:
        store.database.separate_owners()
        town = Town(store, *filled_town.content)
        with act_for("bob"):
            LAST[:] = [store.get_message(town.bob.thread, town.bob.message)]
        yield town


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_what_is_anothers_never_was(town: Town, kind: type, name: str) -> None:
    before = town.read_rows()
    with act_for("bob"):
        theirs = call(town.store, kind, name, town.ann, town.ann.thread)
        nothing = call(town.store, kind, name, NOTHING, NOTHING.thread)
        mixed = call(town.store, kind, name, town.ann, town.bob.thread)
    after = town.read_rows()
    assert "of ann" not in theirs + mixed
    assert [name for name in before if before[name].keys() - after[name].keys()] == []
    assert {name: after[name] for name in before if "thread_id" in schema.metadata.tables[name].c} == {
        name: before[name] for name in before if "thread_id" in schema.metadata.tables[name].c
    }
    if name not in ("create_thread", "import_thread", "prepare_thread"):  # they make one, with an id of its own
        assert theirs == nothing


def test_who_is_nobody_touches_nothing(town: Town) -> None:
    with pytest.raises(UnownedStatementError):
        town.store.list_threads()
    with pytest.raises(UnownedStatementError):
        town.store.append(town.ann.thread, new("x"))


def test_a_statement_that_names_nobody_is_refused_before_it_runs(town: Town) -> None:
    every = sa.select(schema.message.c.id)
    with act_for("bob"), town.store.database.begin_read() as connection:
        with pytest.raises(UnownedStatementError):
            connection.execute(every)
        with pytest.raises(ThreadNotFoundError):
            connection.execute(every.where(schema.message.c.thread_id.in_([town.bob.thread, town.ann.thread])))
        with pytest.raises(UnownedStatementError):
            town.store.list_threads(owner="ann")


def test_each_owner_has_their_own(town: Town) -> None:
    for owner, things in (("ann", town.ann), ("bob", town.bob)):
        with act_for(owner):
            assert [each.id for each in town.store.list_threads()] == [things.thread]
            assert town.store.get_thread(things.thread).owner == owner
            assert [hit.thread_id for hit in town.store.search("heron", datetime.now(UTC), limit=1).hits] == [things.thread]
            assert Runs(town.store).list_running_threads() == {things.thread}
            assert [each.name for each in Tags(town.store).list_tags()] == [f"heron of {owner}"]
            assert [each.id for each in SavedPrompts(town.store).list_prompts()] == [things.prompt]
            assert DefaultInstructions(town.store).read() == f"heron of {owner}"


def test_the_servers_own_work_is_for_all(town: Town) -> None:
    assert {run.thread_id for run in Runs(town.store).interrupt_orphans()} == {town.ann.thread, town.bob.thread}
    assert not town.store.index_portion()
    with act_for("bob"):
        Runs(town.store).save_drafts({town.ann.run: Draft("half"), town.bob.run: Draft("half")})
    town.store.database.check_health()


@pytest.mark.parametrize("outer", [EVERYBODY, "bob"])
def test_a_reading_within_one_of_somebody_else_is_refused(town: Town, outer: str) -> None:
    with act_for(outer), town.store.database.begin_read(), act_for("ann"), pytest.raises(UnownedStatementError):
        town.store.list_threads()
