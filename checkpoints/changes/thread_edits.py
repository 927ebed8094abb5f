"""Changes of a whole thread: clear, rename, pin, archive, set and delete."""

from collections.abc import Mapping

from checkpoints.changes.transaction import Transaction
from checkpoints.errors import ConflictError
from checkpoints.names import clean_name
from checkpoints.operation_detail import LONG_SETTINGS, OperationDetail
from checkpoints.storage import checkpoint_rows


def clear_head(transaction: Transaction) -> None:
    """Move the head before the first message."""
    transaction.detail = OperationDetail(subject="thread")
    transaction.unlist_checkpoints(checkpoint_rows.select_detached_checkpoints(transaction.connection, transaction.thread))
    transaction.move_head(None)


def rename_thread(transaction: Transaction, title: str) -> None:
    old_title = transaction.thread.title
    new_title = clean_name(title) or old_title
    transaction.detail = OperationDetail(subject="thread", name=old_title, new_name=new_title)
    transaction.update_row("thread", transaction.thread.id, title=new_title)


def pin_thread(transaction: Transaction, *, pinned: bool) -> None:
    transaction.detail = OperationDetail(subject="thread", name=transaction.thread.title, pinned=pinned)
    transaction.update_row("thread", transaction.thread.id, pinned=pinned)


def archive_thread(transaction: Transaction, *, archived: bool) -> None:
    transaction.detail = OperationDetail(subject="thread", name=transaction.thread.title, archived=archived)
    transaction.update_row("thread", transaction.thread.id, archived=archived)


def change_settings(transaction: Transaction, values: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Set settings. Raises `ConflictError` if one of the `expected` values has changed."""
    thread = transaction.thread
    if any(str(thread.settings.get(key, "")) != value for key, value in expected.items()):
        raise ConflictError(thread.id, thread.version, thread.version)
    changed = {key: value for key, value in values.items() if thread.settings.get(key, "") != value}
    transaction.detail = OperationDetail(
        settings={key: "" if key in LONG_SETTINGS else value for key, value in changed.items()}
    )
    transaction.update_row("thread", thread.id, settings={**thread.settings, **values})


def hide_thread(transaction: Transaction) -> None:
    """Take a conversation out of the list."""
    transaction.detail = OperationDetail(subject="thread", name=transaction.thread.title)
    transaction.update_row("thread", transaction.thread.id, deleted_at=transaction.now)
