"""People whom a provider signs in, in every kind of database."""

from datetime import UTC, datetime
from functools import partial

import pytest

from checkpoints import Store
from checkpoints.people.audit_log import AuditLog
from checkpoints.rows.account_rows import Role
from checkpoints.upkeep.person_erasure import erase_person
from checkpoints.values.audit_entry import THE_COMMAND_LINE, AuditKind
from extensions.people.accounts import Accounts
from extensions.people.identities import CODE_CHARS, ErasedPersonError, Identities, hash_identity
from extensions.people.stored_sessions import SessionLimits, StoredSession, StoredSessions
from tests.extensions.people.test_accounts import add, fill_at_rest

ISSUER = "https://id.example"


@pytest.fixture
def identities(store: Store) -> Identities:
    store.database.separate_owners()
    return Identities(store)


def admit(identities: Identities, subject: str, name: str = "Ann", role: Role = Role.MEMBER, issuer: str = ISSUER) -> str:
    return identities.admit(issuer, subject, name, role).account.name


def test_a_person_is_an_issuer_and_a_subject_whatever_they_are_called(identities: Identities) -> None:
    assert admit(identities, "1", "Ann") == "Ann"
    assert admit(identities, "1", "Ann Married") == "Ann"
    assert admit(identities, "2", "ANN") == "ANN 2"
    assert admit(identities, "2", "Ann") == "ANN 2"
    assert admit(identities, "1", "Ann", issuer="https://other.example") == "Ann 3"


def test_nobody_gets_the_name_of_another_or_of_things_that_were_left(identities: Identities, store: Store) -> None:
    accounts = Accounts(store)
    add(accounts, "bob")
    fill_at_rest(store, "left")
    assert [admit(identities, name, name) for name in ("bob", "left", "ＢＯＢ")] == ["bob 2", "left 2", "BOB 3"]


@pytest.mark.parametrize("name", ["", "local", "\u202e", "ﷺ" * 70])
def test_a_name_that_cannot_be_is_replaced(identities: Identities, name: str) -> None:
    assert [admit(identities, subject, name) for subject in "12"] == ["Person", "Person 2"]


def test_a_name_keeps_its_length_and_has_no_comma(identities: Identities) -> None:
    assert admit(identities, "1", "Smith, Ann") == "Smith Ann"
    assert [len(admit(identities, subject, "x" * 500)) for subject in "23"] == [70, 72]


def test_another_role_and_no_role_end_the_sessions(identities: Identities, store: Store) -> None:
    sessions = StoredSessions(store, SessionLimits(60, 60, 10, are_of_provider=True))

    def begin() -> None:
        identities.admit(ISSUER, "1", "Ann", Role.MEMBER)
        now = datetime.now(UTC).timestamp()
        sessions.begin(StoredSession("id", "cookie", "key", "Firefox", now, now, "Ann", "member"))

    begin()
    for end in (partial(identities.admit, ISSUER, "1", "Ann", Role.READER), partial(identities.end_sessions, ISSUER, "1")):
        identities.end_sessions(ISSUER, "2")
        assert len(sessions.list_open("Ann")) == 1
        assert not StoredSessions(store, SessionLimits(60, 60, 10)).find(["cookie"])  # where people have passwords
        end()
        assert sessions.list_open("Ann") == []
        begin()


def test_each_sign_in_renews_the_role(identities: Identities, store: Store) -> None:
    first, same, other = (identities.admit(ISSUER, "1", "Ann", role) for role in (Role.ADMIN, Role.ADMIN, Role.READER))
    assert [each.is_new for each in (first, same, other)] == [True, False, False]
    assert [each.has_new_role for each in (first, same, other)] == [False, False, True]
    [account] = Accounts(store).list_accounts()
    assert (account.role, account.password_hash) == (Role.READER, "")


def test_whoever_was_erased_comes_back_only_when_they_are_readmitted(identities: Identities, store: Store) -> None:
    admit(identities, "1", "Ann")
    erase_person(store.database, "Ann")
    with pytest.raises(ErasedPersonError) as caught:
        admit(identities, "1", "Ann")
    assert Accounts(store).list_accounts() == []
    code = hash_identity(ISSUER, "1")[:CODE_CHARS]
    assert str(caught.value).endswith(code)
    assert [identities.readmit(each) for each in ("", code[:-1], code, code)] == [False, False, True, False]
    [entry] = AuditLog(store).list_entries(9, kind=AuditKind.INVITATION)
    assert (entry.person, entry.about, entry.detail) == (THE_COMMAND_LINE, "", {"readmits": True, "role": "member"})
    assert admit(identities, "1", "Ann") == "Ann"
    assert not identities.readmit(code)
