"""For whom a run goes on that another process has begun, and how often."""

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkpoints import EVERYBODY, Run, Runs, Store, act_for
from checkpoints.people.members import Members
from checkpoints.values.model import ThreadRole
from extensions.fleet.run_takeover import MAX_DEATHS, RunTakeover
from tests.checkpoints.conversations import new

NONE = cast("Any", None)
UNUSED = ("preparer", "active_runs", "watchdog", "reruns")


def find_actor(store: Store, run_id: str, thread_id: str) -> tuple[str, bool]:
    taker = RunTakeover(cast("Any", SimpleNamespace(store=store, runs=Runs(store))), **dict.fromkeys(UNUSED, NONE))
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


@dataclass
class OneRun:
    """The runs of a store that has one, which processes take from one another."""

    run: Run

    def get_run(self, _run_id: str) -> Run:
        return self.run

    def take_run(self, _run_id: str) -> Run:
        self.run = replace(self.run, worker=1, attempt=self.run.attempt + 1)
        return self.run

    def change_job(self, run: Run, job: str) -> None:
        self.run = replace(run, job=job)


@pytest.mark.parametrize("is_given_back", [True, False], ids=["a deployment", "a death"])
def test_a_run_goes_on_after_any_deployment_and_five_deaths(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch, is_given_back: bool
) -> None:
    for name, result in {"_settle_candidates": None, "_has_open_calls": False, "_prepare": "prepared"}.items():
        monkeypatch.setattr(RunTakeover, name, lambda *_, result=result: result)
    thread = memory_store.create_thread().id
    runs = OneRun(replace(Runs(memory_store).begin_run(thread, new("Where?")[0]), attempt=1, worker=1))
    inputs = SimpleNamespace(load_settings=lambda _: SimpleNamespace(graph=""))
    parts = cast("Any", SimpleNamespace(store=memory_store, runs=runs, inputs=inputs))
    taker, goes_on = RunTakeover(parts, **dict.fromkeys(UNUSED, NONE)), []
    for _ in range(MAX_DEATHS + 1):
        if is_given_back:
            runs.run = replace(runs.run, worker=None, attempt=runs.run.attempt + 1)
        taken = taker._take(runs.run.id, may_go_on=True)
        assert taken is not None
        goes_on.append(taken.prepared is not None)
    assert goes_on == [True] * MAX_DEATHS + [is_given_back]
