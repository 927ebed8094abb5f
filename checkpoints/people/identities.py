"""The people whom a provider signs in: a person is an issuer and a subject there, and neither an address nor a name.

The first sign-in makes the account. Its name is taken from the provider once, and is nobody else's; later ones renew the
role alone. An identity outlives the erasure of its person, as a hash: whoever was erased does not come back by signing in.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import sqlalchemy as sa

from ..rows import audit_rows, session_rows
from ..storage import schema
from ..storage.database import retry_contended
from ..storage.ownership import EVERYBODY, act_for
from ..store import Store
from ..values.audit_entry import THE_COMMAND_LINE, AuditKind
from ..values.errors import StateError
from ..values.sentence import sentence
from .account_rows import (
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

CODE_CHARS = 12  # of an identity: enough to tell those of one server apart
_identity, _person = schema.identity.c, schema.person.c
_NAMELESS = "Person"
_BASE_CHARS = MAX_PERSON_NAME_CHARS - 10  # there is room for a number


class ErasedPersonError(StateError):
    """Somebody who was erased signs in again."""

    def __init__(self, identity: str) -> None:
        code = identity[:CODE_CHARS]
        super().__init__(
            sentence("Your account here was removed. To come back, give whoever runs Waymark this code: {code}", code=code)
        )


@dataclass(frozen=True, slots=True)
class Admission:
    """Somebody who has signed in, and whether they have another role than the last time."""

    account: Account
    is_new: bool = False
    has_new_role: bool = False


class Identities:
    """The identities in the database of a store. As with accounts, the caller has checked who they are."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @act_for(EVERYBODY)
    @retry_contended
    def admit(self, issuer: str, subject: str, wanted_name: str, role: Role) -> Admission:
        """Return the account of somebody who signs in, with the role of now. Another role ends their sessions.

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
        """End the sessions of somebody who may not come in any more. Return their name, if they have one."""
        query = sa.select(_identity.person).where(_identity.id == hash_identity(issuer, subject))
        with self._store.database.begin_write("person") as connection:
            if person := connection.scalar(query):
                session_rows.delete_sessions(connection, person)
        return person

    @act_for(EVERYBODY)
    @retry_contended
    def readmit(self, code: str) -> bool:
        """Let somebody who was erased come again, as a new person. Return whether there was one."""
        own = sa.and_(_identity.person.is_(None), sa.func.substr(_identity.id, 1, CODE_CHARS) == code)
        with self._store.database.begin_write("person") as connection:
            is_readmitted = bool(connection.execute(sa.delete(schema.identity).where(own)).rowcount)
            if is_readmitted:  # the entry has no code: nothing names who was erased
                detail, now = {"readmits": True, "role": Role.MEMBER}, self._store.now()  # older versions read the role
                audit_rows.insert_entry(connection, now, AuditKind.INVITATION, detail, person=THE_COMMAND_LINE)
        return is_readmitted


def hash_identity(issuer: str, subject: str) -> str:
    """Return the id of an identity. No issuer has a NUL: it is an address."""
    return hashlib.sha256(f"{issuer}\0{subject}".encode("utf-8", "surrogatepass")).hexdigest()


def _choose_name(connection: sa.Connection, wanted: str) -> str:
    """Return a free name: the wanted one, or with a number behind it."""
    return next(name for name in _list_names(wanted) if is_free(connection, name))


def _list_names(wanted: str) -> Iterator[str]:
    try:
        base = clean_person_name(wanted.replace(",", " ")[:_BASE_CHARS])[:_BASE_CHARS].strip()
    except InvalidAccountError:  # nothing of it can be seen, or the name is reserved
        base = _NAMELESS
    yield base
    yield from (f"{base} {number}" for number in count(2))
