"""A link that is shown once, to be copied. The dialog that has made it forgets it when it is opened again."""

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, html
from dash.development.base_component import Component
from dash_bootstrap_components import Input as Field
from dash_bootstrap_components import Label

from words import _


def build_link_field(identifier: str, label: str) -> Component:
    """Build the field `X`, hidden until a callback writes a link into its value."""
    status: Any = {"role": "status"}
    field = [
        Field(id=identifier, readonly=True),
        html.Button(_("Copy"), id=f"{identifier}-copy", className="btn btn-outline-secondary"),
    ]
    parts = [Label(label, html_for=identifier), html.Div(field), html.P(id=f"{identifier}-status", **status)]
    return html.Div(parts, id=f"{identifier}-field", className="link-field", hidden=True)


def register(app: Dash, identifier: str, dialog: str) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "showLink"),
        Output(f"{identifier}-field", "hidden"),
        Output(f"{identifier}-copy", "children"),
        Output(f"{identifier}-status", "children"),
        Input(f"{dialog}-opened", "data"),
        Input(f"{identifier}-copy", "n_clicks"),
        Input(identifier, "value"),
        State(identifier, "id"),
        prevent_initial_call=True,
    )
