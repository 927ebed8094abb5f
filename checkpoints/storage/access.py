"""The owner who acts on a connection, and the queries exempt from naming them: see ownership.py and row_security.py."""

from dataclasses import dataclass, field
from typing import Final, TypeVar

import sqlalchemy as sa

from ..values.model import ThreadRole

ACCESS: Final = "access"  # the option of a connection: an `Access`, or None for everybody
UNCHECKED: Final = "names_no_owner"  # of a query
Q = TypeVar("Q", bound=sa.Executable)


@dataclass(slots=True)
class Access:
    """An owner, their roles in the conversations that a connection has named, and whether any has named a thing.

    `is_held`: the owner is not erased before the transaction ends.
    """

    owner: str
    roles: dict[str, ThreadRole] = field(default_factory=dict)  # by the id of the conversation
    owners: dict[str, str] = field(default_factory=dict)  # of those conversations
    is_open: bool = False
    has_account: bool = False  # people have accounts here: see person_locks
    is_held: bool = False


def find_access(connection: sa.Connection) -> Access | None:
    """Return the access of a connection; None for everybody's."""
    found: Access | None = connection.get_execution_options().get(ACCESS)
    return found


def forget_member_role(connection: sa.Connection, thread_id: str) -> None:
    """Let the next statement about a conversation of somebody else look up the role again."""
    access = find_access(connection)
    if access is not None and access.roles.get(thread_id) is not ThreadRole.OWNER:
        access.roles.pop(thread_id, None)


def exempt_query(query: Q) -> Q:
    """Exempt a query that names no owner: its rows tell nothing of anybody, or its caller checks them."""
    return query.execution_options(**{UNCHECKED: True})
