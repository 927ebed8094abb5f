"""The dialogs of the panels. Cancel, Escape and the browser's Back close them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Modal, ModalBody, ModalFooter, ModalHeader, ModalTitle

from components import page_state
from components.actions import Action, Answer, Handler
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


def _build_nothing() -> Sequence[Component]:
    return ()


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A form and a list with a single action. assets/modules/page/confirmations.mjs sends it.

    Title and button are marked for translation. The options are fields of the action, under their names. The part
    `X-first` of the dialog `X` has the focus.
    """

    identifier: str
    title: str
    button: str
    confirm: Handler
    options: Callable[[], Sequence[Component]] = _build_nothing
    color: str = "danger"
    first: str = "cancel"

    def build(self) -> Modal:
        """Build a dialog with ids `X`, `X-body`, `X-cancel`, `X-confirm` and `X-subject`."""
        identifier = self.identifier
        buttons = [
            Button(_("Cancel"), id=f"{identifier}-cancel", color="secondary", outline=True, type="button"),
            Button(_(self.button), id=f"{identifier}-confirm", color=self.color, type="submit"),
        ]
        body = ModalBody([html.Div(id=f"{identifier}-body"), *self.options()])
        named: Any = {"data-dialog": identifier}
        form = html.Form([body, ModalFooter([dcc.Store(id=f"{identifier}-subject"), *buttons])], autoComplete="off", **named)
        return build_modal(identifier, _(self.title), [form])

    def open(self, thread_id: str, fields: Mapping[str, Any], body: Sequence[Component]) -> None:
        """Open the dialog from within an action, with these fields.

        The dialog holds the confirmed action, so a later action or another address cannot replace its subject.
        """
        subject = {**fields, "type": CONFIRM, "thread": thread_id}
        set_properties(f"{self.identifier}-subject", {"data": subject})
        set_properties(f"{self.identifier}-body", {"children": body})
        set_properties(self.identifier, {"is_open": True})

    async def close_and_confirm(self, services: Services, action: Action) -> Answer:
        """Close the dialog with the reply, even with a refusal."""
        set_properties(self.identifier, {"is_open": False})
        return await self.confirm(services, action)


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
