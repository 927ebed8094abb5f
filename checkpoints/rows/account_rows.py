"""Accounts within a transaction: names, roles, and the rows of people."""

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

import sqlalchemy as sa

from ..storage import schema
from ..storage.ownership import LOCAL_OWNER
from ..values.audit_entry import THE_COMMAND_LINE, AuditKind
from ..values.errors import StateError
from ..values.names import clean_name, fold_person_name, make_skeleton
from ..values.sentence import sentence
from . import audit_rows, person_rows, session_rows
from .thread_rows import from_time, to_time

MAX_PERSON_NAME_CHARS = 80
MIN_PASSWORD_CHARS = 12
MAX_PASSWORD_CHARS = 500
_person = schema.person.c


class Role(StrEnum):
    # Admins also invite and erase people.
    ADMIN = "admin"
    MEMBER = "member"
    # Readers change nothing.
    READER = "reader"


class InvalidAccountError(StateError):
    """A name, role or invitation is invalid."""


@dataclass(frozen=True, slots=True)
class Account:
    """A person who signs in. An empty `password_hash` means a provider signs them in, and no password fits."""

    name: str
    role: Role
    password_hash: str
    created_at: datetime


def clean_person_name(name: str) -> str:
    """Return a name as stored. Raises `InvalidAccountError`."""
    cleaned = clean_name(unicodedata.normalize("NFKC", name))
    is_reserved = make_skeleton(cleaned) in ("", *map(make_skeleton, (LOCAL_OWNER, THE_COMMAND_LINE)))
    if is_reserved or len(cleaned) > MAX_PERSON_NAME_CHARS or "," in cleaned:
        raise InvalidAccountError(sentence("A name has 1 to {limit} characters, and no comma.", limit=MAX_PERSON_NAME_CHARS))
    return cleaned


def is_free(connection: sa.Connection, name: str) -> bool:
    """Return whether a new person may take a clean name: it resembles no other name, and no rows belong to it."""
    skeleton = make_skeleton(name)
    looks_taken = any(make_skeleton(each) == skeleton for each in connection.scalars(sa.select(_person.name)))
    return not looks_taken and find_account(connection, name) is None and not person_rows.is_name_in_use(connection, name)


def insert_account(connection: sa.Connection, account: Account) -> None:
    """Insert an account. Its name must be free."""
    row = {"name": account.name, "folded": fold_person_name(account.name), "role": account.role}
    times = {"created_at": from_time(account.created_at)}
    connection.execute(sa.insert(schema.person).values(**row, **times, password_hash=account.password_hash))


def replace_role(connection: sa.Connection, account: Account, role: Role, now: datetime) -> None:
    """Change a person's role. Their sessions, a reader's shared links, and links made as an admin end."""
    person_rows.update_role(connection, account.name, role)
    session_rows.delete_sessions(connection, account.name)
    if role != Role.ADMIN:
        person_rows.delete_invitations_by(connection, account.name)
    detail: dict[str, object] = {"former": account.role, "role": role}
    if role == Role.READER:
        detail["ended_links"] = person_rows.delete_shares_of(connection, account.name)
    audit_rows.insert_entry(connection, now, AuditKind.ROLE, detail, about=account.name)


def require_other_admin(connection: sa.Connection, account: Account) -> None:
    """Raise `InvalidAccountError` for the last admin, without whom nobody could invite."""
    if account.role == Role.ADMIN and person_rows.count_persons(connection, Role.ADMIN) == 1:
        raise InvalidAccountError(sentence("{name} is the only admin. Make another one first.", name=account.name))


def select_account(connection: sa.Connection, name: str) -> Account:
    """Return the account of a name. Raises `InvalidAccountError`."""
    account = find_account(connection, name)
    if account is None:
        raise InvalidAccountError(sentence("There is nobody with the name {name}.", name=clean_name(name)))
    return account


def find_account(connection: sa.Connection, name: str) -> Account | None:
    row = connection.execute(sa.select(schema.person).where(_person.folded == fold_person_name(name))).one_or_none()
    return None if row is None else to_account(row)


def to_account(row: sa.Row[tuple[object, ...]]) -> Account:
    return Account(row.name, Role(row.role), row.password_hash, to_time(row.created_at))
