"""People signed in by a provider, identified by issuer and subject, not by an address or a name.

The first sign-in creates the account, with a unique name taken from the provider. Later sign-ins update only the role.
An identity outlives its person's erasure as a hash, so an erased person does not come back by signing in.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import sqlalchemy as sa

from checkpoints.rows import audit_rows, session_rows
from checkpoints.rows.account_rows import (
    MAX_PERSON_NAME_CHARS,
    Account,
    InvalidAccountError,
    Role,
    clean_person_name,
    insert_account,
    is_free,
    replace_role,
    select_account,
)
from checkpoints.storage import schema
from checkpoints.storage.database import retry_contended
from checkpoints.storage.ownership import EVERYBODY, act_for
from checkpoints.store import Store
from checkpoints.values.audit_entry import THE_COMMAND_LINE, AuditKind
from checkpoints.values.errors import StateError
from checkpoints.values.sentence import sentence

# The characters of an identity that tell the people of a server apart.
CODE_CHARS = 12
_identity, _person = schema.identity.c, schema.person.c
_NAMELESS = "Person"
# This leaves room for a number.
_BASE_CHARS = MAX_PERSON_NAME_CHARS - 10


class ErasedPersonError(StateError):
    """An erased person signs in again."""

    def __init__(self, identity: str) -> None:
        code = identity[:CODE_CHARS]
        super().__init__(
            sentence("Your account here was removed. To come back, give whoever runs Waymark this code: {code}", code=code)
        )


@dataclass(frozen=True, slots=True)
class Admission:
    """A sign-in, and whether the account is new or its role has changed."""

    account: Account
    is_new: bool = False
    has_new_role: bool = False


class Identities:
    """The identities in a store's database. As with accounts, the caller has checked who they are."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @act_for(EVERYBODY)
    @retry_contended
    def admit(self, issuer: str, subject: str, wanted_name: str, role: Role) -> Admission:
        """Return the account for a sign-in, with the current role. A changed role ends their sessions.

        Raises `ErasedPersonError`.
        """
        identity = hash_identity(issuer, subject)
        with self._store.database.begin_write("person") as connection:
            row = connection.execute(sa.select(schema.identity).where(_identity.id == identity)).one_or_none()
            if row is None:
                account = Account(_choose_name(connection, wanted_name), role, "", self._store.now())
                insert_account(connection, account)
                connection.execute(sa.insert(schema.identity).values(id=identity, person=account.name))
                audit_rows.insert_entry(
                    connection, account.created_at, AuditKind.ACCOUNT, {"role": role}, person=account.name
                )
                return Admission(account, is_new=True)
            if row.person is None:
                raise ErasedPersonError(identity)
            known = select_account(connection, row.person)
            if known.role == role:
                return Admission(known)
            replace_role(connection, known, role, self._store.now())
            return Admission(Account(known.name, role, known.password_hash, known.created_at), has_new_role=True)

    @act_for(EVERYBODY)
    @retry_contended
    def end_sessions(self, issuer: str, subject: str) -> str | None:
        """End the sessions of a person who is no longer admitted. Return their name, if known."""
        query = sa.select(_identity.person).where(_identity.id == hash_identity(issuer, subject))
        with self._store.database.begin_write("person") as connection:
            if person := connection.scalar(query):
                session_rows.delete_sessions(connection, person)
        return person

    @act_for(EVERYBODY)
    @retry_contended
    def readmit(self, code: str) -> bool:
        """Admit an erased person again, as a new person. Return whether the code was known."""
        own = sa.and_(_identity.person.is_(None), sa.func.substr(_identity.id, 1, CODE_CHARS) == code)
        with self._store.database.begin_write("person") as connection:
            is_readmitted = bool(connection.execute(sa.delete(schema.identity).where(own)).rowcount)
            if is_readmitted:
                # The entry omits the code: nothing may name an erased person. Older versions read the role.
                detail, now = {"readmits": True, "role": Role.MEMBER}, self._store.now()
                audit_rows.insert_entry(connection, now, AuditKind.INVITATION, detail, person=THE_COMMAND_LINE)
        return is_readmitted


def hash_identity(issuer: str, subject: str) -> str:
    """Return an identity's id. Issuers are addresses, so they contain no NUL."""
    return hashlib.sha256(f"{issuer}\0{subject}".encode("utf-8", "surrogatepass")).hexdigest()


def _choose_name(connection: sa.Connection, wanted: str) -> str:
    """Return a free name: the wanted name, with a number if needed."""
    return next(name for name in _list_names(wanted) if is_free(connection, name))


def _list_names(wanted: str) -> Iterator[str]:
    try:
        base = clean_person_name(wanted.replace(",", " ")[:_BASE_CHARS])[:_BASE_CHARS].strip()
    except InvalidAccountError:
        # The name is invisible or reserved.
        base = _NAMELESS
    yield base
    yield from (f"{base} {number}" for number in count(2))
