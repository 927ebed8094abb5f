"""Changes of a whole thread: clear, rename, pin, archive, tag, set and delete."""

from collections.abc import Mapping, Sequence

from ..rows import checkpoint_rows, tag_rows
from ..storage.ownership import require_owner
from ..values.errors import ConflictError, InvalidTagError
from ..values.limits import MAX_TAGS_OF_THREAD
from ..values.names import clean_name
from ..values.operation_detail import LONG_SETTINGS, OperationDetail
from ..values.sentence import sentence
from ..values.tag import clean_tag, fold_tag
from .transaction import Transaction


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


def tag_thread(transaction: Transaction, add: Sequence[str], remove: Sequence[str]) -> None:
    """Add and remove tags of a thread. Raises `InvalidTagError` beyond the limits, and if nothing changes.

    Raises `OwnerOnlyError` for a member, since tags are the owner's.
    """
    thread, connection = transaction.thread, transaction.connection
    require_owner(connection, thread.id)
    cleaned = [clean_tag(name) for name in add]
    if not all(cleaned):
        raise InvalidTagError(sentence("A tag needs a name."))
    before = tag_rows.select_names(connection, thread.tags)
    taken = {fold_tag(clean_tag(name)) for name in remove}
    kept = [tag_id for tag_id in thread.tags if fold_tag(before.get(tag_id, "")) not in taken]
    tags = list(dict.fromkeys([*kept, *tag_rows.ensure_tags(connection, thread.owner, cleaned, transaction.new_id)]))
    names = tag_rows.select_names(connection, tags)
    if len(names) > MAX_TAGS_OF_THREAD:
        raise InvalidTagError(sentence("A conversation has at most {limit} tags.", limit=MAX_TAGS_OF_THREAD))
    if names.keys() == before.keys():
        raise InvalidTagError(sentence("The conversation has these tags already."))
    added = [names[tag_id] for tag_id in tags if tag_id in names and tag_id not in before]
    removed = [before[tag_id] for tag_id in thread.tags if tag_id in before and tag_id not in names]
    transaction.detail = OperationDetail(subject="thread", name=thread.title, added=added, removed=removed)
    transaction.update_row("thread", thread.id, tags=tag_rows.trim_tags(tags, names))


def change_settings(transaction: Transaction, values: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Change settings. Raises `ConflictError` if a value in `expected` has changed."""
    thread = transaction.thread
    if any(str(thread.settings.get(key, "")) != value for key, value in expected.items()):
        raise ConflictError(thread.id, thread.version, thread.version)
    changed = {key: value for key, value in values.items() if thread.settings.get(key, "") != value}
    transaction.detail = OperationDetail(
        settings={key: "" if key in LONG_SETTINGS else value for key, value in changed.items()}
    )
    transaction.update_row("thread", thread.id, settings={**thread.settings, **values})


def hide_thread(transaction: Transaction) -> None:
    """Remove a conversation from the list."""
    transaction.detail = OperationDetail(subject="thread", name=transaction.thread.title)
    transaction.update_row("thread", transaction.thread.id, deleted_at=transaction.now)
