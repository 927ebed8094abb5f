"""The list of conversations: open, new, rename, delete."""

from enum import StrEnum
from typing import Any

from dash import Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from checkpoints import By, StateError
from components import dialog, head, views
from components.services import Services, asked_by
from components.widgets import Threads


class Ids(StrEnum):
    LIST = "threads"
    DELETE = "delete-thread"


def layout() -> Component:
    return Threads(id=Ids.LIST)


def dialogs() -> list[Component]:
    return [dialog.confirmation(Ids.DELETE, "Delete this conversation?", "Delete")]


def question(title: str) -> list[Component]:
    return [
        html.P(["“", html.Strong(title), "” leaves the list, with its checkpoints."]),
        html.P("Nothing is erased: you can undo this.", className="quiet"),
    ]


SHOWN = ((Ids.LIST, "data"),)


def show(services: Services, at: head.Place) -> tuple[dict[str, Any]]:
    return ({"threads": _list(services), "current": at.thread_id},)


def register(app: Dash, services: Services) -> None:
    store = services.store
    dialog.register(app, Ids.DELETE)

    @app.callback(
        head.output(),
        Output(Ids.DELETE, "is_open", allow_duplicate=True),
        Output(f"{Ids.DELETE}-body", "children"),
        Output(Ids.LIST, "reply"),
        Input(Ids.LIST, "action"),
        prevent_initial_call=True,
    )
    async def act(action: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
        stay = no_update
        try:
            match action["type"]:
                case "new":
                    return head.moved(go="/"), stay, stay, stay
                case "open":
                    return head.moved(go=head.address(action["thread"])), stay, stay, stay
                case "rename":
                    by = By(request=action["op"])
                    await services.change(store.rename_thread, action["thread"], action["title"], by=by)
                    return head.moved(), stay, stay, stay
                case "deleted" | "bring-back":
                    moved = await _bring_back(services, action) if action["type"] == "bring-back" else stay
                    return moved, stay, stay, await services.read(_deleted, services)
            thread = await services.read(store.thread, action["thread"])
        except StateError as error:  # it was deleted in another tab
            return head.problem(str(error)), stay, stay, stay
        return stay, True, question(thread.title), stay

    @app.callback(
        head.output(),
        Output(Ids.DELETE, "is_open", allow_duplicate=True),
        Input(f"{Ids.DELETE}-confirm", "n_clicks"),
        State(Ids.LIST, "action"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def delete(_: int, action: dict[str, Any], pathname: str) -> tuple[head.Head, bool]:
        thread_id = action["thread"]
        try:
            await services.runner.stop(thread_id)
            done = await services.change(store.delete_thread, thread_id, by=By(request=asked_by(action).request))
        except StateError as error:
            return head.problem(str(error)), False
        where: head.Where = {"thread": thread_id, "version": done.version}
        toast: head.Toast = {"text": f"Deleted the {done.operation.note}", "undo": where}
        away = {"go": "/"} if head.thread_at(pathname) == thread_id else {}
        return head.moved(toast=toast, **away), False


async def _bring_back(services: Services, action: dict[str, Any]) -> head.Head:
    """Undo a deletion; with the version that was listed, or else it could be a later change that is undone."""
    by = By(request=action["op"], version=action["version"])
    await services.change(services.store.undo, action["thread"], by=by)
    return head.moved(go=head.address(action["thread"]))


def _deleted(services: Services) -> list[dict[str, Any]]:
    return [views.thread(thread, frozenset()) | {"version": thread.version} for thread in services.store.deleted()]


def _list(services: Services) -> list[dict[str, Any]]:
    running = frozenset(services.runs.running())
    return [views.thread(thread, running) for thread in services.store.threads()]
