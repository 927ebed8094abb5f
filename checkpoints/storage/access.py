"""The acting owner of a connection, and queries exempt from naming an owner: see ownership.py and row_security.py."""

from dataclasses import dataclass, field
from typing import Final, TypeVar

import sqlalchemy as sa

from ..values.model import ThreadRole

# A connection option: an `Access`, or None for everybody.
ACCESS: Final = "access"
# A query option: the query names no owner.
UNCHECKED: Final = "names_no_owner"
Q = TypeVar("Q", bound=sa.Executable)


@dataclass(slots=True)
class Access:
    """An owner, their roles in the conversations named so far, and whether any statement has named an owner or conversation.

    `roles` and `owners` are keyed by conversation id. `has_account` means people have accounts here: see person_locks.
    `is_held` means the owner is not erased before the transaction ends.
    """

    owner: str
    roles: dict[str, ThreadRole] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    is_open: bool = False
    has_account: bool = False
    is_held: bool = False


def find_access(connection: sa.Connection) -> Access | None:
    """Return a connection's access, or None if it acts for everybody."""
    found: Access | None = connection.get_execution_options().get(ACCESS)
    return found


def forget_member_role(connection: sa.Connection, thread_id: str) -> None:
    """Make the next statement about another owner's conversation look up the role again."""
    access = find_access(connection)
    if access is not None and access.roles.get(thread_id) is not ThreadRole.OWNER:
        access.roles.pop(thread_id, None)


def exempt_query(query: Q) -> Q:
    """Exempt a query that names no owner. Its rows reveal nothing about anyone, or its caller checks them."""
    return query.execution_options(**{UNCHECKED: True})
