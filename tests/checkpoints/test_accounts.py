"""Accounts and invitations, and the erasure of a person, in every kind of database."""

from datetime import timedelta

import pytest

from checkpoints import EVERYBODY, Database, Runs, RunState, Store, StoreInUseError, act_for
from checkpoints.accounts import Accounts, InvalidAccountError, InvalidInvitationError, Role
from checkpoints.errors import ReadOnlyError
from checkpoints.saved_prompts import SavedPrompts
from checkpoints.storage import schema
from checkpoints.storage.postgresql import SIGN_IN_KEY
from checkpoints.upkeep.person_erasure import erase_person, plan_person_erasure
from checkpoints.upkeep.verification import verify
from tests.checkpoints import tables
from tests.people import Things, fill


@pytest.fixture
def accounts(store: Store) -> Accounts:
    store.database.separate_owners()
    return Accounts(store)


def add(accounts: Accounts, name: str, role: Role = Role.MEMBER) -> None:
    accounts.invite(f"link of {name}", role, made_by="ann", days=1)
    accounts.accept_invitation(f"link of {name}", name, f"hash of {name}")


def fill_at_rest(store: Store, name: str) -> Things:
    things = fill(store, name)
    with act_for(EVERYBODY):
        run = Runs(store).get_run(things.run)
        assert run
        Runs(store).end_run(run, RunState.DONE)
    return things


def read_own(store: Store, things: Things) -> tables.Tables:
    """The rows of a conversation, as they lie in the tables that name it."""
    with act_for(EVERYBODY):
        rows = tables.read(store, things.thread)
    return {name: rows[name] for name in rows if name == "thread" or "thread_id" in schema.metadata.tables[name].c}


def test_a_link_makes_one_account_with_its_role(accounts: Accounts) -> None:
    add(accounts, "Bob", Role.READER)
    found = accounts.find_account(" bOb ")
    assert found
    assert (found.name, found.role, found.password_hash) == ("Bob", Role.READER, "hash of Bob")
    with pytest.raises(InvalidInvitationError):
        accounts.accept_invitation("link of Bob", "eve", "x")
    assert (accounts.find_account("eve"), accounts.has_admin()) == (None, False)


def test_a_link_ends_by_its_date_by_hand_and_by_a_later_one(accounts: Accounts, store: Store) -> None:
    add(accounts, "bob")
    first = accounts.invite("first", Role.MEMBER, made_by="ann", days=1)
    accounts.invite("second", Role.MEMBER, made_by="ann", days=2)
    accounts.invite("third", Role.ADMIN, made_by="ann", days=3, person="BOB")
    accounts.invite("fourth", Role.ADMIN, made_by="ann", days=3, person="bob")
    assert [each.person for each in accounts.list_invitations()] == [None, None, "bob"]
    accounts.revoke_invitation(first.id)
    later = store.now() + timedelta(days=2, seconds=1)
    store.now = lambda: later  # type: ignore[method-assign]
    for token in ("first", "second", "third", "fifth"):
        with pytest.raises(InvalidInvitationError):
            accounts.find_invitation(token)
    assert accounts.accept_invitation("fourth", "eve", "new hash").name == "bob"
    assert [(each.role, each.password_hash) for each in accounts.list_accounts()] == [(Role.MEMBER, "new hash")]
    for days in (0, 91):
        with pytest.raises(InvalidAccountError):
            accounts.invite("x", Role.MEMBER, made_by="ann", days=days)


def test_a_password_is_changed_by_who_knows_the_former(accounts: Accounts) -> None:
    add(accounts, "bob")
    assert not accounts.change_password("bob", "another hash", "x")
    assert accounts.change_password("bob", "hash of bob", "new hash")


def test_an_erased_person_leaves_nothing_and_others_lose_nothing(accounts: Accounts, store: Store) -> None:
    add(accounts, "ann", Role.ADMIN)
    add(accounts, "bob")
    ann, bob = (fill_at_rest(store, name) for name in ("ann", "bob"))
    accounts.invite("for bob", Role.MEMBER, made_by="ann", days=1, person="bob")
    before = read_own(store, ann)
    planned = plan_person_erasure(store.database, "BOB")
    assert (planned.name, len(planned.threads.threads), planned.prompts, planned.tags) == ("bob", 1, 1, 1)
    assert planned.threads.messages
    assert erase_person(store.database, "bob") == planned
    assert read_own(store, ann) == before
    with act_for(EVERYBODY):
        left = tables.read(store)
        assert not [name for name, rows in left.items() if "bob" in str(rows)]
        assert {name for name, rows in left.items() if bob.thread in str(rows)} == {"audit_entry"}
        assert verify(store.database).damages == ()
    with act_for("ann"):
        assert [each.id for each in SavedPrompts(store).list_prompts()] == [ann.prompt]
    with pytest.raises(InvalidAccountError, match="only admin"):
        erase_person(store.database, "ann")


def test_a_reader_writes_nothing_anywhere(accounts: Accounts, store: Store) -> None:
    things = fill_at_rest(store, "bob")
    with act_for("bob", only_reads=True):
        assert store.get_thread(things.thread).owner == "bob"
        with pytest.raises(ReadOnlyError):
            store.rename_thread(things.thread, "x")
        with pytest.raises(ReadOnlyError), store.database.begin_write():
            pass


@pytest.mark.slow
def test_one_process_of_several_keeps_the_sessions(postgres_url: str) -> None:
    first, other = Database.open_url(postgres_url), Database.open_url(postgres_url)
    for database in (first, other):
        database.share()
    first.claim(SIGN_IN_KEY)
    with pytest.raises(StoreInUseError):
        other.claim(SIGN_IN_KEY)
    first.close()
    other.claim(SIGN_IN_KEY)
    other.close()
