"""A person is erased in the moment in which a request of theirs begins or changes something, in a conversation of somebody
else."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from checkpoints import EVERYBODY, Caller, NewMessage, Run, RunState, Store, act_for
from checkpoints.changes import thread_edits, titles
from checkpoints.people.audit_log import AuditLog
from checkpoints.people.members import Members
from checkpoints.person_limits import PersonLimits
from checkpoints.rows import audit_rows, operation_rows, person_rows, run_rows, usage_rows
from checkpoints.rows.account_rows import Role
from checkpoints.rows.audit_rows import Client, note_client
from checkpoints.rows.thread_rows import from_time
from checkpoints.saved_prompts import SavedPrompts
from checkpoints.storage.ownership import make_context
from checkpoints.upkeep import erasure
from checkpoints.upkeep.person_erasure import PersonErasure, erase_person
from checkpoints.values import serde
from checkpoints.values.audit_entry import ERASED_PREFIX, AuditEntry, AuditKind
from checkpoints.values.errors import (
    InvalidMemberError,
    PersonErasedError,
    ReadOnlyError,
    RunActiveError,
    ThreadNotFoundError,
)
from checkpoints.values.model import ThreadRole
from extensions.fleet.kept_uploads import KeptUploads
from extensions.people.accounts import Accounts
from tests.checkpoints.conversations import new
from tests.checkpoints.people.houses import House, wait_for_lock_or_end

PATIENCE = 60.0


class SharedHouse(House):
    """Ann's conversations, with Bob as an editor of each."""

    def __init__(self, store: Store, count: int = 2) -> None:
        super().__init__(store)
        with act_for("ann"):
            self.threads = [store.create_thread(title=f"heron {number}").id for number in range(count)]
            for each in self.threads:
                self.members.add_member(each, "bob", ThreadRole.EDITOR)


@contextmanager
def pause_at(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, *, after: bool = False
) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Let the first call of a function wait, before or after its work. Return the events of its arrival and release."""
    call, arrived, released = getattr(module, name), threading.Event(), threading.Event()

    def wait() -> None:
        if not arrived.is_set():
            arrived.set()
            assert released.wait(PATIENCE)

    def call_and_wait(*arguments: Any, **named: Any) -> Any:
        if not after:
            wait()
        result = call(*arguments, **named)
        if after:
            wait()
        return result

    monkeypatch.setattr(module, name, call_and_wait)
    try:
        yield arrived, released
    finally:
        released.set()


@pytest.mark.slow
def test_an_erasure_waits_for_an_answer_that_begins_and_is_refused(
    ordinary_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = SharedHouse(ordinary_store)
    with ThreadPoolExecutor(2) as pool, pause_at(monkeypatch, run_rows, "insert_run") as (arrived, released):
        asked = pool.submit(house.ask, "bob", house.threads[0])
        assert arrived.wait(PATIENCE)
        beside = house.ask("bob", house.threads[1])  # another answer of his is not held up
        erased = pool.submit(erase_person, house.store.database, "bob")
        with act_for(EVERYBODY), house.store.database.begin_read() as connection:
            wait_for_lock_or_end(connection, erased)
        assert not erased.done()
        released.set()
        with pytest.raises(RunActiveError):
            erased.result()
        run = asked.result()
    with act_for("bob"):
        for each in (run, beside):
            house.runs.end_run(each, RunState.STOPPED)
    erase_person(house.store.database, "bob")
    assert house.find_rows_of("bob") == []


@pytest.mark.slow
def test_no_answer_begins_while_its_person_is_erased(ordinary_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    house = SharedHouse(ordinary_store)
    with ThreadPoolExecutor(1) as pool, pause_at(monkeypatch, erasure, "erase_owner") as (arrived, released):
        erased: Future[PersonErasure] = pool.submit(erase_person, house.store.database, "bob")
        assert arrived.wait(PATIENCE)
        for thread_id in (house.threads[0], None):
            with pytest.raises(PersonErasedError):
                house.ask("bob", thread_id)
        assert house.ask("ann", house.threads[0])  # others are not held up
        released.set()
        erased.result()
    with pytest.raises(ThreadNotFoundError):
        house.ask("bob", house.threads[1])
    assert house.find_rows_of("bob") == []


CHANGES: dict[str, Callable[[House, Run, str], object]] = {
    "an edit": lambda house, run, _: house.store.append(run.thread_id, new("more")),
    "a name": lambda house, run, _: house.store.rename_thread(run.thread_id, "better"),
    "a checkpoint": lambda house, run, _: house.store.save(run.thread_id, name="here"),
    "an undo": lambda house, run, _: house.store.undo(run.thread_id),
    "a title of the model": lambda house, run, _: house.runs.give_title(run, "better", model="m", usage={}),
    "a milestone": lambda house, run, answer_id: house.runs.save_milestone(run, answer_id, "here", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_on_its_way_leaves_no_name_after_the_erasure(
    ordinary_store: Store, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It found the person's role before the erasure has ended, and would write afterwards."""
    monkeypatch.setattr(titles, "is_titled_by_question", lambda *_: True)
    house = SharedHouse(ordinary_store, 1)
    run = house.ask("bob", house.threads[0])
    with act_for("bob"):
        house.runs.end_run(run, RunState.DONE, last_messages=[_make_answer()])
        context, answer_id = make_context(), house.store.list_messages(run.thread_id)[-1].id
    with ThreadPoolExecutor(2) as pool, pause_at(monkeypatch, person_rows, "leave_conversations") as (arrived, released):
        erased = pool.submit(erase_person, house.store.database, "bob")
        assert arrived.wait(PATIENCE)
        changed = pool.submit(context.run, CHANGES[name], house, run, answer_id)
        with act_for(EVERYBODY), house.store.database.begin_read() as connection:
            wait_for_lock_or_end(connection, changed)
        released.set()
        with pytest.raises(PersonErasedError):
            changed.result()
        erased.result()
    assert house.find_rows_of("bob") == []


