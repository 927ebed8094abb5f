"""Preconditions of a change: the version its caller saw, and the run that holds the thread."""

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
    """Refuse a change if its caller saw another conversation, or if another caller's run blocks it.

    A checkpoint saved or a title changed since then is no conflict. With `is_exact` it is, because an undo would
    revert that change instead. Changes by the app itself never conflict, because undo passes them over: the judge's
    milestones, and a model's title given shortly after the first answer.
    """
    thread, seen = loaded.thread, caller.expected_version
    changed = _has_newer_operation if is_exact else _has_moved_head
    if seen is not None and seen != thread.version and changed(connection, thread, seen):
        raise ConflictError(thread.id, seen, thread.version, _find_other_person(connection, thread, seen))
    if not while_running and loaded.active_run_id is not None and loaded.active_run_id != caller.undo_group:
        raise RunActiveError(thread.id, loaded.active_run_id)


def _find_other_person(connection: sa.Connection, thread: Thread, version: int) -> str:
    """Return the person who last changed the thread after a version, unless it is the acting person or people are not
    told apart."""
    own, table = find_person(connection), schema.operation.c
    if own is None:
        return ""
    newest = operation_rows.select_operations(connection, thread.id, table.version > version, limit=1, abridged=True)
    person = newest[0].person if newest else None
    return person if person and person != own and not person.startswith(ERASED_PREFIX) else ""


def _has_newer_operation(connection: sa.Connection, thread: Thread, version: int) -> bool:
    """Return whether a person or an agent changed the thread after this version."""
    table = schema.operation.c
    conditions = (table.version > version, table.actor.not_in(BACKGROUND_ACTORS))
    since = operation_rows.select_operations(connection, thread.id, *conditions, limit=1)
    return version > thread.version or bool(since)


def _has_moved_head(connection: sa.Connection, thread: Thread, version: int) -> bool:
    """Return whether a head was moved, or another branch chosen, after this version of the thread.

    An answer written meanwhile does not count: a person who acts during an answer intends to.
    """
    if version > thread.version:
        # No caller can have seen that version.
        return True
    since = operation_rows.select_operations(connection, thread.id, schema.operation.c.version > version)
    others = [op for op in since if (op.actor, op.kind) != ("agent", OperationKind.APPEND)]
    if any(op.kind is OperationKind.ERASE or op.damaged for op in since):
        # The heads moved by earlier changes are no longer known.
        return True
    heads = [change for op in others for change in op.changes if change.table in ("branch", "thread")]
    return any(("head_id" in c.after and c.id == thread.branch_id) or "branch_id" in c.after for c in heads)
