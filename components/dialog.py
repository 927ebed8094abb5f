"""The dialog of the panels. Cancel, Escape and the browser's Back close it.

A confirmation is a form and a list with a single action. assets/modules/page/confirmations.mjs sends it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Modal, ModalBody, ModalFooter, ModalHeader, ModalTitle

from components import page_state
from components.actions import Action, Answer, Handler, Handlers
from components.properties import set_properties
from components.services import Services
from words import _

CONFIRM = "confirm"


def build_modal(identifier: str, title: str, parts: Sequence[Component], *, scrollable: bool = False) -> Modal:
    """Build a dialog with the ids `X` and `X-title`.

    It does not fade. Bootstrap takes the end of any transition inside a dialog, such as a button's colour, for the end of
    the fade. A fading dialog closed in its first moments could then stay above the page, invisible.
    """
    header = ModalHeader(ModalTitle(title, id=f"{identifier}-title", tag="h2"), close_button=False)
    placed = {"centered": True, "scrollable": scrollable, "labelledby": f"{identifier}-title"}
    return Modal([header, *parts], id=identifier, is_open=False, fade=False, **placed)


def build_long_body(*children: Component, **properties: Any) -> html.Div:
    """Build the body of a scrollable dialog. The keyboard can scroll it, too."""
    return html.Div(children, className="modal-body", tabIndex=0, **properties)


def build_confirmation(identifier: str, title: str, confirm: str, *options: Component, color: str = "danger") -> Modal:
    """Build a dialog with ids `X`, `X-body`, `X-cancel`, `X-confirm` and `X-subject`.

    The options are fields of the action, under their names.
    """
    buttons = [
        Button(_("Cancel"), id=f"{identifier}-cancel", color="secondary", outline=True, type="button"),
        Button(confirm, id=f"{identifier}-confirm", color=color, type="submit"),
    ]
    body = ModalBody([html.Div(id=f"{identifier}-body"), *options])
    named: Any = {"data-dialog": identifier}
    form = html.Form([body, ModalFooter([dcc.Store(id=f"{identifier}-subject"), *buttons])], autoComplete="off", **named)
    return build_modal(identifier, title, [form])


def open_confirmation(identifier: str, thread_id: str, fields: Mapping[str, Any], body: Sequence[Component]) -> None:
    """Open a confirmation from within an action, with these fields.

    The dialog holds the confirmed action, so a later action or another address cannot replace its subject.
    """
    set_properties(f"{identifier}-subject", {"data": {**fields, "type": CONFIRM, "thread": thread_id}})
    set_properties(f"{identifier}-body", {"children": body})
    set_properties(identifier, {"is_open": True})


def list_confirmations(confirmations: Mapping[str, Handler]) -> Mapping[str, Handlers]:
    """Return the actions of confirmations by dialog. A dialog closes with the reply, even with a refusal."""
    return {identifier: {CONFIRM: _close_with(identifier, confirm)} for identifier, confirm in confirmations.items()}


def _close_with(identifier: str, confirm: Handler) -> Handler:
    async def close_and_confirm(services: Services, action: Action) -> Answer:
        set_properties(identifier, {"is_open": False})
        return await confirm(services, action)

    return close_and_confirm


def register_dialog(app: Dash, identifier: str, first: str = "cancel") -> None:
    """Focus Cancel, or the part `X-first`, whenever the dialog opens. Cancel and a change of address close it."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "focusInDialog"),
        Output(f"{identifier}-cancel", "key"),
        Input(identifier, "is_open"),
        Input(f"{identifier}-{first}", "id"),
    )
    close_on(app, identifier, Input(f"{identifier}-cancel", "n_clicks"))


def close_on(app: Dash, identifier: str, *inputs: Input) -> None:
    """Close the dialog on any of the inputs, and when the address changes."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "closeDialog"),
        Output(identifier, "is_open", allow_duplicate=True),
        *inputs,
        Input(page_state.Ids.URL, "pathname"),
        State(identifier, "is_open"),
        prevent_initial_call=True,
    )
