"""The library of prompts: listed, written, edited and deleted. The message field inserts them (assets/modules/dialogs)."""

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from typing import Annotated, Any
from uuid import NAMESPACE_OID, uuid5

from dash import ClientsideFunction, Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Form
from dash_bootstrap_components import Input as TextInput
from dash_bootstrap_components import Textarea as TextArea
from pydantic import Field
from typing_extensions import TypedDict

from checkpoints import get_acting_owner
from checkpoints.saved_prompts import SavedPrompt, SavedPrompts
from checkpoints.values.limits import MAX_LABEL_CHARS, MAX_NUMBER
from checkpoints.values.text import shorten
from components.dialog import (
    ReadDialog,
    RowId,
    build_row_button,
    build_row_label,
    changed_output,
    find_pressed_row,
    is_read_again,
    mark_change,
    open_on,
    report_in,
    rows_of,
)
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from components.shapes import check_shape
from components.views.shown_text import MAX_BEGINNING_CHARS
from components.widgets import Icon, PromptVariables
from words import N_, _

MAX_NAME_CHARS = 120
# The kinds of the buttons in rows.
INSERT, EDIT, DELETE, RESTORE = "prompt-insert", "prompt-edit", "prompt-delete", "prompt-restore"
# Each field of the form is the only row of its kind.
NAME, TEXT, OWN = "prompt-name", "prompt-text", "own"


class Ids(StrEnum):
    DIALOG = "prompts-dialog"
    NEW = "prompts-dialog-new"
    DELETED = "prompts-deleted"
    # This dialog lies above the other one.
    EDITOR = "prompt-dialog"
    FORM = "prompt-form"
    # A reading fills this part of the form.
    FIELDS = "prompt-fields"


GUARDED: Any = {"prevent_initial_call": True, "on_error": partial(report_in, Ids.DIALOG)}
OPENED = State(f"{Ids.EDITOR}-opened", "data")
Id = Annotated[str, Field(max_length=MAX_LABEL_CHARS)]


class _Prompt(TypedDict):
    id: Id
    name: str
    text: str


class _Begun(TypedDict):
    text: str


class _Opened(TypedDict):
    at: Annotated[int, Field(ge=0, le=MAX_NUMBER)]
    # The id of a prompt, or the text of a new one.
    about: Id | _Begun | None


_OneText = Annotated[list[str], Field(min_length=1, max_length=1)]


def build_new() -> list[Component]:
    return [html.Button(_("New prompt"), id=Ids.NEW, className="btn btn-primary", autoFocus=True)]


def build_kept() -> list[Component]:
    return [dcc.Store(id=Ids.DELETED)]


async def read(services: Services, _thread_id: str | None, deleted: Any) -> Sequence[Component]:
    """List the prompts. The last that was deleted can be brought back, until the dialog is opened again."""
    found = await services.read_snapshot(SavedPrompts(services.store).list_prompts)
    about = _("No prompts yet. A prompt is a text that you use again; {{name}} in it is asked for when you insert it.")
    listed = html.Ul([_build_line(each) for each in found]) if found else html.P(about, className="quiet")
    if ctx.triggered_id == f"{Ids.DIALOG}-opened":
        set_properties(Ids.DELETED, {"data": None})
        deleted = None
    gone: _Prompt | None = check_shape(_Prompt | None, deleted, "deleted")
    return [html.Section(listed, className="share prompts"), *([_build_undo(gone)] if gone else [])]


def _build_line(prompt: SavedPrompt) -> Component:
    name, row = prompt.name, prompt.id
    buttons = [
        build_row_button(_("Insert"), INSERT, row, _("Insert {name}", name=name), once=False),
        # The name is that of the same button in the next reading: see assets/modules/page/lost-focus.mjs.
        build_row_button(_("Edit"), EDIT, row, _("Edit {name}", name=name), once=False, name=f"edit:{row}"),
        build_row_button(_("Delete"), DELETE, row, _("Delete {name}", name=name)),
    ]
    excerpt = html.P(shorten(prompt.text, MAX_BEGINNING_CHARS), className="quiet", dir="auto")
    named: Any = {"data-testid": "prompt"}
    text = html.Div([html.P(name, dir="auto"), excerpt], className="share-text")
    return html.Li([text, html.Div(buttons, className="share-buttons")], **named)


def _build_undo(prompt: _Prompt) -> Component:
    undo: Any = [Icon(name="undo"), _("Undo")]
    button = build_row_button(undo, RESTORE, "own", className="quiet-button")
    status: Any = {"role": "status"}
    return html.P([html.Span(_("“{name}” was deleted.", name=prompt["name"])), button], className="last-change", **status)


def build_form() -> list[Component]:
    return [Form(html.Div(id=Ids.FIELDS), id=Ids.FORM)]


