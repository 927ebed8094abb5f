"""The title of a thread: taken from its first message, then from the model while nobody has named the thread."""

import sqlalchemy as sa

from ..rows import operation_rows
from ..storage import schema
from ..values.model import UNTITLED, Thread
from ..values.names import clean_name
from ..values.operation import Operation, OperationKind
from ..values.operation_detail import OperationDetail
from .transaction import Transaction

# The first message is written by an operation up to this version. Earlier operations may have changed settings.
_MAX_FIRST_VERSION = 20
_columns = schema.operation.c
_is_title_of_model = (_columns.kind == OperationKind.RENAME, _columns.actor == "system")


def is_titled_by_question(connection: sa.Connection, thread: Thread) -> bool:
    """Return whether a thread still has its first message's title, and never had another."""
    is_first = _columns.version <= _MAX_FIRST_VERSION
    first = operation_rows.select_operations(connection, thread.id, _columns.kind == OperationKind.APPEND, is_first)
    given = {"title": UNTITLED}, {"title": thread.title}
    if not any((each.before, each.after) == given for operation in first for each in operation.changes):
        return False
    renamed = operation_rows.select_operations(connection, thread.id, _columns.kind == OperationKind.RENAME, abridged=True)
    return not any(operation.detail.subject == "thread" for operation in renamed)


def find_title(connection: sa.Connection, thread_id: str) -> Operation | None:
    """Return the operation by which the model set a title, even if undone."""
    found = operation_rows.select_operations(connection, thread_id, *_is_title_of_model, limit=1, abridged=True)
    return found[0] if found else None


def give_title(transaction: Transaction, title: str, detail: OperationDetail) -> None:
    """Set the title found by the model."""
    transaction.detail = detail
    transaction.update_row("thread", transaction.thread.id, title=clean_name(title))
