"""Conditions of a change: the version that its caller saw, and the run that holds the thread."""

import sqlalchemy as sa

from ..rows import operation_rows, thread_rows
from ..storage import schema
from ..storage.ownership import find_person
from ..values.audit_entry import ERASED_PREFIX
from ..values.errors import ConflictError, RunActiveError
from ..values.model import Thread
from ..values.operation import Caller, OperationKind

BACKGROUND_ACTORS = ("judge", "system")


def check_caller(
    connection: sa.Connection,
    loaded: thread_rows.LoadedThread,
    caller: Caller,
    *,
    while_running: bool,
    is_exact: bool = False,
) -> None:
    """Refuse a change whose caller saw another conversation, or that the run of another caller blocks.

    A checkpoint saved or a title changed since then is no conflict. With `is_exact` it is: an undo would revert that
    change instead of the one that the caller saw. A change of the app itself never is, because undo passes it over:
    a milestone of the judge, and the title that a model gives some moments after the first answer.
    """
    thread, seen = loaded.thread, caller.expected_version
    changed = _has_newer_operation if is_exact else _has_moved_head
    if seen is not None and seen != thread.version and changed(connection, thread, seen):
        raise ConflictError(thread.id, seen, thread.version, _find_other_person(connection, thread, seen))
    if not while_running and loaded.active_run_id is not None and loaded.active_run_id != caller.undo_group:
        raise RunActiveError(thread.id, loaded.active_run_id)


def _find_other_person(connection: sa.Connection, thread: Thread, version: int) -> str:
    """Return the person who changed the thread last after a version; empty if that is who acts, or nobody is told apart."""
    own, table = find_person(connection), schema.operation.c
    if own is None:
        return ""
    newest = operation_rows.select_operations(connection, thread.id, table.version > version, limit=1, abridged=True)
    person = newest[0].person if newest else None
    return person if person and person != own and not person.startswith(ERASED_PREFIX) else ""


def _has_newer_operation(connection: sa.Connection, thread: Thread, version: int) -> bool:
    """Whether a person or an agent changed the thread after this version of it."""
    table = schema.operation.c
    conditions = (table.version > version, table.actor.not_in(BACKGROUND_ACTORS))
    since = operation_rows.select_operations(connection, thread.id, *conditions, limit=1)
    return version > thread.version or bool(since)


def _has_moved_head(connection: sa.Connection, thread: Thread, version: int) -> bool:
    """Whether a head was moved, or another branch chosen, after this version of the thread.

    An answer that was written meanwhile is not counted: whoever acts while the agent is answering means to.
    """
    if version > thread.version:
        return True  # nobody can have seen that
    since = operation_rows.select_operations(connection, thread.id, schema.operation.c.version > version)
    others = [op for op in since if (op.actor, op.kind) != ("agent", OperationKind.APPEND)]
    if any(op.kind is OperationKind.ERASE or op.damaged for op in since):
        return True  # what the changes before it had moved is not known any more
    heads = [change for op in others for change in op.changes if change.table in ("branch", "thread")]
    return any(("head_id" in c.after and c.id == thread.branch_id) or "branch_id" in c.after for c in heads)
