"""The dialog that panels use: Cancel, Escape and the browser's Back close it."""

from collections.abc import Sequence

from dash import ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Modal, ModalBody, ModalFooter, ModalHeader, ModalTitle

from components import page_state


def build_modal(identifier: str, title: str, parts: Sequence[Component], *, scrollable: bool = False) -> Modal:
    """A dialog with the ids `X` and `X-title`.

    Not with Bootstrap's fade: closed within its first moments, a dialog that fades may stay, unseen, above the page (the
    end of any other transition in it, as of a button's colour, counts as the end of its own).
    """
    header = ModalHeader(ModalTitle(title, id=f"{identifier}-title"), close_button=False)
    placed = {"centered": True, "scrollable": scrollable, "labelledby": f"{identifier}-title"}
    return Modal([header, *parts], id=identifier, is_open=False, fade=False, **placed)


def build_confirmation(identifier: str, title: str, confirm: str, *options: Component, color: str = "danger") -> Modal:
    """A dialog with ids `X`, `X-body`, `X-cancel` and `X-confirm`."""
    buttons = [
        Button("Cancel", id=f"{identifier}-cancel", color="secondary", outline=True),
        Button(confirm, id=f"{identifier}-confirm", color=color),
    ]
    body = ModalBody([html.Div(id=f"{identifier}-body"), *options])
    return build_modal(identifier, title, [body, ModalFooter(buttons)])


def register_dialog(app: Dash, identifier: str, first: str = "cancel") -> None:
    """Focus Cancel, or the part `X-first`, whenever the dialog opens; Cancel closes it, and so does another address."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "focus"),
        Output(f"{identifier}-cancel", "key"),
        Input(identifier, "is_open"),
        Input(f"{identifier}-{first}", "id"),
    )
    close_on(app, identifier, Input(f"{identifier}-cancel", "n_clicks"))


def close_on(app: Dash, identifier: str, *inputs: Input) -> None:
    """Whatever asks for it closes the dialog, and so does another address."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "close"),
        Output(identifier, "is_open", allow_duplicate=True),
        *inputs,
        Input(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
