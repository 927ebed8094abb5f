"""The owner who acts on a connection, and the queries exempt from naming them: see ownership.py and row_security.py."""

from dataclasses import dataclass, field
from typing import Final, TypeVar

import sqlalchemy as sa

ACCESS: Final = "access"  # the option of a connection: an `Access`, or None for everybody
UNCHECKED: Final = "names_no_owner"  # of a query
Q = TypeVar("Q", bound=sa.Executable)


@dataclass(slots=True)
class Access:
    """An owner, their conversations that the statements of a connection have named, and whether any has named a thing."""

    owner: str
    thread_ids: set[str] = field(default_factory=set)
    is_open: bool = False


def find_access(connection: sa.Connection) -> Access | None:
    """Return the access of a connection; None for everybody's."""
    found: Access | None = connection.get_execution_options().get(ACCESS)
    return found


def exempt_query(query: Q) -> Q:
    """Exempt a query that names no owner: its rows tell nothing of anybody, or its caller checks them."""
    return query.execution_options(**{UNCHECKED: True})
