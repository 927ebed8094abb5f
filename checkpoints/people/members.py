"""People admitted to a conversation by its owner: editors, who work in it, and readers, who follow it.

The check of each statement asks for their role (see storage.ownership). Only the owner admits people. A member may leave.
"""

import sqlalchemy as sa

from ..rows import audit_rows, member_rows, thread_rows
from ..rows.member_rows import Member
from ..storage import person_locks, schema
from ..storage.database import retry_contended
from ..storage.ownership import EVERYBODY, act_for, find_role, pass_checks, require_owner
from ..store import Store
from ..values.audit_entry import AuditKind
from ..values.errors import InvalidMemberError, PersonErasedError
from ..values.limits import MAX_MEMBER_NAME_CHARS, MAX_MEMBERS_OF_THREAD, MAX_SHARED_THREADS
from ..values.model import Thread, ThreadRole
from ..values.names import clean_name, fold_person_name
from ..values.sentence import sentence

MEMBER_ROLES = (ThreadRole.EDITOR, ThreadRole.READER)


class Members:
    """The members of a store's conversations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find_role(self, thread_id: str) -> ThreadRole | None:
        """Return the acting person's role, or None if they may not see the conversation."""
        with self._store.database.begin_read() as connection:
            return find_role(connection, thread_id)

    def require_owner(self, thread_id: str) -> None:
        """Require that the acting person owns a conversation. Raises `ThreadNotFoundError`, and `OwnerOnlyError`."""
        with self._store.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            require_owner(connection, thread_id)

    def require_member(self, thread_id: str, person: str) -> None:
        """Require that the owner asks about an existing member. Raises `InvalidMemberError`, and `OwnerOnlyError`."""
        self.require_owner(thread_id)
        if all(each.person != person for each in self.list_members(thread_id)):
            raise InvalidMemberError(sentence("{name} is not in this conversation.", name=person))

    def require_shared_thread(self, thread_id: str) -> Thread:
        """Return a conversation of another owner. Raises `InvalidMemberError`."""
        with self._store.database.begin_read() as connection:
            thread = thread_rows.select_thread(connection, thread_id)
        if thread.owner == self._store.database.name_owner():
            raise InvalidMemberError(sentence("The owner of a conversation cannot leave it."))
        return thread

    def list_members(self, thread_id: str) -> list[Member]:
        """Return a conversation's members, for its owner and its members."""
        with self._store.database.begin_read() as connection:
            thread_rows.select_thread(connection, thread_id)
            return member_rows.select_members(connection, thread_id)

    @retry_contended
    def add_member(self, thread_id: str, name: str, role: ThreadRole) -> Member:
        """Admit a person to a conversation. Raises `InvalidMemberError`, and `OwnerOnlyError`."""
        self._require_named_people()
        # Only the owner may look up a name.
        self.require_owner(thread_id)
        person = self._find_person(name)
        made = Member(person, role, self._store.database.name_owner(), self._store.now())
        with self._store.database.begin_write(f"members of {person}") as connection:
            # The thread is locked, like the person, because both are counted.
            thread = thread_rows.select_thread(connection, thread_id)
            require_owner(connection, thread_id)
            members = member_rows.select_members(connection, thread_id)
            if person == thread.owner or any(each.person == person for each in members):
                raise InvalidMemberError(sentence("{name} is in this conversation already.", name=person))
            if len(members) >= MAX_MEMBERS_OF_THREAD:
                raise InvalidMemberError(sentence("A conversation has at most {limit} people.", limit=MAX_MEMBERS_OF_THREAD))
            self._hold(connection, person)
            self._check_room_for(connection, person)
            member_rows.insert_member(connection, thread_id, made)
            self._record(connection, AuditKind.MEMBER, {"thread": thread_id, "role": role}, person)
        return made

    @retry_contended
    def change_role(self, thread_id: str, person: str, role: ThreadRole) -> None:
        """Change a member's role. Raises `InvalidMemberError`, and `OwnerOnlyError`."""
        with self._store.database.begin_write() as connection:
            thread_rows.select_thread(connection, thread_id)
            require_owner(connection, thread_id)
            if not member_rows.update_role(connection, thread_id, person, role):
                raise InvalidMemberError(sentence("{name} is not in this conversation.", name=person))
            self._record(connection, AuditKind.MEMBER_ROLE, {"thread": thread_id, "role": role}, person)

    @retry_contended
    def remove_member(self, thread_id: str, person: str) -> None:
        """Remove a member. Raises `InvalidMemberError`, and `OwnerOnlyError`."""
        with self._store.database.begin_write() as connection:
            thread_rows.select_thread(connection, thread_id)
            require_owner(connection, thread_id)
            if not member_rows.delete_member(connection, thread_id, person):
                raise InvalidMemberError(sentence("{name} is not in this conversation.", name=person))
            self._record(connection, AuditKind.MEMBER_REMOVED, {"thread": thread_id, "left": False}, person)

    @retry_contended
    def leave(self, thread_id: str) -> None:
        """Leave another owner's conversation, also as a reader. Raises `InvalidMemberError`."""
        self.require_shared_thread(thread_id)
        person = self._store.database.name_owner()
        with act_for(EVERYBODY), self._store.database.begin_write() as connection:
            # The lock keeps an answer of theirs from beginning meanwhile.
            thread_rows.select_thread(connection, thread_id, include_deleted=True)
            if member_rows.delete_member(connection, thread_id, person):
                detail = {"thread": thread_id, "left": True}
                now = self._store.now()
                audit_rows.insert_entry(connection, now, AuditKind.MEMBER_REMOVED, detail, person=person, about=person)

    def _require_named_people(self) -> None:
        if not self._store.database.separates_owners:
            raise InvalidMemberError(sentence("This Waymark serves one person."))

    @act_for(EVERYBODY)
    def _find_person(self, name: str) -> str:
        """Return a person's name as in their account. Without any accounts, a proxy names the people."""
        cleaned = clean_name(name)
        # No name is longer, and only names of erased people have a comma.
        if not cleaned or len(name) > MAX_MEMBER_NAME_CHARS or "," in cleaned:
            text = sentence("A name has 1 to {limit} characters, and no comma.", limit=MAX_MEMBER_NAME_CHARS)
            raise InvalidMemberError(text)
        with self._store.database.begin_read() as connection:
            has_accounts = connection.execute(sa.select(schema.person.c.name).limit(1)).first() is not None
            known = connection.scalar(
                sa.select(schema.person.c.name).where(schema.person.c.folded == fold_person_name(cleaned))
            )
            if has_accounts and known is None:
                raise InvalidMemberError(sentence("Nobody here is called {name}.", name=cleaned))
        return known or cleaned

    def _hold(self, connection: sa.Connection, person: str) -> None:
        try:
            person_locks.hold_person(connection, person, has_account=self._store.database.has_accounts)
        except PersonErasedError:
            raise InvalidMemberError(sentence("Nobody here is called {name}.", name=person)) from None

    def _check_room_for(self, connection: sa.Connection, person: str) -> None:
        """Refuse a person with too many shared conversations, in the transaction that admits them."""
        with pass_checks(connection):
            count = member_rows.count_shared(connection, person)
        if count >= MAX_SHARED_THREADS:
            text = sentence(
                "{name} is in {limit:,} conversations of others already, as many as one can be.",
                name=person,
                limit=MAX_SHARED_THREADS,
            )
            raise InvalidMemberError(text)

    def _record(self, connection: sa.Connection, kind: AuditKind, detail: dict[str, object], person: str) -> None:
        audit_rows.insert_entry(connection, self._store.now(), kind, detail, about=person)
