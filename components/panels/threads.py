"""The list of conversations: open, new, rename, delete."""

from enum import StrEnum
from typing import Any

from dash import Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from checkpoints import Caller, StateError
from components import dialog, page_state
from components.services import Services, read_caller
from components.views import message_view, operations
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
        html.P(["“", html.Strong(title), "” leaves the list, with its checkpoints."]),
        html.P("Nothing is erased: you can undo this.", className="quiet"),
    ]


SHOWN = ((Ids.LIST, "data"),)


def show(services: Services, location: page_state.PageLocation) -> tuple[dict[str, Any]]:
    return ({"threads": _read_thread_list(services), "current": location.thread_id},)


def register(app: Dash, services: Services) -> None:
    store = services.store
    dialog.register_dialog(app, Ids.DELETE_DIALOG)

    @app.callback(
        page_state.update_output(),
        Output(Ids.DELETE_DIALOG, "is_open", allow_duplicate=True),
        Output(f"{Ids.DELETE_DIALOG}-body", "children"),
        Output(Ids.LIST, "reply"),
        Input(Ids.LIST, "action"),
        prevent_initial_call=True,
    )
    async def handle_action(action: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
        stay = no_update
        try:
            match action["type"]:
                case "new":
                    return page_state.build_update(go="/"), stay, stay, stay
                case "open":
                    return page_state.build_update(go=page_state.thread_address(action["thread"])), stay, stay, stay
                case "rename":
                    by = Caller(request_id=action["op"])
                    await services.apply_change(store.rename_thread, action["thread"], action["title"], caller=by)
                    return page_state.build_update(), stay, stay, stay
                case "deleted" | "bring-back":
                    moved = await _undo_thread_deletion(services, action) if action["type"] == "bring-back" else stay
                    return moved, stay, stay, await services.read_snapshot(_read_deleted_threads, services)
            thread = await services.read_snapshot(store.get_thread, action["thread"])
        except StateError as error:  # it was deleted in another tab
            return page_state.report_problem(str(error)), stay, stay, stay
        return stay, True, build_thread_deletion(thread.title), stay

    @app.callback(
        page_state.update_output(),
        Output(Ids.DELETE_DIALOG, "is_open", allow_duplicate=True),
        Input(f"{Ids.DELETE_DIALOG}-confirm", "n_clicks"),
        State(Ids.LIST, "action"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def confirm_deletion(_: int, action: dict[str, Any], pathname: str) -> tuple[page_state.PageUpdate, bool]:
        thread_id = action["thread"]
        try:
            await services.runner.stop(thread_id)
            done = await services.apply_change(
                store.delete_thread, thread_id, caller=Caller(request_id=read_caller(action).request_id)
            )
        except StateError as error:
            return page_state.report_problem(str(error)), False
        where: page_state.UndoTarget = {"thread": thread_id, "version": done.version}
        toast: page_state.ToastMessage = {
            "text": f"Deleted the {operations.describe_subject(done.operation.detail)}",
            "undo": where,
        }
        away = {"go": "/"} if page_state.parse_thread_id(pathname) == thread_id else {}
        return page_state.build_update(toast=toast, **away), False


async def _undo_thread_deletion(services: Services, action: dict[str, Any]) -> page_state.PageUpdate:
    """Undo a deletion; with the version that was listed, or else it could be a later change that is undone."""
    by = Caller(request_id=action["op"], expected_version=action["version"])
    await services.apply_change(services.store.undo, action["thread"], caller=by)
    return page_state.build_update(go=page_state.thread_address(action["thread"]))


def _read_deleted_threads(services: Services) -> list[dict[str, Any]]:
    return [
        message_view.describe_thread(thread, frozenset()) | {"version": thread.version}
        for thread in services.store.list_deleted_threads()
    ]


def _read_thread_list(services: Services) -> list[dict[str, Any]]:
    running = frozenset(services.runs.list_running_threads())
    return [message_view.describe_thread(thread, running) for thread in services.store.list_threads()]
