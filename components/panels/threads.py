"""The list of conversations: open, new, rename, pin, archive, tag and delete, also for several at once."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from dash import html
from dash.development.base_component import Component

from checkpoints.people.members import Members
from checkpoints.tags import Tags
from checkpoints.values.errors import ReadOnlyError
from components import dialog, page_state
from components.actions import Action, Answer, Handlers
from components.panel import Panel
from components.people import READER, get_acting_role
from components.properties import Properties
from components.routes.thread_list import MAX_LISTED_THREADS, read_thread_portion
from components.services import Services
from components.streams.list_changes import are_ends_told, describe_shared, read_run_states
from components.streams.turns import Turn, TurnChanges
from components.thread_changes import build_update_of_threads, change_each, tag_each
from components.views import list_rows, operations
from components.widgets import Threads
from server.addresses import build_address
from words import N_, _, arrange, ngettext

# Read changes from before the page's list as well: a change may take this long to commit, and clocks differ.
LIST_OVERLAP = timedelta(minutes=1)


class Ids(StrEnum):
    LIST = "threads"


def layout() -> Component:
    return Threads(id=Ids.LIST)


def build_thread_deletion(title: str) -> list[Component]:
    return [
        html.P(arrange(_("“{title}” and its checkpoints will be deleted."), title=html.Strong(title))),
        html.P(_("You can undo this."), className="quiet"),
    ]


def build_threads_deletion(count: int) -> list[Component]:
    return [
        html.P(
            arrange(
                _("{conversations} and their checkpoints will be deleted."),
                conversations=html.Strong(ngettext("{count:,} conversation", "{count:,} conversations", count)),
            )
        ),
        html.P(_("You can undo this."), className="quiet"),
    ]


def show(services: Services, location: page_state.PageLocation) -> Properties:
    """Return the list's first portion, or only the changed rows if the page has a list."""
    now = services.store.now()
    tags = [{"id": tag.id, "name": tag.name} for tag in Tags(services.store).list_tags()]
    opened = _read_open_thread(services, location.thread_id)
    state = {"current": location.thread_id, "open": opened, "seen": now.isoformat(), "tags": tags}
    told = {"told": are_ends_told(services.store), **read_run_states(services)}
    changed = _read_changed_threads(services, location.list_seen, now)
    shown = read_thread_portion(services.store) if changed is None else changed
    rights = {**describe_shared(services.store), "is_reader": get_acting_role() == READER}
    return {Ids.LIST: {"data": {"since": None, "gone": [], **rights, **state, **told, **shown}}}


def show_turn(services: Services, turn: Turn) -> TurnChanges:
    row = list_rows.describe_thread(turn.thread)
    changes = {"fields": {**read_run_states(services), "open": row}, "first": {"threads": row}}
    return TurnChanges({}, {Ids.LIST: changes})  # type: ignore[dict-item]


def _read_open_thread(services: Services, thread_id: str | None) -> dict[str, Any] | None:
    """Return the row of the open conversation: the list's portion may not include it."""
    exists = thread_id is not None and services.store.thread_exists(thread_id)
    return list_rows.describe_thread(services.store.get_thread(thread_id)) if thread_id and exists else None


def _read_changed_threads(services: Services, seen: datetime | None, now: datetime) -> dict[str, Any] | None:
    """Return the changes since a page read its list, or None if the page has to read the whole list again.

    If the clock was set back, `now` is before the time that the page has seen.
    """
    if seen is None or seen > now:
        return None
    changed = services.store.list_changed_threads(seen - LIST_OVERLAP, limit=MAX_LISTED_THREADS + 1)
    if len(changed) > MAX_LISTED_THREADS:
        return None
    gone = [thread.id for thread in changed if thread.deleted or thread.archived]
    kept = [list_rows.describe_thread(thread) for thread in changed if thread.id not in gone]
    return {"since": seen.isoformat(), "threads": kept, "gone": gone}


async def _rename_thread(services: Services, action: Action) -> Answer:
    thread_id, title = action.fields["thread"], action.fields["title"]
    await services.apply_change(services.store.rename_thread, thread_id, title, caller=action.unversioned_caller)
    return Answer(page_state.build_update())


