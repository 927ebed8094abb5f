"""The settings of a conversation: their dialog, and the model that the message field chooses.

Settings chosen before the first message stay in the browser (assets/modules/settings/settings.mjs), and are sent with that
message.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Form
from pydantic import Field
from typing_extensions import TypedDict

from agent.settings import ThreadSettings
from checkpoints import Caller, ConflictError, ThreadNotFoundError
from checkpoints.values.limits import MAX_INSTRUCTIONS_CHARS
from components import page_state
from components.actions import Action, Answer
from components.dialog import ReadDialog, RowId, is_read_again, report_in, rows_of, show_problem
from components.model_choice import GRAPH_PREFIX
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from components.settings_form import SETTING, ShownSettings, build_settings_form, read_choice
from components.shapes import check_shape
from components.views import operations
from components.widgets import build_menu_item
from components.write_access import describe_read_only
from words import N_, _

TITLE = N_("Conversation settings")
CONFLICT_NOTICE = N_(
    "These settings were changed elsewhere in the meantime. Your version is still here; save again to replace them."
)


class Ids(StrEnum):
    # The model picker of the message field reports its actions under this id, too.
    BUTTON = "settings"
    DIALOG = "settings-dialog"
    FORM = "settings-form"
    # A reading fills this part of the form.
    FIELDS = "settings-fields"
    SAVE = "settings-save"
    # The settings as they were read.
    SEEN = "settings-seen"
    # What is chosen for the conversation that the next message begins.
    KEPT = "settings-kept"


NO_CALLER = Caller()
# A longer text is refused with a sentence.
Text = Annotated[str, Field(max_length=2 * MAX_INSTRUCTIONS_CHARS)]
_Values = list[Text | int | float | None]


class _Kept(TypedDict):
    """What the browser keeps: the chosen settings, and what the page says of the model."""

    choice: dict[str, Text]
    model: str
    demo: str | None


def buttons() -> list[Component]:
    return [build_menu_item("sliders", _(TITLE), Ids.BUTTON)]


def build_fields() -> Sequence[Component]:
    return [Form(html.Div(id=Ids.FIELDS), id=Ids.FORM, className="settings-form"), dcc.Store(id=Ids.SEEN)]


def build_buttons() -> Sequence[Component]:
    named: Any = {"data-once": ""}
    return [
        html.Button(_("Save"), id=Ids.SAVE, type="submit", form=Ids.FORM, hidden=True, className="btn btn-primary", **named)
    ]


async def read(services: Services, thread_id: str | None, kept: Any, rows: Any) -> tuple[Any, Any]:
    """Return an empty body, and the fields. What was typed stays when the dialog is read again."""
    if is_read_again(Ids.DIALOG) and check_shape(list[RowId], rows, SETTING):
        return no_update, no_update
    kept_choice = (check_shape(_Kept | None, kept, Ids.KEPT) or {}).get("choice", {})
    shown = await services.read_snapshot(_read_settings, services, thread_id, kept_choice)
    set_properties(Ids.SEEN, {"data": asdict(shown.saved)})
    set_properties(Ids.SAVE, {"hidden": shown.is_fixed})
    return [], build_settings_form(shown)


def _read_settings(services: Services, thread_id: str | None, kept: Mapping[str, str]) -> ShownSettings:
    saved, choice = _make_new(services), None
    try:
        if thread_id is not None:
            saved = choice = ThreadSettings.from_thread(services.store.get_thread(thread_id))
    except ThreadNotFoundError:
        # The address of the missing thread remains, and the next message begins a new thread.
        thread_id = None
    return ShownSettings(
        thread_id,
        saved,
        choice or _add(saved, kept),
        models=services.models.specs,
        default_model=services.models.default_spec,
        parameters=services.models.parameters,
        policy=services.runner.default_policy,
        read_only=describe_read_only(services.store, thread_id),
    )


def _make_new(services: Services) -> ThreadSettings:
    """Return the settings for the conversation of the next message."""
    return ThreadSettings(graph=services.runner.graphs.default)


def _add(settings: ThreadSettings, values: Mapping[str, str]) -> ThreadSettings:
    known = asdict(settings)
    return ThreadSettings(**{name: values.get(name, known[name]) for name in known})


def register(app: Dash, services: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "noteChoice"), Input(Ids.KEPT, "data"), prevent_initial_call=True
    )

    @app.callback(
        page_state.update_output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Output(Ids.KEPT, "data"),
        Input(Ids.FORM, "n_submit"),
        State(page_state.Ids.URL, "pathname"),
        State(Ids.KEPT, "data"),
        State(Ids.SEEN, "data"),
        State(rows_of(SETTING), "id"),
        State(rows_of(SETTING), "value"),
        prevent_initial_call=True,
        on_error=partial(report_in, Ids.DIALOG),
    )
    async def save(
        __: Any,
        pathname: str,
        kept: _Kept | None,
        seen: dict[str, Text] | None,
        rows: list[RowId],
        values: _Values,
    ) -> tuple[Any, Any, Any]:
        """Change the settings that differ from those that were read. The dialog closes with the reply."""
        given = {row["row"]: value for row, value in zip(rows, values, strict=False)}
        if not given or seen is None:
            return no_update, False, no_update
        thread_id = page_state.parse_thread_id(pathname)
        return await _save_form(services, thread_id, given, seen, kept["choice"] if kept else {})


async def _save_form(
    services: Services, thread_id: str | None, given: Mapping[str, Any], seen: Mapping[str, str], kept: Mapping[str, str]
) -> tuple[Any, Any, Any]:
    """Return the page's update, whether the dialog stays open, and what the browser keeps."""
    chosen = read_choice(given, services.runner.default_policy, seen)
    shown = await services.read_snapshot(_read_settings, services, thread_id, kept)
    if shown.thread is None:
        return no_update, False, _keep(services, shown.saved, {**asdict(shown.choice), **chosen})
    changed = {name: text for name, text in chosen.items() if text.strip() != seen.get(name, "")}
    try:
        return await _save_settings(services, shown.thread, changed, seen) or no_update, False, no_update
    except ConflictError:
        now = await services.read_snapshot(_read_settings, services, shown.thread, {})
        set_properties(Ids.SEEN, {"data": asdict(now.saved)})
        show_problem(Ids.DIALOG, _(CONFLICT_NOTICE))
        return no_update, no_update, no_update


