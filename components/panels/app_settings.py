"""The settings of the app: a person's default instructions, which the server keeps, and the options of this browser."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from dash import Dash, Input, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Form
from dash_bootstrap_components import Textarea as TextArea
from pydantic import Field

from checkpoints import Store
from checkpoints.default_instructions import DefaultInstructions
from checkpoints.values.errors import InstructionsChangedError
from checkpoints.values.limits import MAX_INSTRUCTIONS_CHARS
from components import browser_options, page_state
from components.dialog import ReadDialog, RowId, build_row_label, is_read_again, report_in, rows_of
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from components.shapes import check_shape
from components.widgets import build_menu_item
from components.write_access import describe_read_only
from words import N_, _

TITLE = N_("App settings")
INSTRUCTIONS = "default-instructions"
# The field of the instructions is the only row of its kind.
ROW = {"type": INSTRUCTIONS, "row": "own"}


class Ids(StrEnum):
    BUTTON = "app-settings"
    DIALOG = "app-settings-dialog"
    FORM = "app-settings-form"
    # A reading fills this part of the form.
    FIELDS = "app-settings-fields"
    # The instructions as they were read or saved.
    SEEN = "app-settings-seen"
    SAVED = "app-settings-saved"
    SAVE = "app-settings-save"


# A longer text is refused with a sentence.
Text = Annotated[str, Field(max_length=2 * MAX_INSTRUCTIONS_CHARS)]


def buttons() -> list[Component]:
    return [build_menu_item("gear", _(TITLE), Ids.BUTTON)]


def build_fields() -> Sequence[Component]:
    return [_build_instructions_form(), dcc.Store(id=Ids.SEEN), browser_options.build_section()]


def _build_instructions_form() -> Component:
    once: Any = {"data-once": ""}
    status: Any = {"role": "status"}
    save = html.Button(_("Save"), id=Ids.SAVE, type="submit", hidden=True, className="btn btn-primary", **once)
    saved = html.Span(id=Ids.SAVED, className="quiet", **status)
    form: Component = Form([html.Div(id=Ids.FIELDS), html.Div([save, saved], className="form-save")], id=Ids.FORM)
    return form


async def read(services: Services, _thread_id: str | None, rows: Any) -> tuple[Any, Any]:
    """Return an empty body, and the field of the instructions. What was typed stays when the dialog is read again."""
    if is_read_again(Ids.DIALOG) and check_shape(list[RowId], rows, INSTRUCTIONS):
        return no_update, no_update
    text, read_only = await services.read_snapshot(_read_instructions, services.store)
    set_properties(Ids.SEEN, {"data": text})
    set_properties(Ids.SAVE, {"hidden": read_only is not None})
    set_properties(Ids.SAVED, {"children": ""})
    return [], _build_instructions(text, read_only)


def _read_instructions(store: Store) -> tuple[str, str | None]:
    return DefaultInstructions(store).read(), describe_read_only(store, None)


def _build_instructions(text: str, read_only: str | None) -> list[Component]:
    about = _(
        "The agent gets them in each of your conversations, from your next message. At most {limit:,} characters.",
        limit=MAX_INSTRUCTIONS_CHARS,
    )
    field = TextArea(
        id=ROW,
        value=text,
        dir="auto",
        rows=5,
        maxlength=MAX_INSTRUCTIONS_CHARS,
        disabled=read_only is not None,
        placeholder=_("For example: I am a teacher. Answer briefly, and in plain words."),
    )
    label = build_row_label(_("Default instructions"), INSTRUCTIONS, ROW["row"])
    return [label, field, html.P(read_only or about, className="quiet")]


def register(app: Dash, services: Services) -> None:
    browser_options.register(app, Ids.DIALOG)

    @app.callback(
        page_state.update_output(),
        Input(Ids.FORM, "n_submit"),
        State(Ids.SEEN, "data"),
        State(rows_of(INSTRUCTIONS), "value"),
        prevent_initial_call=True,
        on_error=partial(report_in, Ids.DIALOG),
    )
    async def save(__: Any, seen: Text | None, texts: list[Text | None]) -> Any:
        """Save the instructions, and let the panels measure the conversation with them."""
        if not texts:
            return no_update
        save_text = DefaultInstructions(services.store).save_text
        try:
            text = await services.run_blocking(save_text, texts[0] or "", seen=seen)
        except InstructionsChangedError as error:
            set_properties(Ids.SEEN, {"data": error.text})
            set_properties(Ids.SAVED, {"children": ""})
            raise
        set_properties(Ids.SEEN, {"data": text})
        set_properties(Ids.SAVED, {"children": _("Saved.")})
        return page_state.build_update()


DIALOG = ReadDialog(
    Ids.DIALOG,
    TITLE,
    Ids.BUTTON,
    read,
    fields=build_fields,
    size=None,
    parts=[Ids.FIELDS],
    states=[State(rows_of(INSTRUCTIONS), "id")],
)
PANEL = Panel(register=register, read_dialogs=[DIALOG], app_buttons=buttons)
