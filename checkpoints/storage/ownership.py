"""The acting owner, and the rows their statements may touch.

Where a database separates owners, every statement of a connection is checked here, and refused by default. A statement
passes if it names the acting owner or a conversation of theirs. After it, statements naming neither also pass, since
they use ids found by it. Another owner's conversation is refused as if it never existed, unless its owner has let the
person in: a member reads it, and an editor changes it (see members).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from functools import cache
from itertools import chain
from typing import Any, Final, Literal

import sqlalchemy as sa

from ..values.errors import OwnerOnlyError, ReadOnlyError, ThreadNotFoundError
from ..values.model import ThreadRole
from . import person_locks, row_security, schema
from .access import ACCESS, UNCHECKED, Access, exempt_query, find_access

# The owner where nobody signs in.
LOCAL_OWNER: Final = "local"
# The server's own work.
EVERYBODY: Final = None
NOBODY: Final = ""

_Kind = Literal["thread", "owner"]
_acting_owner: ContextVar[str | None] = ContextVar("acting_owner", default=NOBODY)
_only_reads: ContextVar[bool] = ContextVar("only_reads", default=False)
_THREAD_NAME = re.compile(r"((common_)?thread_id|of_thread|thread)(_\d+)*")
_OWNER_NAME = re.compile(r"owner(_\d+)*")
_member = schema.thread_member.c
_is_own_membership = sa.and_(
    _member.thread_id == schema.thread.c.id,
    _member.person == sa.bindparam("acting_person"),
    # Only its owner can bring back a deleted conversation.
    schema.thread.c.deleted_at.is_(None),
)
_role_query = exempt_query(
    sa.select(schema.thread.c.id, schema.thread.c.owner, _member.role)
    .outerjoin(schema.thread_member, _is_own_membership)
    .where(schema.thread.c.id.in_(sa.bindparam("checked_ids", expanding=True)))
)
# PostgreSQL's policies skip the look-up of conversations the transaction has already named: see row_security.
_ADD_NAME = "set_config('waymark.{0}', concat_ws(',', current_setting('waymark.{0}', true), t.id), true)"
_naming_query = exempt_query(
    sa.text(
        "SELECT t.id, t.owner, m.role, "  # noqa: S608  (no values)
        f"CASE WHEN t.owner = :acting_person OR m.role IS NOT NULL THEN {_ADD_NAME.format('threads')} END, "
        f"CASE WHEN t.owner = :acting_person OR m.role = 'editor' THEN {_ADD_NAME.format('changed')} END "
        "FROM thread t LEFT JOIN thread_member m ON m.thread_id = t.id AND m.person = :acting_person "
        "AND t.deleted_at IS NULL WHERE t.id IN :checked_ids"
    ).bindparams(sa.bindparam("checked_ids", expanding=True))
)


class UnownedStatementError(RuntimeError):
    """A statement might touch rows of anybody. This is a programming error. Nothing was read or written."""


@contextmanager
def act_for(owner: str | None, *, only_reads: bool = False) -> Iterator[None]:
    """Make the block, and tasks started in it, act for an owner or for everybody. `only_reads` refuses changes."""
    owners, reading = _acting_owner.set(owner), _only_reads.set(only_reads)
    try:
        yield
    finally:
        _acting_owner.reset(owners)
        _only_reads.reset(reading)


def require_writer() -> None:
    """Refuse a change in a read-only context. Every writing transaction asks. Raises `ReadOnlyError`."""
    if _only_reads.get():
        raise ReadOnlyError


def get_acting_owner() -> str | None:
    return _acting_owner.get()


def make_context() -> Context:
    """Return an empty context that acts for the same owner, for work that must inherit nothing else."""
    context = Context()
    context.run(_acting_owner.set, _acting_owner.get())
    context.run(_only_reads.set, _only_reads.get())
    return context


class OwnedDatabase:
    """The owners of a database: a single owner, or several kept apart."""

    engine: sa.Engine
    separates_owners = False
    has_accounts = False

    def separate_owners(self, *, has_accounts: bool = False) -> None:
        """Restrict every connection to the rows of the acting owner.

        With `has_accounts`, every owner has an account, and nothing begins for people without an account.
        """
        self.separates_owners, self.has_accounts = True, has_accounts
        sa.event.listen(self.engine, "before_cursor_execute", lambda *of: check_owner(of[0], of[4]))
        if self.engine.dialect.name == "postgresql":
            row_security.separate_owners(self.engine)

    def name_owner(self, owner: str | None = None) -> str:
        """Return the given owner, or else the acting or only owner."""
        return owner or (get_acting_owner() if self.separates_owners else None) or LOCAL_OWNER

    def open_access(self) -> dict[str, Any]:
        """Return the connection options for the acting owner. Raises `UnownedStatementError`."""
        owner = get_acting_owner() if self.separates_owners else EVERYBODY
        if owner == NOBODY:
            raise UnownedStatementError("nobody acts")
        access = None if owner is EVERYBODY else Access(owner, has_account=self.has_accounts)
        return {ACCESS: access, "has_accounts": self.has_accounts}

    def check_enclosing(self, connection: sa.Connection) -> None:
        """Refuse a read nested in another owner's or everybody's read, whose access would check its statements.

        Raises `UnownedStatementError`.
        """
        wanted, found = self.open_access()[ACCESS], find_access(connection)
        if wanted is not None and (found is None or found.owner != wanted.owner):
            raise UnownedStatementError("a reading of somebody else encloses this one")


def limit_to_owner(connection: sa.Connection, query: sa.Select[Any], thread_id: sa.ColumnElement[str]) -> sa.Select[Any]:
    """Limit a query to conversations the acting owner may see, or in a change, may change."""
    access = find_access(connection)
    if access is None:
        return query
    own = sa.select(schema.thread.c.id).where(schema.thread.c.owner == access.owner)
    is_there = sa.exists().where(schema.thread.c.id == _member.thread_id, schema.thread.c.deleted_at.is_(None))
    shared = sa.select(_member.thread_id).where(_member.person == access.owner, is_there)
    if _is_writing(connection):
        shared = shared.where(_member.role == ThreadRole.EDITOR)
    return query.where(sa.or_(thread_id.in_(own), thread_id.in_(shared)))


def find_role(connection: sa.Connection, thread_id: str) -> ThreadRole | None:
    """Return the acting person's role in a conversation, or None if they may not see it."""
    access = find_access(connection)
    return ThreadRole.OWNER if access is None else _find_role(connection, access, thread_id)


