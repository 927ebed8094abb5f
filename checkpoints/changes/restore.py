"""Restore a checkpoint or an earlier message, and keep what a restore removed."""

from collections.abc import Sequence
from dataclasses import replace

from ..rows import checkpoint_rows, thread_rows, tree_rows
from ..values.errors import NothingRemovedError
from ..values.model import Checkpoint, Node
from ..values.operation import OperationKind
from ..values.operation_detail import OperationDetail
from .transaction import Transaction


def restore_head(transaction: Transaction, checkpoint_id: str, *, keep_future: bool) -> str:
    """Move the head to a checkpoint. With `keep_future`, a new branch keeps the removed messages."""
    connection, thread, old = transaction.connection, transaction.thread, transaction.trace_current_path()
    target, detached = checkpoint_rows.select_restore_target(connection, thread, checkpoint_id, old)
    detail = OperationDetail(name=target.name, future_kept=keep_future)
    _move_back(transaction, target.node, detail, detached, state_id=target.state_id)
    return target.id


def restore_message(transaction: Transaction, message_id: str | None, *, keep_future: bool) -> str | None:
    """Move the head to an earlier message of the path (None: before the first), as if a checkpoint were there."""
    thread, path = transaction.thread, transaction.trace_current_path()
    node = thread_rows.select_path_node(transaction.connection, thread, path, message_id)
    detail = OperationDetail(subject="message", depth=node.depth if node else None, future_kept=keep_future)
    _move_back(transaction, node, detail)
    return message_id


def _move_back(
    transaction: Transaction,
    node: Node | None,
    detail: OperationDetail,
    detached: Sequence[Checkpoint] = (),
    state_id: int | None = None,
) -> None:
    old, new = transaction.trace_current_path(), transaction.trace_path(node)
    removal = checkpoint_rows.count_removal(transaction.connection, transaction.thread, old, new, detached)
    transaction.detail = replace(detail, messages=removal.messages, checkpoints=removal.checkpoints)
    future_id = None
    if detail.future_kept:
        future_id = transaction.add_branch(name_kept_branch(detail), transaction.head).id
    transaction.unlist_checkpoints(detached, to_branch=future_id)
    transaction.move_head(node, state_id)


def name_kept_branch(restore: OperationDetail) -> str:
    """Name the branch that keeps the messages removed by a restore."""
    place = "the beginning" if restore.depth is None else f"message {restore.depth + 1}"
    return f"Before restoring {restore.name or place}"


def keep_removed_messages(transaction: Transaction) -> str:
    """Add a branch with the messages removed by the last restore. Raises `NothingRemovedError` once others follow."""
    end = tree_rows.select_removed_end(transaction.connection, transaction.thread, transaction.trace_current_path())
    if end is None or end.operation.kind is not OperationKind.RESTORE:
        raise NothingRemovedError
    branch = transaction.add_branch(name_kept_branch(end.operation.detail), end.node)
    transaction.detail = OperationDetail(subject="branch", name=branch.name, messages=end.count, future_kept=True)
    unlisted = [each.id for each in end.operation.changes if each.table == "checkpoint" and each.before.get("detached")]
    transaction.update_rows("checkpoint", unlisted, detached=True, branch_id=branch.id)
    return branch.id
