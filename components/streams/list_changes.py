"""Events in other conversations that change the list: ends of runs, and changes of members."""

from collections.abc import Collection
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from checkpoints import Store, get_acting_owner
from checkpoints.values.model import ThreadRole
from components.broadcasts import Frame, WaitingFrames
from components.list_broadcast import FollowingPage
from components.services import Services
from components.views.list_rows import describe_thread


def are_ends_told(store: Store) -> bool:
    """Return whether pages are told of ends in other conversations. Where people are separated, each page asks."""
    return not store.database.separates_owners


def follow_list_changes(services: Services, waiting: WaitingFrames, thread_id: str) -> AbstractContextManager[None]:
    """Tell a page with a conversation about changes of its list until the block ends."""
    page, build_frame = FollowingPage(thread_id, get_acting_owner()), partial(_build_list_frame, services)
    tells_ends = are_ends_told(services.store)
    return services.list_broadcast.follow(services.hub, waiting, page, build_frame, tells_ends=tells_ends)


def read_run_states(services: Services) -> dict[str, list[str]]:
    """Return the conversations with a run in progress, and those waiting for a person."""
    return {
        "running": sorted(services.runs.list_running_threads()),
        "waiting": sorted(services.runs.list_waiting_threads()),
    }


async def _build_list_frame(services: Services, thread_ids: Collection[str]) -> Frame:
    return {"kind": "list", "change": await services.read_snapshot(_read_change, services, thread_ids)}


def _read_change(services: Services, thread_ids: Collection[str]) -> dict[str, Any]:
    store = services.store
    threads = [store.get_thread(each) for each in sorted(thread_ids) if store.thread_exists(each)]
    rows = [describe_thread(thread) for thread in threads if not (thread.deleted or thread.archived)]
    shared = describe_shared(store) if store.database.separates_owners else {}
    return {"fields": {**read_run_states(services), **shared}, "threads": rows}


def describe_shared(store: Store) -> dict[str, list[str]]:
    """Return the ids of all conversations shared with the acting person, and the ids of the read-only conversations."""
    roles = store.list_shared_roles()
    return {"shared": [*roles], "read_only": [each for each, role in roles.items() if role is ThreadRole.READER]}
