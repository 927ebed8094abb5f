"""Accounts, and invitations for people with passwords: links that work once, until a date.

Passwords are stored as hashes made by the caller, links as the hash of their token. Every method acts for everybody:
its caller has checked who asks. A person's name owns all of their rows, and never changes. For people signed in by a
provider, see `identities`.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import sqlalchemy as sa

from checkpoints.rows import audit_rows, person_rows, session_rows
from checkpoints.rows.account_rows import (
    Account,
    InvalidAccountError,
    Role,
    clean_person_name,
    find_account,
    insert_account,
    is_free,
    replace_role,
    require_other_admin,
    select_account,
    to_account,
)
from checkpoints.rows.thread_rows import from_time, to_time
from checkpoints.storage import schema
from checkpoints.storage.database import retry_contended
from checkpoints.storage.ownership import EVERYBODY, act_for
from checkpoints.store import Store, new_id
from checkpoints.values.audit_entry import AuditKind
from checkpoints.values.errors import StateError
from checkpoints.values.sentence import sentence

MAX_INVITATIONS = 200
MAX_INVITATION_DAYS = 90
# The server makes the link for the first admin.
THE_SERVER = ""
_person, _invitation = schema.person.c, schema.invitation.c


class InvalidInvitationError(StateError):
    """The link was used, revoked or replaced, or has expired."""

    def __init__(self) -> None:
        super().__init__(sentence("This link no longer works. Ask for a new one."))


@dataclass(frozen=True, slots=True)
class Invitation:
    """An unused link. With `person`, it is for a new password of theirs."""

    id: str
    role: Role
    person: str | None
    made_by: str
    expires_at: datetime


class Accounts:
    """The accounts and invitations in a store's database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @act_for(EVERYBODY)
    def list_accounts(self) -> list[Account]:
        """List all accounts, by name."""
        with self._store.database.begin_read() as connection:
            return [to_account(row) for row in connection.execute(sa.select(schema.person).order_by(_person.folded))]

    @act_for(EVERYBODY)
    def find_account(self, name: str) -> Account | None:
        """Return the account of a name, ignoring case."""
        with self._store.database.begin_read() as connection:
            return find_account(connection, name)

    @act_for(EVERYBODY)
    def has_admin(self) -> bool:
        with self._store.database.begin_read() as connection:
            return person_rows.count_persons(connection, Role.ADMIN) > 0

    @act_for(EVERYBODY)
    @retry_contended
    def invite(
        self, token: str, role: Role, *, made_by: str, days: int, person: str | None = None, replaces: bool = False
    ) -> Invitation:
        """Store an invitation for a link with this token. With `person` or `replaces`, the earlier links end.

        Raises `InvalidAccountError`.
        """
        if not 1 <= days <= MAX_INVITATION_DAYS:
            raise InvalidAccountError(sentence("A link works for 1 to {days} days.", days=MAX_INVITATION_DAYS))
        now = self._store.now()
        with self._store.database.begin_write("person") as connection:
            account = select_account(connection, person) if person is not None else None
            same = _invitation.person == account.name if account else _invitation.made_by == made_by
            earlier = same if account or replaces else sa.false()
            connection.execute(sa.delete(schema.invitation).where(sa.or_(_invitation.expires_at <= from_time(now), earlier)))
            if (connection.scalar(sa.select(sa.func.count()).select_from(schema.invitation)) or 0) >= MAX_INVITATIONS:
                raise InvalidAccountError(sentence("There are {limit} links already. End one first.", limit=MAX_INVITATIONS))
            made = Invitation(
                new_id(),
                account.role if account else role,
                account.name if account else None,
                made_by,
                now + timedelta(days=days),
            )
            values = {"id": made.id, "token_hash": _hash(token), "role": made.role, "person": made.person}
            row = {**values, "made_by": made_by, "expires_at": from_time(made.expires_at)}
            connection.execute(sa.insert(schema.invitation).values(row))
            about, detail = made.person or "", {"role": made.role, "days": days, "link": made.id}
            audit_rows.insert_entry(connection, now, AuditKind.INVITATION, detail, person=made_by, about=about)
        return made

    @act_for(EVERYBODY)
    def list_invitations(self) -> list[Invitation]:
        """List the valid links, by end."""
        query = sa.select(schema.invitation).where(self._is_valid()).order_by(_invitation.expires_at, _invitation.id)
        with self._store.database.begin_read() as connection:
            return [_to_invitation(row) for row in connection.execute(query)]

    @act_for(EVERYBODY)
    def find_invitation(self, token: str) -> Invitation:
        """Return the invitation of a link, without using it. Raises `InvalidInvitationError`."""
        with self._store.database.begin_read() as connection:
            return self._require_invitation(connection, token)

    @act_for(EVERYBODY)
    @retry_contended
    def revoke_invitation(self, invitation_id: str) -> None:
        with self._store.database.begin_write("person") as connection:
            ended = connection.execute(sa.delete(schema.invitation).where(_invitation.id == invitation_id)).rowcount
            if ended:
                now = self._store.now()
                audit_rows.insert_entry(connection, now, AuditKind.INVITATION_REVOKED, {"link": invitation_id})

    @act_for(EVERYBODY)
    @retry_contended
    def accept_invitation(self, token: str, name: str, password_hash: str) -> Account:
        """Use a link: create the account, or set the new password of the link's person.

        Raises `InvalidInvitationError` and `InvalidAccountError`.
        """
        with self._store.database.begin_write("person") as connection:
            invitation = self._require_invitation(connection, token)
            connection.execute(sa.delete(schema.invitation).where(_invitation.id == invitation.id))
            now, named = self._store.now(), {"link": invitation.id, "role": invitation.role}
            if invitation.person is not None:
                changed = select_account(connection, invitation.person)
                person_rows.change_password(connection, changed.name, password_hash)
                session_rows.delete_sessions(connection, changed.name)
                audit_rows.insert_entry(connection, now, AuditKind.PASSWORD, named, person=changed.name)
                return replace(changed, password_hash=password_hash)
            account = Account(self._check_name(connection, name), invitation.role, password_hash, now)
            insert_account(connection, account)
            audit_rows.insert_entry(connection, now, AuditKind.ACCOUNT, named, person=account.name)
        return account

    @act_for(EVERYBODY)
    @retry_contended
    def change_password(self, name: str, former_hash: str, new_hash: str, *, session_id: str) -> bool:
        """Change a password. End the person's sessions except `session_id`, and the links for a new password.

        Return False, and change nothing, if the former hash is no longer stored.
        """
        with self._store.database.begin_write("person") as connection:
            account = find_account(connection, name)
            if account is None or account.password_hash != former_hash:
                return False
            person_rows.change_password(connection, account.name, new_hash)
            session_rows.delete_sessions(connection, account.name, session_id)
            audit_rows.insert_entry(connection, self._store.now(), AuditKind.PASSWORD, {}, person=name)
        return True

    @act_for(EVERYBODY)
    @retry_contended
    def renew_hash(self, account: Account, new_hash: str) -> Account:
        """Replace the hash of an unchanged password, unless the password was changed meanwhile."""
        own = sa.and_(_person.name == account.name, _person.password_hash == account.password_hash)
        with self._store.database.begin_write("person") as connection:
            connection.execute(sa.update(schema.person).where(own).values(password_hash=new_hash))
        return replace(account, password_hash=new_hash)

    @act_for(EVERYBODY)
    @retry_contended
    def change_role(self, name: str, role: Role) -> str:
        """Change a role. End the person's sessions and the links they made as an admin. Return their name.

        A new reader's shared links end too. Raises `InvalidAccountError` for the last admin.
        """
        with self._store.database.begin_write("person") as connection:
            account = select_account(connection, name)
            if role != Role.ADMIN:
                require_other_admin(connection, account)
            replace_role(connection, account, role, self._store.now())
        return account.name

    @act_for(EVERYBODY)
    def check_erasable(self, name: str) -> None:
        """Raise `InvalidAccountError` for an unknown name, and for the last admin."""
        with self._store.database.begin_read() as connection:
            require_other_admin(connection, select_account(connection, name))

    def _is_valid(self) -> sa.ColumnElement[bool]:
        return _invitation.expires_at > from_time(self._store.now())

    def _require_invitation(self, connection: sa.Connection, token: str) -> Invitation:
        query = sa.select(schema.invitation).where(_invitation.token_hash == _hash(token), self._is_valid())
        row = connection.execute(query).one_or_none()
        if row is None:
            raise InvalidInvitationError
        return _to_invitation(row)

    def _check_name(self, connection: sa.Connection, name: str) -> str:
        cleaned = clean_person_name(name)
        if not is_free(connection, cleaned):
            raise InvalidAccountError(sentence("The name {name} is taken. Choose another.", name=cleaned))
        return cleaned


def _to_invitation(row: sa.Row[tuple[object, ...]]) -> Invitation:
    return Invitation(row.id, Role(row.role), row.person, row.made_by, to_time(row.expires_at))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
