"""The ends of a person's sessions, in the transaction that changes the account."""

import sqlalchemy as sa

from ..storage import schema


def delete_sessions(connection: sa.Connection, person: str, except_id: str = "") -> None:
    """End the sessions of a person, but one."""
    own = schema.session.c.person == person
    connection.execute(sa.delete(schema.session).where(own, schema.session.c.id != except_id))
