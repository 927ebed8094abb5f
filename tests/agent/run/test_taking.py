"""For whom a run goes on that another process has begun."""

from typing import Any, cast

import pytest

from agent.run.taking import RunTaker
from checkpoints import EVERYBODY, Runs, Store, act_for
from checkpoints.people.members import Members
from checkpoints.values.model import ThreadRole
from tests.checkpoints.conversations import new

NONE = cast("Any", None)
UNUSED = ("inputs", "preparer", "active_runs", "watchdog", "reruns", "followers", "wire", "blocking")


def find_actor(store: Store, run_id: str, thread_id: str) -> tuple[str, bool]:
    taker = RunTaker(store=store, runs=Runs(store), **dict.fromkeys(UNUSED, NONE))
    with act_for(EVERYBODY):  # as the worker does
        return taker._find_actor(run_id, thread_id)


@pytest.mark.parametrize(
    ("role", "expected"), [(ThreadRole.EDITOR, ("bob", True)), (ThreadRole.READER, ("ann", False)), (None, ("ann", False))]
)
def test_it_is_who_asked_or_the_owner_for_whom_it_only_ends(
    memory_store: Store, role: ThreadRole | None, expected: tuple[str, bool]
) -> None:
    memory_store.database.separate_owners()
    members = Members(memory_store)
    with act_for("ann"):
        thread = memory_store.create_thread().id
        members.add_member(thread, "bob", ThreadRole.EDITOR)
    with act_for("bob"):
        run = Runs(memory_store).begin_run(thread, new("Where?")[0])
    with act_for("ann"):
        if role is None:
            members.remove_member(thread, "bob")
        else:
            members.change_role(thread, "bob", role)
    assert find_actor(memory_store, run.id, thread) == expected


def test_one_person_is_who_it_was(memory_store: Store) -> None:
    thread = memory_store.create_thread().id
    run = Runs(memory_store).begin_run(thread, new("Where?")[0])
    assert find_actor(memory_store, run.id, thread) == ("local", True)
