"""A short message in the corner: the effect of a command with Undo, or the reason for a refusal."""

from enum import StrEnum
from functools import partial
from typing import Any

from dash import ClientsideFunction, Dash, Input, dcc, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, Toast

from checkpoints import Caller, StateError
from components import page_state
from components.actions import Action, Answer
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from words import _, ngettext, say

HIDDEN = {"display": "none"}


class Ids(StrEnum):
    TOAST = "toast"
    TEXT = "toast-text"
    UNDO = "toast-undo"
    # The page shows and handles the next two buttons: see assets/modules/controls/toast.mjs.
    RETRY = "toast-retry"
    CLOSE = "toast-close"
    # Undo reverts this change: `{thread, version}`.
    UNDO_TARGET = "toast-where"


def dialogs() -> list[Component]:
    undo = Button(_("Undo"), id=Ids.UNDO, size="sm", outline=True, color="secondary")
    retry = Button(_("Try again"), id=Ids.RETRY, size="sm", outline=True, color="secondary", style=HIDDEN)
    line = html.Div([html.Span(id=Ids.TEXT), undo, retry, dcc.Store(id=Ids.UNDO_TARGET)], className="toast-line")
    # The built-in button of Toast has an English name only.
    close: Any = {"aria-label": _("Close")}
    button = html.Button(id=Ids.CLOSE, type="button", className="btn-close", **close)
    toast = Toast(line, id=Ids.TOAST, is_open=False, duration=10_000, header=button)
    testid: Any = {"data-testid": "toast"}
    return [html.Div(toast, className="toasts", **testid)]


def show_toast(text: str) -> None:
    """Show a message after a callback failed. A page update would make every panel read, and fail, again."""
    set_properties(Ids.TEXT, {"children": say(text)})
    for button in (Ids.UNDO, Ids.RETRY):
        set_properties(button, {"style": HIDDEN})
    set_properties(Ids.TOAST, {"is_open": True})


def register(app: Dash, _services: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "showUpdateToast"), Input(page_state.Ids.UPDATE, "data"), prevent_initial_call=True
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "markToast"), Input(Ids.TOAST, "is_open"), prevent_initial_call=True
    )


async def _undo_shown_change(services: Services, action: Action) -> Answer:
    """Undo the change named by the toast: assets/modules/page/undoing.mjs."""
    thread_id, others = action.fields["thread"], action.fields.get("others", [])
    target = page_state.UndoTarget(thread=thread_id, version=action.fields["version"], others=others)
    if refusals := await undo_changes(services, target, action.caller.request_id):
        text = ngettext(
            "{count:,} conversation changed meanwhile and stays as it is.",
            "{count:,} conversations changed meanwhile and stay as they are.",
            len(refusals),
        )
        return Answer(page_state.report_problem(text if others else str(refusals[0])))
    set_properties(Ids.TOAST, {"is_open": False})
    stays = bool(others) or thread_id == action.page_thread_id
    return Answer(page_state.build_update(**({} if stays else {"go": page_state.thread_address(thread_id)})))


async def undo_changes(services: Services, target: page_state.UndoTarget, request_id: str | None = None) -> list[StateError]:
    """Undo a change of several threads where it is still the last change. Return the errors of the others."""
    changed: list[page_state.ChangedThread] = [target, *target.get("others", [])]
    undo = services.store.undo
    done = await services.apply_changes(
        [
            partial(undo, each["thread"], caller=Caller(request_id=request_id, expected_version=each["version"]))
            for each in changed
        ]
    )
    return [each for each in done if isinstance(each, StateError)]


PANEL = Panel(register=register, dialogs=dialogs, actions={Ids.TOAST: {"undo": _undo_shown_change}})
