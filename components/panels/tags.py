"""The dialogs of tags: all tags, to rename and remove, and the tags of one or several conversations.

A hand-written component opens both (assets/modules/threads/tags.mjs).
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from dash_bootstrap_components import Form, Label
from dash_bootstrap_components import Input as Field
from pydantic import Field as Limits
from typing_extensions import TypedDict

from checkpoints import Caller
from checkpoints.tags import Tags
from checkpoints.values.limits import MAX_LABEL_CHARS, MAX_SELECTED_THREADS, MAX_TAG_CHARS
from checkpoints.values.tag import Tag, clean_tag
from components import page_state
from components.dialog import (
    ReadDialog,
    build_row_button,
    build_row_label,
    changed_output,
    find_pressed_row,
    find_row,
    mark_change,
    report_in,
    rows_of,
)
from components.page_state import PageUpdate
from components.panel import Panel
from components.people import READER, get_acting_role
from components.properties import find_triggered_value, set_properties
from components.services import Services
from components.shapes import check_shape
from components.thread_changes import tag_each
from components.widgets import Icon
from words import N_, _, ngettext

NAME, REMOVE, RESTORE, SHOW, UNDO = "tag-name", "tag-remove", "tag-restore", "tag-show", "tag-undo"
# They give a tag to conversations, and take it away.
GIVE, TAKE = "tag-give", "tag-take"


class Ids(StrEnum):
    DIALOG = "tags-dialog"
    # The last change of a tag, with what takes it back.
    DONE = "tags-done"
    CHOICE = "tag-choice"
    FORM = "tag-form"
    FIELD = "tag-choice-field"
    KNOWN = "tag-known"


Text = Annotated[str, Limits(max_length=MAX_LABEL_CHARS)]
CHANGE: Any = {"prevent_initial_call": True, "on_error": partial(report_in, Ids.DIALOG)}
CHOICE: Any = {"prevent_initial_call": True, "on_error": partial(report_in, Ids.CHOICE)}


class _Done(TypedDict):
    tag: Text
    # The name before the change. It is None for a tag that was removed.
    former: Text | None
    text: Text


class _Threads(TypedDict):
    threads: Annotated[list[Text], Limits(min_length=1, max_length=MAX_SELECTED_THREADS)]


class _Opened(TypedDict):
    about: _Threads


async def read(services: Services, _thread_id: str | None, done: Any) -> Sequence[Component]:
    tags, last = await services.read_snapshot(Tags(services.store).count_tags), check_shape(_Done | None, done, Ids.DONE)
    used, removed = ([each for each in tags if each.is_removed is is_removed] for is_removed in (False, True))
    if get_acting_role() == READER:
        return [_build_list([_build_row(each, _build_name(each), _build_show(each)) for each in used])]
    undo = [_build_undo(last)] if last else []
    return [_build_list([_build_own_tag(each) for each in used]), *undo, *([_build_removed(removed)] if removed else [])]


def _build_list(rows: Sequence[Component]) -> Component:
    nothing = html.P(_("No conversation has a tag. “Tags” in its menu adds one."), className="quiet")
    return html.Ul(rows, className="dialog-rows") if rows else nothing


def _build_own_tag(tag: Tag) -> Component:
    """Build the row of a tag whose name can be changed. Its field and its button are of the tag with the name shown."""
    row = f"{tag.id}:{tag.name}"
    fields: Any = {"id": {"type": NAME, "row": row}, "name": f"{NAME}:{tag.id}", "maxlength": MAX_TAG_CHARS}
    name = html.Div(
        [
            build_row_label(_("Name of the tag"), NAME, row, "visually-hidden"),
            Field(value=tag.name, debounce=True, autocomplete="off", **fields),
        ]
    )
    remove = build_row_button(_("Remove"), REMOVE, row, _("Remove {name}", name=tag.name))
    return _build_row(tag, name, _build_show(tag), remove)


def _build_row(tag: Tag, name: Component, *buttons: Component) -> Component:
    named: Any = {"data-testid": "tag"}
    count = html.P(ngettext("{count:,} conversation", "{count:,} conversations", tag.threads), className="quiet")
    return html.Li([html.Div([name, count]), html.Div(buttons, className="dialog-buttons")], className="dialog-row", **named)


def _build_name(tag: Tag) -> Component:
    return html.P(tag.name, dir="auto")


def _build_show(tag: Tag) -> Component:
    return build_row_button(_("Show"), SHOW, tag.id, _("Show {name}", name=tag.name), once=False)


def _build_undo(done: _Done) -> Component:
    status: Any = {"role": "status"}
    button = build_row_button([Icon(name="undo"), _("Undo")], UNDO, "last", className="quiet-button")
    return html.Div([html.Span(done["text"]), button], className="last-change", **status)


def _build_removed(tags: Sequence[Tag]) -> Component:
    def build_line(tag: Tag) -> Component:
        label = _("Bring back {name}", name=tag.name)
        button = build_row_button(_("Bring back"), RESTORE, tag.id, label, className="quiet-button")
        return html.Li([_build_name(tag), button], className="dialog-row")

    named: Any = {"aria-label": _("Removed")}
    lines = html.Ul([build_line(each) for each in tags], className="dialog-rows")
    return html.Section([html.H3(_("Removed"), className="dialog-heading"), lines], **named)


def build_fields() -> list[Component]:
    return [dcc.Store(id=Ids.DONE)]


def build_choice() -> list[Component]:
    """Build the form that adds a tag. The browser completes those that there are."""
    text = _("Find or add a tag")
    taken = {"maxlength": MAX_TAG_CHARS, "required": True, "autocomplete": "off", "autoFocus": True}
    field = Field(id=Ids.FIELD, list=Ids.KNOWN, placeholder=text, **taken)
    once: Any = {"data-once": ""}
    add = html.Button(_("Add"), type="submit", className="btn btn-primary", **once)
    parts = [Label(text, html_for=Ids.FIELD, className="visually-hidden"), field, add, html.Datalist(id=Ids.KNOWN)]
    return [Form(parts, id=Ids.FORM, className="tag-form")]


async def read_choice(services: Services, _thread_id: str | None, opened: Any) -> Sequence[Any]:
    """Return a button for each tag, and the tags that the field completes."""
    threads = set(check_shape(_Opened, opened, "opened")["about"]["threads"])
    tags = await services.read_snapshot(Tags(services.store).count_tags_in, threads)
    named: Any = {"aria-label": _("Tags")}
    choices = html.Div([_build_choice(each, len(threads)) for each in tags], className="tag-choices", role="group", **named)
    return choices, [html.Option(value=each.name) for each in tags]


def _build_choice(tag: Tag, total: int) -> Component:
    """Build a button that is pressed if all of the conversations have the tag. Some of them may."""
    kind = TAKE if tag.threads == total else GIVE
    text = _("{name} (on some)", name=tag.name) if 0 < tag.threads < total else tag.name
    state: Any = {"aria-pressed": "true" if kind == TAKE else "mixed" if tag.threads else "false"}
    return build_row_button(text, kind, tag.name, className="tag-chip", name=f"tag:{tag.id}", dir="auto", **state)


def register(app: Dash, services: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "showTag"),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(rows_of(SHOW), "n_clicks"),
        prevent_initial_call=True,
    )
    _register_names(app, services)
    _register_removal(app, services)
    _register_choice(app, services)


def _change_outputs() -> list[Output]:
    return [changed_output(Ids.DIALOG), page_state.update_output(), Output(Ids.DONE, "data", allow_duplicate=True)]


def _answer(done: _Done | None) -> tuple[float, PageUpdate, _Done | None]:
    return mark_change(), page_state.build_update(), done


def _register_names(app: Dash, services: Services) -> None:
    @app.callback(*_change_outputs(), Input(rows_of(NAME), "value"), **CHANGE | {"on_error": _refuse_name})
    async def rename(__: Any) -> tuple[Any, ...]:
        tag_id, _colon, former = find_row().partition(":")
        name = check_shape(Text, find_triggered_value() or "", "name")
        if name == former:
            # The row has appeared.
            raise PreventUpdate
        await services.run_blocking(Tags(services.store).rename_tag, tag_id, name)
        text = _("“{name}” is now “{new_name}”.", name=former, new_name=clean_tag(name))
        return _answer({"tag": tag_id, "former": former, "text": text})


def _refuse_name(error: Exception) -> None:
    """Report a refusal, and read the dialog again: the field shows the name that was refused."""
    report_in(Ids.DIALOG, error)
    set_properties(f"{Ids.DIALOG}-changed", {"data": mark_change()})


def _register_removal(app: Dash, services: Services) -> None:
    tags = Tags(services.store)

    @app.callback(*_change_outputs(), Input(rows_of(REMOVE), "n_clicks"), **CHANGE)
    async def remove(__: Any) -> tuple[Any, ...]:
        tag_id, _colon, name = find_pressed_row().partition(":")
        await services.run_blocking(tags.remove_tag, tag_id)
        return _answer({"tag": tag_id, "former": None, "text": _("“{name}” was removed.", name=name)})

    @app.callback(*_change_outputs(), Input(rows_of(RESTORE), "n_clicks"), **CHANGE)
    async def restore(_: Any) -> tuple[Any, ...]:
        await services.run_blocking(tags.restore_tag, find_pressed_row())
        return _answer(None)

    @app.callback(*_change_outputs(), Input(rows_of(UNDO), "n_clicks"), State(Ids.DONE, "data"), **CHANGE)
    async def undo(_: Any, done: _Done) -> tuple[Any, ...]:
        find_pressed_row()
        if done["former"] is None:
            await services.run_blocking(tags.restore_tag, done["tag"])
        else:
            await services.run_blocking(tags.rename_tag, done["tag"], done["former"])
        return _answer(None)


def _register_choice(app: Dash, services: Services) -> None:
    changed, opened = (changed_output(Ids.CHOICE), page_state.update_output()), State(f"{Ids.CHOICE}-opened", "data")

    async def change(opened: _Opened, *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[float, PageUpdate]:
        return mark_change(), await tag_each(services, opened["about"]["threads"], Caller(), add, remove)

    @app.callback(*changed, Input(rows_of(GIVE), "n_clicks"), opened, **CHOICE)
    async def give(_: Any, opened: _Opened) -> tuple[Any, ...]:
        return await change(opened, add=[find_pressed_row()])

    @app.callback(*changed, Input(rows_of(TAKE), "n_clicks"), opened, **CHOICE)
    async def take(_: Any, opened: _Opened) -> tuple[Any, ...]:
        return await change(opened, remove=[find_pressed_row()])

    @app.callback(
        *changed,
        Output(Ids.FIELD, "value"),
        Input(Ids.FORM, "n_submit"),
        opened,
        State(Ids.FIELD, "value"),
        # The reply empties the field.
        running=[(Output(Ids.FIELD, "readonly"), True, False)],
        **CHOICE,
    )
    async def add(_: Any, opened: _Opened, name: Text) -> tuple[Any, ...]:
        return *await change(opened, add=[name]), ""


DIALOG = ReadDialog(Ids.DIALOG, N_("Tags"), None, read, fields=build_fields, states=[State(Ids.DONE, "data")])
CHOOSING = ReadDialog(
    Ids.CHOICE,
    N_("Tags"),
    None,
    read_choice,
    fields=build_choice,
    size=None,
    parts=[Ids.KNOWN],
    focuses_close=False,
    states=[State(f"{Ids.CHOICE}-opened", "data")],
)
PANEL = Panel(register=register, read_dialogs=[DIALOG, CHOOSING])
