"""The form that changes the own password."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Form, Label, ModalFooter
from dash_bootstrap_components import Input as TextInput
from pydantic import Field

from checkpoints.rows.account_rows import MAX_PASSWORD_CHARS, MIN_PASSWORD_CHARS
from components import page_state
from components.dialog import (
    build_closing_button,
    build_modal,
    build_problem,
    open_on,
    register_dialog,
    report_in,
    show_problem,
)
from components.page_state import PageLocation
from components.panel import Panel
from components.properties import Properties
from components.services import Services
from components.shapes import MalformedRequestError
from components.sign_in import get_request
from components.widgets import build_menu_item
from extensions.people.server_people import get_people
from words import _

Password = Annotated[str, Field(max_length=MAX_PASSWORD_CHARS)]


class Ids(StrEnum):
    BUTTON = "change-password"
    DIALOG = "password-dialog"
    FORM = "password-dialog-form"
    FORMER = "password-dialog-former"
    NEW = "password-dialog-new"
    SAVE = "password-dialog-save"


FIELDS = (Ids.FORMER, Ids.NEW)


def build_item() -> Component:
    return build_menu_item("key", _("Password"), Ids.BUTTON, hidden=True)


def build_dialogs() -> Sequence[Component]:
    limits = {"type": "password", "required": True, "maxLength": MAX_PASSWORD_CHARS}
    rule = _("At least {least} characters. A few words in a row are easy to keep.", least=MIN_PASSWORD_CHARS)
    named: Any = {"data-testid": "password-dialog"}
    fields = [
        build_problem(Ids.DIALOG),
        Label(_("Present password"), html_for=Ids.FORMER),
        TextInput(id=Ids.FORMER, autoComplete="current-password", autoFocus=True, **limits),
        Label(_("New password"), html_for=Ids.NEW),
        TextInput(id=Ids.NEW, autoComplete="new-password", minLength=MIN_PASSWORD_CHARS, **limits),
        html.P(rule, className="quiet mt-2"),
        # The opening empties the body of a dialog, and notes its time.
        html.Div(id=f"{Ids.DIALOG}-body"),
        dcc.Store(id=f"{Ids.DIALOG}-opened"),
    ]
    buttons = [
        build_closing_button(Ids.DIALOG, _("Cancel"), has_focus=False),
        Button(_("Save"), id=Ids.SAVE, color="primary", type="submit"),
    ]
    form = Form([html.Div(fields, className="modal-body", **named), ModalFooter(buttons)], id=Ids.FORM)
    return [build_modal(Ids.DIALOG, _("Change the password"), [form])]


def register(app: Dash, services: Services) -> None:
    register_dialog(app, Ids.DIALOG)
    open_on(app, Ids.DIALOG, Ids.BUTTON)
    # A password stays in no field.
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "clearFields"),
        *(Output(field, "value") for field in FIELDS),
        Input(Ids.DIALOG, "is_open"),
        *(State(field, "id") for field in FIELDS),
        prevent_initial_call=True,
    )

    @app.callback(
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        page_state.update_output(),
        Input(Ids.FORM, "n_submit"),
        *(State(field, "value") for field in FIELDS),
        running=[(Output(Ids.SAVE, "disabled"), True, False)],
        prevent_initial_call=True,
        on_error=partial(report_in, Ids.DIALOG),
    )
    async def save(__: Any, former: Password, new: Password) -> tuple[Any, Any]:
        people = get_people(services)
        if people is None or not people.has_passwords:
            raise MalformedRequestError(_("Not found."))
        if problem := await people.change_password(get_request(), former, new):
            show_problem(Ids.DIALOG, problem)
            return no_update, no_update
        return False, page_state.report_problem(_("The password is changed. Your other browsers are signed out."))


def show(services: Services, _: PageLocation) -> Properties:
    return {Ids.BUTTON: {"hidden": services.people is None or not services.people.has_passwords}}


PANEL = Panel(register=register, dialogs=build_dialogs, show=show, person_buttons=lambda: [build_item()])
