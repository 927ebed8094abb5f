"""Find where the page shows a message, the end of a branch, or a checkpoint."""

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa

from ..search.result import MessagePlace
from ..storage import schema
from ..values import history
from ..values.errors import CheckpointNotFoundError, ThreadNotFoundError
from ..values.history import EMPTY_PATH, Path, Place
from ..values.model import MAIN, Branch
from . import message_rows, thread_rows

# The most messages between an answer and a message shown in its cards.
_MAX_CARD_MESSAGES = 200


def load_current_path(connection: sa.Connection, thread_id: str) -> Path:
    """Return the path to the head, or an empty path for a damaged conversation."""
    try:
        loaded = thread_rows.load_thread(connection, thread_id)
    except ThreadNotFoundError:
        # The database has lost the thread's branch. Other search results are still shown.
        return EMPTY_PATH
    if loaded.head_node is None:
        return EMPTY_PATH
    return history.trace_path(loaded.head_node, thread_rows.select_segment_parents(connection, thread_id))


def find_branches(connection: sa.Connection, thread_id: str, places: Sequence[Place]) -> dict[Place, Branch | None]:
    """Map each place to a branch with that message, or to None."""
    if not places:
        return {}
    branches = [(branch, head) for branch, head in thread_rows.select_branch_heads(connection, thread_id) if head]
    parents = thread_rows.select_segment_parents(connection, thread_id)
    beyond = history.find_heads_beyond(places, [head for _, head in branches], parents, 1)
    return {place: branches[beyond[place][0]][0] if beyond[place] else None for place in places}


def locate_branch(connection: sa.Connection, thread_id: str, branch_id: str) -> MessagePlace:
    """Find where the page shows the end of a branch. Raises `ThreadNotFoundError`, `BranchNotFoundError`."""
    thread = thread_rows.select_thread(connection, thread_id)
    branch = thread_rows.select_branch(connection, branch_id, thread_id)
    if branch.head_id is None:
        return MessagePlace(None, "current" if branch.id == thread.branch_id else "branch", branch.name)
    place = locate_message(connection, thread_id, branch.head_id)
    return replace(place, branch=branch.name, branch_id=branch.id) if place.standing == "branch" else place


def locate_checkpoint(connection: sa.Connection, thread_id: str, checkpoint_id: str) -> MessagePlace:
    """Find where the page shows a checkpoint's message. Raises `ThreadNotFoundError`, `CheckpointNotFoundError`."""
    thread_rows.select_thread(connection, thread_id)
    table = schema.checkpoint.c
    is_wanted = (table.id == checkpoint_id, table.thread_id == thread_id, table.deleted_at.is_(None))
    message_id = connection.scalar(sa.select(table.message_id).where(*is_wanted))
    if message_id is None:
        raise CheckpointNotFoundError(checkpoint_id)
    return locate_message(connection, thread_id, message_id)


def locate_message(connection: sa.Connection, thread_id: str, message_id: str) -> MessagePlace:
    """Find where the page shows a message. Raises `ThreadNotFoundError`, `MessageNotFoundError`."""
    thread_rows.select_thread(connection, thread_id)
    parents = thread_rows.select_segment_parents(connection, thread_id)
    node, path = thread_rows.select_node(connection, message_id, thread_id), load_current_path(connection, thread_id)
    assert node is not None
    shared = history.measure_common_length(history.trace_path(node, parents), path)
    shown = _find_shown_message(connection, path, shared)
    if node in path:
        return MessagePlace(shown, "current", "")
    branch = find_branches(connection, thread_id, [node.place])[node.place]
    if branch is None:
        return MessagePlace(shown, "left", "")
    there = _find_shown_message(connection, history.trace_path(node, parents), node.depth + 1)
    return MessagePlace(shown, "branch", branch.name, branch.id, there)


def _find_shown_message(connection: sa.Connection, path: Path, before: int) -> str | None:
    """Return the last message before a depth with its own article in the page."""
    messages = message_rows.select_messages(connection, path, last=_MAX_CARD_MESSAGES, before=before)
    return next((each.id for each in reversed(messages) if each.agent == MAIN and each.type != "tool"), None)
