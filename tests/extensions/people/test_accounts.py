"""Accounts and invitations, and the erasure of a person, in every kind of database."""

from datetime import timedelta
from itertools import count

import pytest

from checkpoints import EVERYBODY, Runs, RunState, Store, act_for
from checkpoints.rows.account_rows import InvalidAccountError, Role
from checkpoints.saved_prompts import SavedPrompts
from checkpoints.storage import schema
from checkpoints.upkeep.person_erasure import erase_person, plan_person_erasure
from checkpoints.upkeep.verification import verify
from checkpoints.values.errors import ReadOnlyError
from extensions.people.accounts import Accounts, InvalidInvitationError
from extensions.people.stored_sessions import AccountChangedError, SessionLimits, StoredSession, StoredSessions
from tests.checkpoints import tables
from tests.conftest import Clock
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
    assert not accounts.change_password("bob", "another hash", "x", session_id="")
    assert accounts.change_password("BOB", "hash of bob", "new hash", session_id="")


def test_a_new_password_ends_the_links_for_another_one(accounts: Accounts) -> None:
    add(accounts, "bob")
    accounts.invite("in a stolen mail", Role.MEMBER, made_by="ann", days=9, person="bob")
    accounts.invite("for a new person", Role.MEMBER, made_by="ann", days=9)
    accounts.change_password("bob", "hash of bob", "new hash", session_id="")
    assert [each.person for each in accounts.list_invitations()] == [None]


def test_who_is_no_admin_any_more_has_no_link_left_to_become_one(accounts: Accounts, store: Store) -> None:
    for name in ("ann", "bob", "eve"):
        add(accounts, name, Role.ADMIN)
        accounts.invite(f"{name} comes back", Role.ADMIN, made_by=name, days=9)
    accounts.change_role("eve", Role.ADMIN)
    assert len(accounts.list_invitations()) == 3
    accounts.change_role("eve", Role.READER)
    erase_person(store.database, "bob")
    assert [each.made_by for each in accounts.list_invitations()] == ["ann"]


LOOK_ALIKES = ["\u0430nn", "an\u200bn", "ANN\u00ad", "\ufe0fann", "a n n", "\uff41nn", "ann\u2060"]


def test_no_new_name_looks_like_another(accounts: Accounts) -> None:
    add(accounts, "Ann")
    add(accounts, "\u0421\u0430\u0448\u0430")  # a name in one script is like any other
    for name in (*LOOK_ALIKES, "the \u0441ommand line", "l\u043eca1", "\u3164"):
        with pytest.raises(InvalidAccountError):
            add(accounts, name)


def test_changes_of_an_account_end_its_sessions_in_the_same_moment(accounts: Accounts, store: Store) -> None:
    for name in ("ann", "bob"):
        add(accounts, name, Role.ADMIN)
    sessions = StoredSessions(store, SessionLimits(30 * 86_400, 7 * 86_400, 3), store.now)

    def begin(person: str) -> StoredSession:
        account = accounts.find_account(person)
        assert account
        now = store.now().timestamp()
        number = next(numbers)
        session = StoredSession(f"id {number}", f"cookie {number}", "key", "Firefox", now, now, person, account.role)
        sessions.begin(session, account.password_hash)
        return session

    numbers = count()
    kept, other, of_ann = begin("bob"), begin("bob"), begin("ann")
    accounts.change_password("bob", "hash of bob", "new hash", session_id=kept.id)
    assert [each.id for each in sessions.list_open("bob")] == [kept.id]
    assert sessions.find([kept.cookie_hash, other.cookie_hash]) == [kept]
    accounts.change_role("bob", Role.READER)
    assert sessions.list_open("bob") == []
    later = begin("bob")
    accounts.invite("forgotten", Role.MEMBER, made_by="ann", days=1, person="bob")
    accounts.accept_invitation("forgotten", "", "newest hash")
    assert sessions.find([later.cookie_hash]) == []
    begin("bob")
    erase_person(store.database, "bob")
    assert sessions.list_open("bob") == []
    assert sessions.end([of_ann.id, "unknown"]) == [of_ann]
    for former in (of_ann, later):
        with pytest.raises(AccountChangedError):
            sessions.begin(former, "an earlier hash")


def test_of_too_many_sessions_the_least_used_ends_and_time_ends_all(accounts: Accounts, store: Store, clock: Clock) -> None:
    add(accounts, "bob")
    sessions = StoredSessions(store, SessionLimits(30 * 86_400, 7 * 86_400, 2), store.now)
    begun, ended = [], []
    for number in range(3):
        clock.turn(timedelta(hours=1))
        now = store.now().timestamp()
        begun.append(StoredSession(f"id {number}", f"cookie {number}", "key", "Firefox", now, now, "bob", Role.MEMBER))
        ended += sessions.begin(begun[-1])
        clock.turn(timedelta(minutes=1))
        sessions.note_use("id 0")
    assert [each.id for each in ended] == ["id 1"]
    assert [each.id for each in sessions.list_open("bob")] == ["id 0", "id 2"]
    clock.turn(timedelta(days=7))
    assert sessions.list_open("bob") == []


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
