"""Rows of people with accounts, and other rows that end or stay with them."""

import sqlalchemy as sa

from ..storage import schema
from ..values.run import RunState

_person, _invitation, _member = schema.person.c, schema.invitation.c, schema.thread_member.c
_run = schema.run.c


def is_name_in_use(connection: sa.Connection, name: str) -> bool:
    """Return whether rows belong to this name. A new person of that name would get them."""
    owners = [sa.select(table.c.owner).where(table.c.owner == name) for table in schema.OWNED_TABLES]
    owners.append(sa.select(_member.person).where(_member.person == name))
    return connection.execute(sa.union_all(*owners).limit(1)).first() is not None


def delete_invitations_by(connection: sa.Connection, name: str) -> None:
    """Delete a person's invitations, since a former admin could return through them."""
    connection.execute(sa.delete(schema.invitation).where(_invitation.made_by == name))


def change_password(connection: sa.Connection, name: str, password_hash: str) -> None:
    """Change a password, and delete the other links for a new password."""
    connection.execute(sa.update(schema.person).where(_person.name == name).values(password_hash=password_hash))
    connection.execute(sa.delete(schema.invitation).where(_invitation.person == name))


def delete_shares_of(connection: sa.Connection, owner: str) -> int:
    """Delete the links to an owner's conversations, and return their number."""
    own = sa.select(schema.thread.c.id).where(schema.thread.c.owner == owner)
    return connection.execute(sa.delete(schema.share).where(schema.share.c.thread_id.in_(own))).rowcount


def leave_conversations(connection: sa.Connection, name: str, replacement: str) -> None:
    """Remove a person from the conversations of others, and replace their name on their changes there."""
    connection.execute(sa.delete(schema.thread_member).where(_member.person == name))
    for table in (schema.operation, schema.message, schema.run, schema.checkpoint):
        connection.execute(sa.update(table).where(table.c.person == name).values(person=replacement))


def find_asked_run(connection: sa.Connection, person: str) -> tuple[str, str] | None:
    """Return the thread and run id of a running run requested by a person, in anyone's conversation."""
    is_running = sa.and_(_run.person == person, _run.state == RunState.RUNNING)
    row = connection.execute(sa.select(_run.thread_id, _run.id).where(is_running).limit(1)).one_or_none()
    return (row.thread_id, row.id) if row else None


def count_persons(connection: sa.Connection, role: str) -> int:
    query = sa.select(sa.func.count()).select_from(schema.person).where(_person.role == role)
    return connection.scalar(query) or 0


def update_role(connection: sa.Connection, name: str, role: str) -> None:
    connection.execute(sa.update(schema.person).where(_person.name == name).values(role=role))