def name_threads(connection: sa.Connection, owners: Mapping[str, str]) -> None:
    """Cache roles for conversations just loaded with their owners, so later statements skip the look-up."""
    access = find_access(connection)
    if access is None:
        return
    if connection.dialect.name == "sqlite":
        for thread_id in (each for each, owner in owners.items() if owner == access.owner):
            access.owners[thread_id], access.roles[thread_id] = access.owner, ThreadRole.OWNER
    # On PostgreSQL the policies ask for the owner.
    if unknown := [each for each in owners if each not in access.roles]:
        _look_up_roles(connection, access, unknown)


def sees_thread(connection: sa.Connection, thread_id: str) -> bool:
    return find_role(connection, thread_id) is not None


def require_owner(connection: sa.Connection, thread_id: str) -> None:
    """Refuse a member who does not own the conversation. Raises `OwnerOnlyError`."""
    if find_role(connection, thread_id) is not ThreadRole.OWNER:
        raise OwnerOnlyError


def find_person(connection: sa.Connection) -> str | None:
    """Return the author of a change. None where people are not told apart, and for the server."""
    access = find_access(connection)
    return access.owner if access else None


@contextmanager
def open_values(connection: sa.Connection, thread_id: str) -> Iterator[None]:
    """Let the block touch state values of a conversation. They belong to its owner, whoever acts."""
    access = find_access(connection)
    if access is None or find_role(connection, thread_id) in (None, ThreadRole.OWNER):
        yield
        return
    with row_security.name_values(connection, access.owners[thread_id]):
        yield


@contextmanager
def pass_checks(connection: sa.Connection) -> Iterator[None]:
    """Let the block touch anybody's rows, past both checks. The caller must not reveal their results."""
    access = find_access(connection)
    with row_security.pass_policies(connection):
        connection.execution_options(**{ACCESS: EVERYBODY})
        try:
            yield
        finally:
            connection.execution_options(**{ACCESS: access})


def check_owner(connection: sa.Connection, context: Any) -> None:
    """Refuse a statement that may touch another owner's rows before it runs. Raises `ThreadNotFoundError`."""
    access = find_access(connection)
    if access is None or context.compiled is None or context.execution_options.get(UNCHECKED):
        # Statements without parameters, such as BEGIN, are not compiled.
        return
    if context.isinsert and context.compiled.statement.table in person_locks.BEGUN_TABLES:
        person_locks.hold_acting_person(connection)
    every = context.compiled_parameters
    for name, kind in [(name, kind) for name in every[0] if (kind := _find_kind(name))]:
        values = {each[name] if isinstance(each[name], str) else tuple(each[name]) for each in every}
        _require_own(connection, access, kind, values)
        access.is_open = True
    if not access.is_open:
        raise UnownedStatementError(f"a statement names no owner: {context.statement[:200]}")


def _require_own(connection: sa.Connection, access: Access, kind: _Kind, values: Iterable[str | tuple[str, ...]]) -> None:
    for value in chain.from_iterable([each] if isinstance(each, str) else each for each in values):
        if kind == "owner" and value != access.owner:
            raise UnownedStatementError("a statement names another owner")
        if kind == "thread":
            role = _find_role(connection, access, value)
            if role is None:
                raise ThreadNotFoundError(value)
            if role is ThreadRole.READER and _is_writing(connection):
                raise ReadOnlyError


def _is_writing(connection: sa.Connection) -> bool:
    return bool(connection.get_execution_options().get("writing"))


@cache
def _find_kind(name: str) -> _Kind | None:
    """Return what a parameter names, judged by the parameter's name."""
    if _THREAD_NAME.fullmatch(name):
        return "thread"
    return "owner" if _OWNER_NAME.fullmatch(name) else None


def _find_role(connection: sa.Connection, access: Access, thread_id: str) -> ThreadRole | None:
    if thread_id not in access.roles:
        _look_up_roles(connection, access, [thread_id])
    return access.roles.get(thread_id)


def _look_up_roles(connection: sa.Connection, access: Access, thread_ids: Sequence[str]) -> None:
    """Cache the acting person's roles in these conversations. Conversations they may not see are left out."""
    query = _naming_query if connection.dialect.name == "postgresql" else _role_query
    for row in connection.execute(query, {"checked_ids": thread_ids, "acting_person": access.owner}).all():
        if row.owner == access.owner or row.role is not None:
            access.owners[row.id] = row.owner
            access.roles[row.id] = ThreadRole.OWNER if row.owner == access.owner else ThreadRole(row.role)