@pytest.mark.slow
def test_an_erasure_waits_for_a_change_and_others_wait_for_neither(
    ordinary_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = SharedHouse(ordinary_store)
    with act_for("bob"):
        context = make_context()
    with ThreadPoolExecutor(2) as pool, pause_at(monkeypatch, operation_rows, "insert_operation") as (arrived, released):
        changed = pool.submit(context.run, house.store.append, house.threads[0], new("more"))
        assert arrived.wait(PATIENCE)
        erased = pool.submit(erase_person, house.store.database, "bob")
        with act_for(EVERYBODY), house.store.database.begin_read() as connection:
            wait_for_lock_or_end(connection, erased)
        with act_for("ann"):
            house.store.append(house.threads[1], new("of ann"))
        released.set()
        changed.result()
        erased.result()
    assert house.find_rows_of("bob") == []


BEGINNINGS: dict[str, Callable[[House, str, str], object]] = {
    "a question": lambda house, person, _: house.ask(person, None),
    "a question elsewhere": lambda house, person, shared: house.ask(person, shared),
    "a conversation": lambda house, *_: house.store.create_thread(),
    "a prompt": lambda house, person, _: SavedPrompts(house.store).save_prompt(f"of {person}", "name", "text"),
    "an import": lambda house, person, _: house.store.import_thread("title", person, lambda _: "made"),
    "a file": lambda house, person, _: KeptUploads(house.store, max_bytes=9, max_count=9, max_seconds=9).keep(person, b"x"),
}


@pytest.mark.slow
@pytest.mark.parametrize("key", ["erasure of bob", "person"])
def test_no_request_of_another_locks_what_a_person_needs(
    ordinary_store: Store, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    house = SharedHouse(ordinary_store)
    house.store.meter.limits = PersonLimits(runs=9)
    with ThreadPoolExecutor(2) as pool, pause_at(monkeypatch, thread_edits, "archive_thread") as (arrived, released):
        with act_for("ann"):
            context = make_context()
        archived = pool.submit(context.run, _archive, house, key)
        assert arrived.wait(PATIENCE)
        asked = pool.submit(house.ask, "bob", house.threads[1])
        with act_for(EVERYBODY), house.store.database.begin_read() as connection:
            wait_for_lock_or_end(connection, asked)
        assert asked.done()
        made = pool.submit(Accounts(house.store).invite, "token", Role.MEMBER, made_by="ann", days=1)
        with act_for(EVERYBODY), house.store.database.begin_read() as connection:
            wait_for_lock_or_end(connection, made)
        assert made.done()
        released.set()
        archived.result()
        asked.result()


def _archive(house: SharedHouse, request_id: str) -> None:
    house.store.archive_thread(house.threads[0], archived=True, caller=Caller(request_id=request_id))


@pytest.mark.parametrize("store", ["memory_store", pytest.param("ordinary_store", marks=pytest.mark.slow)])
def test_a_request_on_its_way_begins_nothing_after_the_erasure(
    store: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was let in with the session of then, and waited for its turn to write."""
    house, accounts = make_office(request.getfixturevalue(store))
    with act_for("ann"):
        shared = house.store.create_thread().id
        house.members.add_member(shared, "bob", ThreadRole.EDITOR)
    erase_person(house.store.database, "bob")
    for begin in BEGINNINGS.values():
        with act_for("ann"):
            begin(house, "ann", shared)
        with act_for("bob"), pytest.raises(PersonErasedError):
            begin(house, "bob", shared)
    monkeypatch.setattr(Members, "_find_person", lambda _, name: name)  # as if before the erasure
    with act_for("ann"), pytest.raises(InvalidMemberError):
        house.members.add_member(shared, "bob", ThreadRole.READER)
    assert house.find_rows_of("bob") == []
    accounts.invite("another", Role.MEMBER, made_by="ann", days=1)
    assert accounts.accept_invitation("another", "bob", "hash").name == "bob"


@pytest.mark.parametrize("store", ["memory_store", pytest.param("ordinary_store", marks=pytest.mark.slow)])
def test_a_request_on_its_way_begins_no_answer_for_who_became_a_reader(store: str, request: pytest.FixtureRequest) -> None:
    """Their answers have been stopped by then (see running_answers): nobody would stop this one."""
    house, accounts = make_office(request.getfixturevalue(store))
    run = house.ask("bob", None)
    with act_for("bob"):
        house.runs.end_run(run, RunState.DONE, last_messages=[_make_answer()])
    accounts.change_role("bob", Role.READER)
    for thread_id in (None, run.thread_id):
        with pytest.raises(ReadOnlyError):
            house.ask("bob", thread_id)
    accounts.change_role("bob", Role.MEMBER)
    assert house.ask("bob", run.thread_id)


@pytest.mark.slow
def test_a_person_becomes_a_reader_after_the_answer_that_begins(
    ordinary_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, accounts = make_office(ordinary_store)
    with ThreadPoolExecutor(2) as pool, pause_at(monkeypatch, run_rows, "insert_run") as (arrived, released):
        asked = pool.submit(house.ask, "bob", None)
        assert arrived.wait(PATIENCE)
        changed = pool.submit(accounts.change_role, "bob", Role.READER)
        with act_for(EVERYBODY), house.store.database.begin_read() as connection:
            wait_for_lock_or_end(connection, changed)
        assert not changed.done()  # or the answer would be begun after those of a reader were stopped
        released.set()
        changed.result()
        with act_for(EVERYBODY):
            assert asked.result().thread_id in house.runs.list_running_threads()


def make_office(store: Store) -> tuple[House, Accounts]:
    """Return a house where Ann and Bob have accounts."""
    house, accounts = House(store, has_accounts=True), Accounts(store)
    for name in ("ann", "bob"):
        accounts.invite(f"token of {name}", Role.ADMIN, made_by="x", days=1)
        accounts.accept_invitation(f"token of {name}", name, "hash")
    return house, accounts


@pytest.mark.parametrize("store", ["memory_store", pytest.param("ordinary_store", marks=pytest.mark.slow)])
def test_the_end_of_an_answer_counts_for_its_person_who_was_let_out(store: str, request: pytest.FixtureRequest) -> None:
    house = SharedHouse(request.getfixturevalue(store))
    run = house.ask("bob", house.threads[0])
    with act_for("ann"):
        house.members.remove_member(house.threads[0], "bob")
    with act_for(EVERYBODY):
        house.runs.end_run(run, RunState.STOPPED, last_messages=[_make_answer()])
    for person, tokens in (("bob", 10), ("ann", 0)):
        with act_for(person), house.store.database.begin_read() as connection:
            assert usage_rows.count_use(connection, person, from_time(house.store.now()))[0] == tokens


def _make_answer() -> NewMessage:
    [message] = new("an answer")
    counted = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    body = {**message.body, "type": "ai", "data": {**message.body["data"], "type": "ai", "usage_metadata": counted}}
    return NewMessage(serde.to_body(serde.to_message(body)))


def list_named(house: House, person: str) -> list[AuditEntry]:
    """The entries of the audit log that name a person."""
    return [each for each in AuditLog(house.store).list_entries(100) if person in (each.person, each.about)]


def export(house: House, person: str, about: str = "") -> None:
    with act_for(person), note_client(Client(person, f"address of {person}")):
        AuditLog(house.store).record(AuditKind.EXPORT, {}, about=about)


@pytest.mark.parametrize("store", ["memory_store", pytest.param("ordinary_store", marks=pytest.mark.slow)])
def test_an_entry_that_is_written_after_the_erasure_names_nobody_erased(store: str, request: pytest.FixtureRequest) -> None:
    opened: Store = request.getfixturevalue(store)
    opened.create_thread(owner="cy")  # from before people had accounts
    house, accounts = House(opened, has_accounts=True), Accounts(opened)
    for name in ("ann", "bob"):
        accounts.invite(f"token of {name}", Role.ADMIN, made_by="", days=1)
        accounts.accept_invitation(f"token of {name}", name, "hash")
    export(house, "bob")
    with note_client(Client("bob", "address of bob")):
        erase_person(opened.database, "bob")  # himself
    export(house, "bob")
    export(house, "ann", about="bob")
    export(house, "ann", about="cy")
    with act_for("ann"):
        opened.change_settings(opened.create_thread().id, {"model": "b"})
    entries = AuditLog(opened).list_entries(100)
    assert [(each.person, each.about, each.address) for each in entries[:2]] == [
        ("ann", "", ""),
        ("ann", "cy", "address of ann"),
    ]
    assert entries[2].person == "ann"
    assert entries[2].about.startswith(ERASED_PREFIX)
    assert entries[3].person.startswith(ERASED_PREFIX)
    assert not any("bob" in f"{each.person} {each.about} {each.address}" for each in entries)
    (erasure,) = [each for each in entries if each.kind is AuditKind.PERSON_ERASED]
    assert erasure.about in {each.person for each in entries if each.kind is AuditKind.EXPORT}  # from before it


@pytest.mark.slow
def test_an_entry_that_is_written_during_the_erasure_names_nobody_erased(
    ordinary_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = SharedHouse(ordinary_store)
    # The names in the log have been replaced by then.
    with ThreadPoolExecutor(1) as pool, pause_at(monkeypatch, person_rows, "leave_conversations") as (arrived, released):
        erased = pool.submit(erase_person, house.store.database, "bob")
        assert arrived.wait(PATIENCE)
        export(house, "bob")
        export(house, "ann")
        released.set()
        erased.result()
    assert list_named(house, "bob") == []
    assert list_named(house, "ann")[0].kind is AuditKind.EXPORT


@pytest.mark.slow
def test_an_erasure_waits_for_an_entry_and_takes_the_name_out_of_it(
    ordinary_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = SharedHouse(ordinary_store)
    with ThreadPoolExecutor(2) as pool, pause_at(monkeypatch, audit_rows, "insert_entry", after=True) as paused:
        arrived, released = paused
        exported = pool.submit(export, house, "bob")
        assert arrived.wait(PATIENCE)
        erased = pool.submit(erase_person, house.store.database, "bob")
        with act_for(EVERYBODY), house.store.database.begin_read() as connection:
            wait_for_lock_or_end(connection, erased)
        released.set()
        exported.result()
        erased.result()
    assert list_named(house, "bob") == []
