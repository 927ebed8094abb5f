"""End a person's sessions, in the same transaction as the change of the account."""

import sqlalchemy as sa

from ..storage import schema


def delete_sessions(connection: sa.Connection, person: str, except_id: str = "") -> None:
    """End a person's sessions, except `except_id`."""
    own = schema.session.c.person == person
    connection.execute(sa.delete(schema.session).where(own, schema.session.c.id != except_id))