async def _pin_thread(services: Services, action: Action) -> Answer:
    thread_id, pinned = action.fields["thread"], action.fields["pinned"]
    await services.apply_change(services.store.pin_thread, thread_id, pinned=pinned, caller=action.unversioned_caller)
    return Answer(page_state.build_update())


async def _archive_threads(services: Services, action: Action) -> Answer:
    thread_ids, archived = action.fields["threads"], action.fields["archived"]
    change = services.store.archive_thread
    done = await change_each(services, change, thread_ids, action.unversioned_caller, archived=archived)
    subject = operations.describe_subject(done[0].operation.detail) if len(done) == 1 else ""
    named = (
        _("the {subject}", subject=subject)
        if subject
        else ngettext("{count:,} conversation", "{count:,} conversations", len(done))
    )
    text = _("Archived {named}", named=named) if archived else _("Unarchived {named}", named=named)
    return Answer(build_update_of_threads(text, done, {}))


async def _tag_threads(services: Services, action: Action) -> Answer:
    names = {"add": action.fields["add"], "remove": action.fields["remove"]}
    return Answer(await tag_each(services, action.fields["threads"], action.unversioned_caller, **names))


async def _open_deletion_dialog(services: Services, action: Action) -> Answer:
    thread = await services.read_snapshot(services.store.get_thread, action.fields["thread"])
    DELETION.open(thread.id, action.fields, build_thread_deletion(thread.title))
    return Answer()


async def _confirm_deletion(services: Services, action: Action) -> Answer:
    thread_id = action.fields["thread"]
    await _stop_own_runs(services, [thread_id])
    done = await services.apply_change(services.store.delete_thread, thread_id, caller=action.unversioned_caller)
    text = _("Deleted the {subject}", subject=operations.describe_subject(done.operation.detail))
    return Answer(build_update_of_threads(text, [done], _choose_address([thread_id], action)))


async def _open_deletions_dialog(_: Services, action: Action) -> Answer:
    thread_ids = action.fields["threads"]
    if thread_ids:
        question = build_threads_deletion(len(thread_ids))
        DELETIONS.open(thread_ids[0], action.fields, question)
    return Answer()


async def _confirm_deletions(services: Services, action: Action) -> Answer:
    thread_ids = action.fields["threads"]
    await _stop_own_runs(services, thread_ids)
    done = await change_each(services, services.store.delete_thread, thread_ids, action.unversioned_caller)
    text = ngettext("Deleted {count:,} conversation", "Deleted {count:,} conversations", len(done))
    return Answer(build_update_of_threads(text, done, _choose_address(thread_ids, action)))


async def _stop_own_runs(services: Services, thread_ids: Sequence[str]) -> None:
    for thread_id in services.runs.list_running_threads().intersection(thread_ids):
        # The conversation belongs to somebody else and will not be deleted.
        with suppress(ReadOnlyError):
            await services.read_snapshot(Members(services.store).require_owner, thread_id)
            await services.runner.stop(thread_id)


def _choose_address(thread_ids: Sequence[str], action: Action) -> dict[str, str]:
    """Go to the start page if the page's conversation was deleted."""
    return {"go": build_address("/")} if action.page_thread_id in thread_ids else {}


ACTIONS: Mapping[str, Handlers] = {
    Ids.LIST: {
        "rename": _rename_thread,
        "pin": _pin_thread,
        "archive": _archive_threads,
        "tag": _tag_threads,
        "delete": _open_deletion_dialog,
        "delete-all": _open_deletions_dialog,
    },
}


DELETION = dialog.Confirmation("delete-thread", N_("Delete this conversation?"), N_("Delete"), _confirm_deletion)
DELETIONS = dialog.Confirmation("delete-threads", N_("Delete these conversations?"), N_("Delete"), _confirm_deletions)
PANEL = Panel(confirmations=[DELETION, DELETIONS], show=show, show_turn=show_turn, actions=ACTIONS)
