"""What the ends of runs change in the list of conversations."""

from collections.abc import Collection
from typing import Any

from checkpoints import Store
from components.broadcasts import Frame
from components.services import Services
from components.views.list_rows import describe_thread


def are_ends_told(store: Store) -> bool:
    """Return whether pages are told of the ends in other conversations. Where people are separated, each page asks."""
    return not store.database.separates_owners


async def build_list_frame(services: Services, thread_ids: Collection[str]) -> Frame:
    """Build the frame that tells of the ends of runs in these conversations."""
    return {"kind": "list", "change": await services.read_snapshot(_read_change, services, thread_ids)}


def read_run_states(services: Services) -> dict[str, list[str]]:
    """Return the conversations with a run in progress, and those that wait for a person."""
    return {
        "running": sorted(services.runs.list_running_threads()),
        "waiting": sorted(services.runs.list_waiting_threads()),
    }


def _read_change(services: Services, thread_ids: Collection[str]) -> dict[str, Any]:
    store = services.store
    threads = [store.get_thread(each) for each in sorted(thread_ids) if store.thread_exists(each)]
    rows = [describe_thread(thread) for thread in threads if not (thread.deleted or thread.archived)]
    return {"fields": read_run_states(services), "threads": rows}
