"""Threads, runs, checkpoints and branches as the page's lists show them. Pure: values in, plain JSON out."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from checkpoints import EVERYBODY, LOCAL_OWNER, NOBODY, Checkpoint, Run, RunState, Thread, get_acting_owner
from checkpoints.values.thread_ids import write_thread_id
from components.views.names import name_other
from server.addresses import build_address
from words import say_error

# This much of a checkpoint's description is shown.
MAX_SHOWN_DESCRIPTION_CHARS = 500


def describe_thread(value: Thread) -> dict[str, Any]:
    return {
        "id": value.id,
        "title": value.title,
        "updated": value.updated_at.isoformat(),
        "pinned": value.pinned,
        "archived": value.archived,
        # The tags are ids; the list of conversations comes with their names.
        "tags": list(value.tags),
        # The owner is named if somebody else shares the conversation.
        "owner": name_other(value.owner),
    }


def describe_run(value: Run | None) -> dict[str, Any] | None:
    """Describe a run; None if it needs no notice."""
    if value is None or value.dismissed or value.state in (RunState.DONE, RunState.WAITING):
        return None
    words = {"error": say_error(value.error), "details": value.error_details}
    return {"id": value.id, "state": value.state, **words, "compacts": value.compacts}


def describe_checkpoint(value: Checkpoint, thread_id: str, standing_ids: Sequence[str] = ()) -> dict[str, Any]:
    """Describe a checkpoint. `standing_ids` are the checkpoints at the current place; the newest of them is marked."""
    missing = len(value.description) - MAX_SHOWN_DESCRIPTION_CHARS
    address = build_address(f"/api/threads/{write_thread_id(thread_id)}/checkpoints/{quote(value.id)}/description")
    return {
        "id": value.id,
        "name": value.name,
        "position": value.position,
        "description": value.description[:MAX_SHOWN_DESCRIPTION_CHARS],
        "more": {"chars": missing, "address": address} if missing > 0 else None,
        "created_by": value.created_by,
        "saved_by": _name_saver(value),
        "time": value.timestamp.isoformat(),
        "segment": value.node.segment if value.node else None,
        "messages": value.message_count,
        # It is the last message of its state.
        "message": value.node.id if value.node else None,
        # Its messages are not on the path of its branch.
        "detached": value.detached,
        "tokens": value.tokens,
        "pinned": value.pinned,
        "here": value.id in standing_ids[-1:],
        "stands": value.id in standing_ids,
    }


def _name_saver(value: Checkpoint) -> str | None:
    """Return the name of another person who saved a checkpoint; empty for the reader, None if unknown."""
    is_alone = get_acting_owner() in (NOBODY, EVERYBODY, LOCAL_OWNER)
    return name_other(value.person) if value.person or is_alone else None
