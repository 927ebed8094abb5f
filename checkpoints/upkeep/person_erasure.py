"""Erasure of a person: the account, and all rows of theirs. It needs no exclusive use, so the file keeps its size.

Their sessions end with the account. Their answers must be stopped first: see people.admin. In conversations of others,
a number replaces their name on their changes.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from ..rows import audit_rows, person_rows
from ..rows.account_rows import Account, InvalidAccountError, require_other_admin, select_account
from ..storage import person_locks, schema, sqlite
from ..storage.database import Database
from ..storage.ownership import EVERYBODY, act_for
from ..storage.postgresql import allow_long_pauses
from ..values.audit_entry import AuditKind
from ..values.errors import RunActiveError
from ..values.progress import Report, ignore_progress
from . import erasure
from .erase_plan import ErasePlan


@dataclass(frozen=True, slots=True)
class PersonErasure:
    """The counts of a person's erased rows."""

    name: str
    threads: ErasePlan
    prompts: int
    tags: int


@act_for(EVERYBODY)
def plan_person_erasure(database: Database, name: str, report: Report = ignore_progress) -> PersonErasure:
    """Count the rows `erase_person` would erase. Raises `InvalidAccountError`, and `RunActiveError`."""
    with database.begin_read() as connection:
        allow_long_pauses(connection)
        account = _find_account(connection, name)
        owner = account.name if account else name
        return PersonErasure(owner, erasure.plan_owner(connection, owner, report), *_count_names(connection, owner))


@act_for(EVERYBODY)
def erase_person(database: Database, name: str, report: Report = ignore_progress) -> PersonErasure:
    """Erase a person for good, and return the counts. If `report` raises an error, nothing changes.

    Raises `InvalidAccountError`, and `RunActiveError`.
    """
    with database.begin_write("person") as connection:
        allow_long_pauses(connection)
        account = _find_account(connection, name)
        if account is not None:
            require_other_admin(connection, account)
        owner = account.name if account else name
        person_locks.lock_person(connection, owner)
        if asked := person_rows.find_asked_run(connection, owner):
            raise RunActiveError(*asked)
        names = _count_names(connection, owner)
        erased = PersonErasure(owner, erasure.erase_owner(connection, owner, report), *names)
        for table in (each for each in schema.OWNED_TABLES if each is not schema.thread):
            connection.execute(sa.delete(table).where(table.c.owner == owner))
        person_rows.delete_invitations_by(connection, owner)
        connection.execute(sa.delete(schema.person).where(schema.person.c.name == owner))
        about = audit_rows.replace_name(connection, owner)
        person_rows.leave_conversations(connection, owner, about)
        counts = {"threads": len(erased.threads.threads), "messages": erased.threads.messages}
        audit_rows.insert_entry(connection, datetime.now(UTC), AuditKind.PERSON_ERASED, counts, about=about)
    if database.kind == "sqlite":
        sqlite.empty_log(database.engine)
    return erased


def _find_account(connection: sa.Connection, name: str) -> Account | None:
    """Return a person's account, or None for an owner signed in by a proxy. Raises `InvalidAccountError` for unknown
    names."""
    try:
        return select_account(connection, name)
    except InvalidAccountError:
        if person_rows.is_name_in_use(connection, name):
            return None
        raise


def _count_names(connection: sa.Connection, owner: str) -> tuple[int, int]:
    prompts, tags = (
        connection.scalar(sa.select(sa.func.count()).select_from(table).where(table.c.owner == owner)) or 0
        for table in (schema.saved_prompt, schema.tag)
    )
    return prompts, tags
