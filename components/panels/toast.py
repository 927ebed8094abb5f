"""A short message in the corner: the effect of a command, with Undo, or the reason for a refusal."""

from enum import StrEnum
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Toast

from checkpoints import Caller, StateError
from components import page_state
from components.panel import Panel
from components.properties import set_properties
from components.services import Services


class Ids(StrEnum):
    TOAST = "toast"
    TEXT = "toast-text"
    UNDO = "toast-undo"
    UNDO_TARGET = "toast-where"  # the change that Undo reverts: {thread, version}


def dialogs() -> list[Component]:
    undo = Button("Undo", id=Ids.UNDO, size="sm", outline=True, color="secondary")
    line = html.Div([html.Span(id=Ids.TEXT), undo, dcc.Store(id=Ids.UNDO_TARGET)], className="toast-line")
    toast = Toast(line, id=Ids.TOAST, is_open=False, dismissable=True, duration=10_000, header="Waymark")
    testid: Any = {"data-testid": "toast"}
    return [html.Div(toast, className="toasts", **testid)]


def show_toast(text: str) -> None:
    """Show a message after a callback failed. A page update would not do: every panel would read again, and fail again."""
    set_properties(Ids.TEXT, {"children": text})
    set_properties(Ids.UNDO, {"style": {"display": "none"}})
    set_properties(Ids.TOAST, {"is_open": True})


def register(app: Dash, services: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "showUpdateToast"), Input(page_state.Ids.UPDATE, "data"), prevent_initial_call=True
    )

    @app.callback(
        page_state.update_output(),
        Output(Ids.TOAST, "is_open", allow_duplicate=True),
        Input(Ids.UNDO, "n_clicks"),
        State(Ids.UNDO_TARGET, "data"),
        prevent_initial_call=True,
    )
    async def undo_change(_: int, target: page_state.UndoTarget) -> tuple[page_state.PageUpdate, bool]:
        try:
            await services.apply_change(
                services.store.undo, target["thread"], caller=Caller(expected_version=target["version"])
            )
        except StateError as error:
            return page_state.report_problem(str(error)), True
        return page_state.build_update(go=page_state.thread_address(target["thread"])), False


PANEL = Panel(register=register, dialogs=dialogs)
