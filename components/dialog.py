"""The confirmation dialog that panels use: Cancel has the focus, Escape cancels."""

from dash import ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Modal, ModalBody, ModalFooter, ModalHeader, ModalTitle


def confirmation(identifier: str, title: str, confirm: str, *options: Component) -> Modal:
    """A dialog with ids `X`, `X-body`, `X-cancel` and `X-confirm`."""
    return Modal(
        [
            ModalHeader(ModalTitle(title, id=f"{identifier}-title"), close_button=False),
            ModalBody([html.Div(id=f"{identifier}-body"), *options]),
            ModalFooter(
                [
                    Button("Cancel", id=f"{identifier}-cancel", color="secondary", outline=True),
                    Button(confirm, id=f"{identifier}-confirm", color="danger"),
                ]
            ),
        ],
        id=identifier,
        is_open=False,
        centered=True,
        labelledby=f"{identifier}-title",
    )


def register(app: Dash, identifier: str) -> None:
    """Focus Cancel whenever the dialog opens; Cancel closes it."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "focus"),
        Output(f"{identifier}-cancel", "key"),
        Input(identifier, "is_open"),
        Input(f"{identifier}-cancel", "id"),
    )

    @app.callback(
        Output(identifier, "is_open", allow_duplicate=True),
        Input(f"{identifier}-cancel", "n_clicks"),
        prevent_initial_call=True,
    )
    async def cancel(_: int) -> bool:
        return False
