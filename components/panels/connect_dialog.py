"""The form that connects a model: a provider, its key and address, and the model. A key goes in and never comes out.

The server tries the model before it keeps anything. Buttons beside the message field open the form, and a command does
(assets/modules/settings/connecting.mjs).
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from dash import ClientsideFunction, Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Form, Label, Select
from dash_bootstrap_components import Input as TextInput
from pydantic import Field

from agent.models.connections import list_connections
from checkpoints.values.audit_entry import AuditKind
from checkpoints.values.limits import MAX_LABEL_CHARS, MAX_SETTING_CHARS
from components import auditing, page_state
from components.dialog import ReadDialog, RowId, build_row_label, changed_output, is_read_again, report_in, rows_of
from components.model_connector import ModelConnector
from components.panel import Panel
from components.services import Services
from components.shapes import MalformedRequestError, check_shape
from words import N_, _, say

TITLE = N_("Connect a model")
# The row of a field is its provider and its name.
FIELD = "connect-field"


class Ids(StrEnum):
    DIALOG = "connect-dialog"
    PROVIDER = "connect-dialog-provider"
    FORM = "connect-form"
    # A reading fills this part of the form.
    FIELDS = "connect-fields"
    TRYING = "connect-trying"


Text = Annotated[str, Field(max_length=MAX_LABEL_CHARS)]


def build_form() -> Sequence[Component]:
    providers = [{"label": say(each.label), "value": each.id} for each in list_connections()]
    note = _(
        "Waymark sends a one-word test, then saves the settings in its .env file on this machine. "
        "You won't see the key again."
    )
    named: Any = {"role": "status"}
    parts = [
        Label(_("Provider"), html_for=Ids.PROVIDER),
        Select(providers, providers[0]["value"], id=Ids.PROVIDER),
        html.Div(id=Ids.FIELDS, className="connect-fields"),
        html.P(note, className="quiet"),
        html.P(_("Trying…"), id=Ids.TRYING, className="quiet", hidden=True, **named),
    ]
    form: Component = Form(parts, id=Ids.FORM, className="settings-form")
    return [form]


def build_buttons() -> Sequence[Component]:
    named: Any = {"data-once": ""}
    return [html.Button(_("Connect"), type="submit", form=Ids.FORM, className="btn btn-primary", **named)]


async def read(services: Services, _thread_id: str | None, provider: Any, shown: Any) -> tuple[Any, Any]:
    """Return an empty body, and the fields of the provider.

    What was typed into those that are shown stays when they are read again.
    """
    chosen = check_shape(Text, provider, Ids.PROVIDER)
    forms = await services.run_blocking(_get_connector(services).list_forms)
    form = next((each for each in forms if each.id == chosen), None)
    if form is None:
        raise MalformedRequestError(Ids.PROVIDER)
    rows = [each["row"] for each in check_shape(list[RowId], shown, FIELD)]
    if is_read_again(Ids.DIALOG) and rows == [_name_row(form.id, each) for each in form.fields]:
        return no_update, no_update
    return [], [part for each in form.fields for part in _build_field(_name_row(form.id, each), each)]


def _build_field(row: str, field: Mapping[str, Any]) -> list[Component]:
    is_key = field["kind"] == "key"
    text = TextInput(
        id={"type": FIELD, "row": row},
        value=field["value"],
        type="password" if is_key else "text",
        inputmode="url" if field["kind"] == "address" else None,
        maxlength=MAX_SETTING_CHARS,
        placeholder=_("A key is set. Leave empty to keep it.") if field["is_set"] else None,
        required=field["required"] and not field["is_set"],
        # Browsers would otherwise offer to fill in and to save a password.
        autocomplete="new-password" if is_key else "off",
    )
    return [build_row_label(say(field["label"]), FIELD, row), text]


def _name_row(provider: str, field: Mapping[str, Any]) -> str:
    return f"{provider}:{field['name']}"


def _get_connector(services: Services) -> ModelConnector:
    if services.connector is None:
        raise MalformedRequestError(_("Not found."))
    return services.connector


def register(app: Dash, services: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "readAgain"),
        changed_output(Ids.DIALOG),
        Input(Ids.PROVIDER, "value"),
        State(Ids.DIALOG, "is_open"),
        prevent_initial_call=True,
    )
    # A key stays in no field.
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "forgetConnection"),
        Output(rows_of(FIELD), "value"),
        Input(Ids.DIALOG, "is_open"),
        State(rows_of(FIELD), "value"),
        prevent_initial_call=True,
    )

    @app.callback(
        page_state.update_output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(Ids.FORM, "n_submit"),
        State(Ids.PROVIDER, "value"),
        State(rows_of(FIELD), "id"),
        State(rows_of(FIELD), "value"),
        running=[(Output(Ids.TRYING, "hidden"), False, True)],
        prevent_initial_call=True,
        on_error=partial(report_in, Ids.DIALOG),
    )
    async def connect(
        __: Any, provider: Text, fields: list[RowId], values: list[str | None]
    ) -> tuple[page_state.PageUpdate, bool]:
        given = {each["row"]: value or "" for each, value in zip(fields, values, strict=False)}
        own = {row.removeprefix(f"{provider}:"): value for row, value in given.items() if row.startswith(f"{provider}:")}
        model = await _get_connector(services).connect(provider, own)
        await auditing.record(services, AuditKind.MODEL, {"provider": provider, "model": model})
        return page_state.report_problem(_("{model} is connected.", model=model)), False


DIALOG = ReadDialog(
    Ids.DIALOG,
    TITLE,
    None,
    read,
    fields=build_form,
    buttons=build_buttons,
    size=None,
    parts=[Ids.FIELDS],
    states=[State(Ids.PROVIDER, "value"), State(rows_of(FIELD), "id")],
    focuses_close=False,
    close=N_("Cancel"),
)
PANEL = Panel(register=register, read_dialogs=[DIALOG])
