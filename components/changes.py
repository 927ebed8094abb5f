"""Undo and redo of every change, and clearing the conversation: the buttons in its head."""

from enum import StrEnum
from typing import Any

from dash import Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from checkpoints import By, Leaving, RunState, StateError, Store, ThreadNotFoundError
from components import dialog, head, operations
from components.services import Services
from components.widgets import TIMELINE, Icon

STOP_FIRST = "An answer is being written: stop it first"


class Ids(StrEnum):
    CLEAR = "clear-dialog"
    CLEAR_BUTTON = "clear"
    UNDO = "undo"
    REDO = "redo"


def buttons() -> list[Component]:
    """What stands in the head of the conversation."""
    return [
        _button("arrow-counterclockwise", Ids.UNDO, "Undo last change"),
        _button("arrow-clockwise", Ids.REDO, "Redo"),
        _button("eraser", Ids.CLEAR_BUTTON, "Clear conversation"),
    ]


def _button(icon: str, identifier: str, name: str) -> Component:
    named: Any = {"aria-label": name}
    return html.Button(Icon(name=icon), id=identifier, className="btn", title=name, disabled=True, **named)


def dialogs() -> list[Component]:
    return [dialog.confirmation(Ids.CLEAR, "Clear this conversation?", "Clear")]


def clear_question(messages: int, checkpoints: int) -> list[Component]:
    return [
        html.P(f"{Leaving(messages, checkpoints)} leave the conversation.", className="loss"),
        html.P("Nothing is erased: you can undo this.", className="quiet"),
    ]


SHOWN = (
    *((Ids.UNDO, "disabled"), (Ids.UNDO, "title"), (Ids.REDO, "disabled"), (Ids.REDO, "title")),
    (Ids.CLEAR_BUTTON, "disabled"),
)


def show(services: Services, at: head.Place) -> tuple[bool, str, bool, str, bool]:
    undo, redo, length = _possible(services.store, at.thread_id)
    run = services.runs.latest(at.thread_id) if at.thread_id and length else None
    if run and run.state is RunState.RUNNING:
        return True, STOP_FIRST, True, STOP_FIRST, length == 0
    undo_title, redo_title = f"Undo {undo}" if undo else "Nothing to undo", f"Redo {redo}" if redo else "Nothing to redo"
    return undo is None, undo_title, redo is None, redo_title, length == 0


def register(app: Dash, services: Services) -> None:
    dialog.register(app, Ids.CLEAR)
    _register_clear(app, services)
    _register_undo(app, services)


def _register_clear(app: Dash, services: Services) -> None:
    store = services.store

    @app.callback(
        Output(Ids.CLEAR, "is_open", allow_duplicate=True),
        Output(f"{Ids.CLEAR}-body", "children"),
        Input(Ids.CLEAR_BUTTON, "n_clicks"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def ask(_: int, pathname: str) -> tuple[Any, Any]:
        thread_id = head.thread_at(pathname)
        if thread_id is None:
            return no_update, no_update
        length = await services.read(store.length, thread_id)
        return True, clear_question(length, len(await services.read(store.checkpoints, thread_id)))

    @app.callback(
        head.output(),
        Output(Ids.CLEAR, "is_open", allow_duplicate=True),
        Input(f"{Ids.CLEAR}-confirm", "n_clicks"),
        State(TIMELINE, "data"),
        prevent_initial_call=True,
    )
    async def clear(_: int, shown: dict[str, Any]) -> tuple[head.Head, bool]:
        thread_id = shown["thread"]
        if thread_id is None:  # the browser went back while the dialog stood open
            return head.moved(), False
        try:
            await services.runner.stop(thread_id)
            await services.change(store.clear, thread_id, by=By(version=shown["version"]))
        except StateError as error:
            return head.problem(str(error)), False
        return head.moved(), False


def _register_undo(app: Dash, services: Services) -> None:
    store = services.store

    for identifier, verb in ((Ids.UNDO, store.undo), (Ids.REDO, store.redo)):

        @app.callback(head.output(), Input(identifier, "n_clicks"), State(TIMELINE, "data"), prevent_initial_call=True)
        async def step(_: int, shown: dict[str, Any], verb: Any = verb) -> head.Head:
            try:
                done = await services.change(verb, shown["thread"], by=By(version=shown["version"]))
            except StateError as error:
                return head.problem(str(error))
            return head.undone(shown["thread"], done.version)


def _possible(store: Store, thread_id: str | None) -> tuple[str | None, str | None, int]:
    """What undo and redo would do now, in words, and how long the conversation is."""
    if thread_id is None:
        return None, None, 0
    try:
        length = store.length(thread_id)
    except ThreadNotFoundError:
        return None, None, 0
    undone = store.redoable(thread_id)
    again = store.operation(thread_id, undone.target) if undone and undone.target else None
    return operations.described(store.undoable(thread_id)), operations.described(again), length
