"""The dialog that panels use: Cancel, Escape and the browser's Back close it."""

from dash import ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Modal, ModalBody, ModalFooter, ModalHeader, ModalTitle

from components import head


def confirmation(identifier: str, title: str, confirm: str, *options: Component, color: str = "danger") -> Modal:
    """A dialog with ids `X`, `X-body`, `X-cancel` and `X-confirm`."""
    return Modal(
        [
            ModalHeader(ModalTitle(title, id=f"{identifier}-title"), close_button=False),
            ModalBody([html.Div(id=f"{identifier}-body"), *options]),
            ModalFooter(
                [
                    Button("Cancel", id=f"{identifier}-cancel", color="secondary", outline=True),
                    Button(confirm, id=f"{identifier}-confirm", color=color),
                ]
            ),
        ],
        id=identifier,
        is_open=False,
        centered=True,
        labelledby=f"{identifier}-title",
    )


def register(app: Dash, identifier: str, first: str = "cancel") -> None:
    """Focus Cancel, or the part `X-first`, whenever the dialog opens; Cancel closes it, and so does another address."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "focus"),
        Output(f"{identifier}-cancel", "key"),
        Input(identifier, "is_open"),
        Input(f"{identifier}-{first}", "id"),
    )
    closing(app, identifier, Input(f"{identifier}-cancel", "n_clicks"))


def closing(app: Dash, identifier: str, *inputs: Input) -> None:
    """Whatever asks for it closes the dialog, and so does another address."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "close"),
        Output(identifier, "is_open", allow_duplicate=True),
        *inputs,
        Input(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
