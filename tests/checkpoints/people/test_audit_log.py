"""The audit log: what is written, with whom and from where, how it is read, and what stays of an erased person."""

from datetime import timedelta
from typing import Any

import pytest

from checkpoints import ConflictError, Store, act_for
from checkpoints.people.audit_log import AuditLog
from checkpoints.people.members import Members
from checkpoints.rows.account_rows import InvalidAccountError, Role
from checkpoints.rows.audit_rows import Client, note_client
from checkpoints.upkeep import erasure
from checkpoints.upkeep.person_erasure import erase_person
from checkpoints.values.audit_entry import ERASED_PREFIX, AuditEntry, AuditKind
from checkpoints.values.model import ThreadRole
from extensions.people.accounts import Accounts
from tests.checkpoints.conversations import talked
from tests.conftest import Clock
from tests.extensions.people.test_accounts import add, fill_at_rest


@pytest.fixture
def log(store: Store) -> AuditLog:
    return AuditLog(store, 365)


def tell(entry: AuditEntry) -> tuple[Any, ...]:
    return entry.kind, entry.person, entry.about, entry.address


def test_an_entry_has_the_client_and_the_time(store: Store, log: AuditLog, clock: Clock) -> None:
    with note_client(Client("ann", "10.0.0.1")):
        log.record(AuditKind.EXPORT, {"thread": "x"})
    log.record(AuditKind.SIGN_IN_REFUSED, {}, person="", about="bob")
    refused, export = log.list_entries(10)
    assert tell(export) == (AuditKind.EXPORT, "ann", "", "10.0.0.1")
    assert (export.time, export.detail) == (clock(), {"thread": "x"})
    assert tell(refused) == (AuditKind.SIGN_IN_REFUSED, "", "bob", "")
    assert log.list_people() == ["ann", "bob"]


def test_the_newest_come_first_in_portions_of_one_person_and_kind(log: AuditLog) -> None:
    for number in range(6):
        kind = AuditKind.ROLE if number % 2 else AuditKind.EXPORT
        log.record(kind, {"number": number}, person="ann" if number < 4 else "bob", about="cy")

    def find(**wanted: Any) -> list[int]:
        return [each.detail["number"] for each in log.list_entries(2, **wanted)]

    assert find() == [5, 4]
    assert find(before=log.list_entries(2)[-1].number) == [3, 2]
    assert find(person="ann") == [3, 2]
    assert find(person="ann", kind=AuditKind.ROLE) == [3, 1]
    assert len(log.list_entries(9, person="cy")) == 6
    assert find(person="nobody") == []


def test_old_entries_are_not_shown_and_then_deleted(store: Store, log: AuditLog, clock: Clock) -> None:
    log.record(AuditKind.EXPORT, {}, person="old")
    clock.turn(timedelta(days=366))
    assert log.list_entries(10) == []
    assert len(AuditLog(store).list_entries(10)) == 1
    log.record(AuditKind.EXPORT, {}, person="new")
    assert [each.person for each in AuditLog(store).list_entries(10)] == ["new"]


def test_changes_of_people_are_written_with_whom_they_concern(store: Store, log: AuditLog) -> None:
    accounts = Accounts(store)
    add(accounts, "ann", Role.ADMIN)
    add(accounts, "bob")
    with note_client(Client("ann", "10.0.0.1")):
        accounts.change_role("bob", Role.READER)
        link = accounts.invite("token", Role.MEMBER, made_by="ann", days=1, person="bob")
        accounts.revoke_invitation(link.id)
        accounts.revoke_invitation("no such link")
    assert accounts.change_password("bob", "hash of bob", "another", session_id="")
    assert not accounts.change_password("bob", "hash of bob", "another", session_id="")
    account = accounts.find_account("bob")
    assert account is not None
    accounts.renew_hash(account, "the same password")
    assert [tell(each)[:3] for each in log.list_entries(5)] == [
        (AuditKind.PASSWORD, "bob", ""),
        (AuditKind.INVITATION_REVOKED, "ann", ""),
        (AuditKind.INVITATION, "ann", "bob"),
        (AuditKind.ROLE, "ann", "bob"),
        (AuditKind.ACCOUNT, "bob", ""),
    ]


def test_a_change_that_is_refused_leaves_no_entry(store: Store, log: AuditLog) -> None:
    accounts = Accounts(store)
    add(accounts, "ann", Role.ADMIN)
    thread_id = talked(store, "a")
    before = log.list_entries(10)
    with pytest.raises(InvalidAccountError):
        accounts.change_role("ann", Role.MEMBER)
    with pytest.raises(ConflictError):
        store.change_settings(thread_id, {"model": "b"}, expected={"model": "a"})
    assert log.list_entries(10) == before


def test_settings_are_named_and_never_told(store: Store, log: AuditLog) -> None:
    store.database.separate_owners()
    with act_for("ann"):
        thread_id = talked(store, "a")
        store.change_settings(thread_id, {"instructions": "a secret", "model": "b"})
    [entry] = log.list_entries(10)
    assert tell(entry) == (AuditKind.SETTINGS, "ann", "", "")
    assert entry.detail == {"thread": thread_id, "keys": ["instructions", "model"]}


def test_settings_that_come_and_go_with_an_undo_are_named_as_well(store: Store, log: AuditLog) -> None:
    store.database.separate_owners()
    with act_for("ann"):
        thread_id = talked(store, "a")
        Members(store).add_member(thread_id, "bob", ThreadRole.EDITOR)
        store.change_settings(thread_id, {"instructions": "a secret"})
    with act_for("bob"):
        store.undo(thread_id)
        store.redo(thread_id)
        store.undo(thread_id)
        store.undo(thread_id)  # of the message
    entries = log.list_entries(10, kind=AuditKind.SETTINGS)
    assert [each.person for each in entries] == ["bob", "bob", "bob", "ann"]
    assert all(each.detail == {"thread": thread_id, "keys": ["instructions"]} for each in entries)


def test_an_erasure_is_written_with_it(store: Store, log: AuditLog) -> None:
    thread_id = talked(store, "a", "b")
    erasure.erase(store.database, thread_id)
    [entry] = log.list_entries(10)
    assert (entry.kind, entry.detail) == (AuditKind.ERASE, {"thread": thread_id, "messages": 2})


def test_the_name_of_an_erased_person_is_in_no_entry(store: Store, log: AuditLog) -> None:
    accounts = Accounts(store)
    store.database.separate_owners()
    for name in ("ann", "bob"):
        add(accounts, name, Role.ADMIN)
        fill_at_rest(store, name)
    with note_client(Client(address="10.0.0.1")):
        log.record(AuditKind.SIGN_IN_REFUSED, {}, person="", about="bob")
    with note_client(Client("bob", "10.0.0.1")):
        log.record(AuditKind.SIGN_IN, {})
        accounts.change_role("ann", Role.MEMBER)
    with note_client(Client("ann", "10.0.0.2")):
        accounts.change_role("ann", Role.ADMIN)
        erase_person(store.database, "bob")
    entries = log.list_entries(50)
    assert "bob" not in str(entries)
    assert "10.0.0.1" not in str(entries)
    [replacement] = {each for entry in entries for each in (entry.person, entry.about) if each.startswith(ERASED_PREFIX)}
    assert tell(entries[0]) == (AuditKind.PERSON_ERASED, "ann", replacement, "10.0.0.2")
    assert [tell(each) for each in entries[2:4]] == [
        (AuditKind.ROLE, replacement, "ann", ""),
        (AuditKind.SIGN_IN, replacement, "", ""),
    ]