def _build_fields(name: str, text: str) -> list[Component]:
    """Build the fields. The browser focuses the name as they appear."""
    limits: Any = {"maxlength": MAX_NAME_CHARS, "required": True, "autocomplete": "off", "autoFocus": True}
    return [
        html.P(_("{{name}} is asked for when you insert the prompt, for example {{language}}."), className="quiet"),
        build_row_label(_("Name"), NAME, OWN),
        TextInput(id={"type": NAME, "row": OWN}, value=name, **limits),
        build_row_label(_("Text"), TEXT, OWN, "mt-2"),
        TextArea(id={"type": TEXT, "row": OWN}, value=text, rows=8, required=True, dir="auto", submit_on_enter=False),
    ]


def build_save() -> list[Component]:
    once: Any = {"data-once": ""}
    return [html.Button(_("Save"), type="submit", form=Ids.FORM, className="btn btn-primary", **once)]


async def read_prompt(services: Services, _thread_id: str | None, opened: Any, rows: Any) -> tuple[Any, Any]:
    """Return an empty body, and the fields. What was typed stays when the dialog is read again."""
    about = check_shape(_Opened, opened, "opened")["about"]
    if is_read_again(Ids.EDITOR) and check_shape(list[RowId], rows, NAME):
        return no_update, no_update
    if isinstance(about, str):
        prompt = await services.read_snapshot(SavedPrompts(services.store).get_prompt, about)
        return [], _build_fields(prompt.name, prompt.text)
    return [], _build_fields("", about["text"] if about else "")


def register(app: Dash, services: Services) -> None:
    open_on(app, Ids.EDITOR, Ids.NEW, Ids.FIELDS)
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "insertPromptOfRow"),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(rows_of(INSERT), "n_clicks"),
        prevent_initial_call=True,
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "readPrompts"), Input(f"{Ids.DIALOG}-changed", "data"), prevent_initial_call=True
    )
    _register_changes(app, services)


def _register_changes(app: Dash, services: Services) -> None:
    prompts, changed, closed = SavedPrompts(services.store), changed_output(Ids.DIALOG), "is_open"

    @app.callback(
        changed,
        *(Output(each, closed, allow_duplicate=True) for each in (Ids.EDITOR, Ids.DIALOG)),
        Input(Ids.FORM, "n_submit"),
        OPENED,
        State(rows_of(NAME), "value"),
        State(rows_of(TEXT), "value"),
        State(Ids.DIALOG, "is_open"),
        **GUARDED | {"on_error": partial(report_in, Ids.EDITOR)},
    )
    async def save(_: Any, opened: _Opened, names: _OneText, texts: _OneText, is_listed: bool) -> tuple[float, bool, Any]:
        """Save a prompt, and show it in the list. A new one has an id of the moment when its form was opened."""
        about = opened["about"]
        if isinstance(about, str):
            await services.read_snapshot(prompts.get_prompt, about)
        prompt_id = about if isinstance(about, str) else _make_id(str(opened["at"]))
        await services.run_blocking(prompts.save_prompt, prompt_id, names[0], texts[0])
        # Dash would move the focus of a dialog that is opened again.
        return mark_change(), False, no_update if is_listed else True

    @app.callback(changed, Output(Ids.DELETED, "data"), Input(rows_of(DELETE), "n_clicks"), **GUARDED)
    async def delete(_: Any) -> tuple[float, Any]:
        deleted = await services.run_blocking(prompts.delete_prompt, find_pressed_row())
        return mark_change(), asdict(deleted)

    @app.callback(
        changed,
        Output(Ids.DELETED, "data", allow_duplicate=True),
        Input(rows_of(RESTORE), "n_clicks"),
        State(Ids.DELETED, "data"),
        **GUARDED,
    )
    async def restore(_: Any, deleted: _Prompt) -> tuple[float, None]:
        find_pressed_row()
        await services.run_blocking(prompts.save_prompt, _make_id(deleted["id"]), deleted["name"], deleted["text"])
        return mark_change(), None


def _make_id(name: str) -> str:
    """Make the id of a prompt: for a repeated request the same, and of no other person."""
    return str(uuid5(NAMESPACE_OID, f"{get_acting_owner()} {name}"))


DIALOG = ReadDialog(
    Ids.DIALOG, N_("Prompts"), None, read, build_kept, build_new, states=[State(Ids.DELETED, "data")], focuses_close=False
)
EDITOR = ReadDialog(
    Ids.EDITOR,
    N_("Prompt"),
    rows_of(EDIT),
    read_prompt,
    fields=build_form,
    buttons=build_save,
    close=N_("Cancel"),
    parts=[Ids.FIELDS],
    states=[OPENED, State(rows_of(NAME), "id")],
    focuses_close=False,
)
PANEL = Panel(register=register, dialogs=lambda: [PromptVariables(id="prompt-variables")], read_dialogs=[DIALOG, EDITOR])
