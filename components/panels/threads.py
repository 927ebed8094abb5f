"""The list of conversations: open, new, rename, delete."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from dash import Dash, State, html
from dash.development.base_component import Component

from checkpoints import Caller, RunState
from components import dialog, page_state
from components.actions import Action, Answer, Handlers
from components.panel import Panel
from components.services import Services
from components.turns import Turn, TurnChanges
from components.views import list_rows, operations
from components.widgets import Threads


class Ids(StrEnum):
    LIST = "threads"
    DELETE_DIALOG = "delete-thread"


def layout() -> Component:
    return Threads(id=Ids.LIST)


def dialogs() -> list[Component]:
    return [dialog.build_confirmation(Ids.DELETE_DIALOG, "Delete this conversation?", "Delete")]


def build_thread_deletion(title: str) -> list[Component]:
    return [
        html.P(["“", html.Strong(title), "” and its checkpoints will be deleted."]),
        html.P("You can undo this.", className="quiet"),
    ]


SHOWN = ((Ids.LIST, "data"),)


def show(services: Services, location: page_state.PageLocation) -> tuple[dict[str, Any]]:
    return ({"threads": _read_thread_list(services), "current": location.thread_id},)


def show_turn(_: Services, turn: Turn) -> TurnChanges:
    waiting = [turn.thread.id] if turn.run and turn.run.state is RunState.WAITING else []
    return TurnChanges({}, {Ids.LIST: {"first": {"threads": list_rows.describe_thread(turn.thread, waiting=waiting)}}})


def register(app: Dash, services: Services) -> None:
    async def confirm_deletion(subject: dialog.Subject, pathname: str) -> page_state.PageUpdate:
        thread_id = subject.thread_id
        await services.runner.stop(thread_id)
        done = await services.apply_change(services.store.delete_thread, thread_id, caller=subject.unversioned_caller)
        where: page_state.UndoTarget = {"thread": thread_id, "version": done.version}
        toast: page_state.ToastMessage = {
            "text": f"Deleted the {operations.describe_subject(done.operation.detail)}",
            "undo": where,
        }
        away = {"go": "/"} if page_state.parse_thread_id(pathname) == thread_id else {}
        return page_state.build_update(toast=toast, **away)

    dialog.register_confirmation(app, Ids.DELETE_DIALOG, confirm_deletion, State(page_state.Ids.URL, "pathname"))


async def _start_thread(_: Services, __: Action) -> Answer:
    return Answer(page_state.build_update(go="/"))


async def _open_thread(_: Services, action: Action) -> Answer:
    return Answer(page_state.build_update(go=page_state.thread_address(action.fields["thread"])))


async def _rename_thread(services: Services, action: Action) -> Answer:
    thread_id, caller = action.fields["thread"], Caller(request_id=action.caller.request_id)
    await services.apply_change(services.store.rename_thread, thread_id, action.fields["title"], caller=caller)
    return Answer(page_state.build_update())


async def _open_deletion_dialog(services: Services, action: Action) -> Answer:
    thread = await services.read_snapshot(services.store.get_thread, action.fields["thread"])
    subject = dialog.Subject.of(action.fields, thread.id)
    dialog.open_confirmation(Ids.DELETE_DIALOG, subject, build_thread_deletion(thread.title))
    return Answer()


async def _list_deleted_threads(services: Services, _: Action) -> Answer:
    return Answer(reply=await services.read_snapshot(_read_deleted_threads, services))


async def _restore_thread(services: Services, action: Action) -> Answer:
    """Undo a deletion. The listed version makes sure that no later change is undone instead."""
    thread_id, fields = action.fields["thread"], action.fields
    caller = Caller(request_id=action.caller.request_id, expected_version=fields["version"])
    await services.apply_change(services.store.undo, thread_id, caller=caller)
    update = page_state.build_update(go=page_state.thread_address(thread_id))
    return Answer(update, reply=await services.read_snapshot(_read_deleted_threads, services))


ACTIONS: Mapping[str, Handlers] = {
    Ids.LIST: {
        "new": _start_thread,
        "open": _open_thread,
        "rename": _rename_thread,
        "delete": _open_deletion_dialog,
        "deleted": _list_deleted_threads,
        "bring-back": _restore_thread,
    }
}


def _read_deleted_threads(services: Services) -> list[dict[str, Any]]:
    return [
        list_rows.describe_thread(thread) | {"version": thread.version} for thread in services.store.list_deleted_threads()
    ]


def _read_thread_list(services: Services) -> list[dict[str, Any]]:
    running, waiting = services.runs.list_running_threads(), services.runs.list_waiting_threads()
    return [list_rows.describe_thread(thread, running, waiting) for thread in services.store.list_threads()]


PANEL = Panel(register=register, dialogs=dialogs, shown=SHOWN, show=show, show_turn=show_turn, actions=ACTIONS)