def _keep(services: Services, new: ThreadSettings, choice: Mapping[str, str]) -> _Kept | None:
    """Check the settings for the first message, and return what the browser keeps of them."""
    ThreadSettings().with_changes(choice, services.models, services.runner.graphs)
    changed = {name: text for name, text in choice.items() if text.strip() != getattr(new, name, "")}
    if not changed:
        return None
    graph = choice["graph"]
    model = f"{GRAPH_PREFIX}{graph}" if graph else choice["model"] or services.models.default_spec
    return {"choice": changed, "model": model, "demo": None if graph else services.describe_demo(model)}


async def _choose_model(services: Services, action: Action) -> Answer:
    """Change the model of a conversation at once. No dialog keeps the choice, so a refusal is a toast."""
    thread_id, choice = action.fields["thread"], action.fields["choice"]
    update = await _save_settings(services, thread_id, choice, caller=action.unversioned_caller)
    return Answer(update or page_state.build_update())


async def _save_settings(
    services: Services,
    thread_id: str,
    chosen: Mapping[str, Any],
    seen: Mapping[str, str] | None = None,
    caller: Caller = NO_CALLER,
) -> page_state.PageUpdate | None:
    """Store only settings that differ. Stored values must still equal those in `seen`, if it is given."""
    before = ThreadSettings.from_thread(await services.read_snapshot(services.store.get_thread, thread_id))
    values = before.with_changes(chosen, services.models).changes_since(before)
    if not values:
        return None
    known = None if seen is None else {name: seen.get(name, "") for name in values}
    done = await services.apply_change(services.store.change_settings, thread_id, values, expected=known, caller=caller)
    return page_state.build_update(
        toast={
            "text": _("Set {values}", values=operations.describe_settings(values)),
            "undo": {"thread": thread_id, "version": done.version},
        }
    )


DIALOG = ReadDialog(
    Ids.DIALOG,
    TITLE,
    Ids.BUTTON,
    read,
    fields=build_fields,
    buttons=build_buttons,
    size=None,
    parts=[Ids.FIELDS],
    states=[State(Ids.KEPT, "data"), State(rows_of(SETTING), "id")],
    close=N_("Cancel"),
)
PANEL = Panel(
    register=register,
    dialogs=lambda: [dcc.Store(id=Ids.KEPT)],
    read_dialogs=[DIALOG],
    buttons=buttons,
    actions={Ids.BUTTON: {"choose": _choose_model}},
)
