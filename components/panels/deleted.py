"""The last deleted conversations, each with a button to bring it back. The list of conversations opens the dialog."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component

from checkpoints import Caller, Thread
from components import page_state
from components.dialog import ReadDialog, build_row_button, find_pressed_row, report_in, rows_of
from components.page_state import PageUpdate
from components.panel import Panel
from components.people import READER, get_acting_role
from components.services import Services
from components.shapes import Count, check_shape
from words import N_, _

BRING_BACK = "bring-back"


class Ids(StrEnum):
    DIALOG = "deleted-dialog"


async def read(services: Services, _thread_id: str | None) -> Sequence[Component]:
    deleted = await services.read_snapshot(services.store.list_deleted_threads)
    rows = [_build_row(each) for each in deleted]
    return [html.Ul(rows, className="dialog-rows") if rows else html.P(_("No deleted conversations."), className="quiet")]


def _build_row(thread: Thread) -> Component:
    """Build a row with its version, which prevents undoing a later change instead."""
    label = _("Bring back {title}", title=thread.title)
    button = build_row_button(_("Bring back"), BRING_BACK, f"{thread.version}:{thread.id}", label)
    return html.Li(
        [html.P(thread.title, dir="auto"), *([] if get_acting_role() == READER else [button])], className="dialog-row"
    )


def register(app: Dash, services: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "leaveSheets"), Input(rows_of(BRING_BACK), "n_clicks"), prevent_initial_call=True
    )

    @app.callback(
        page_state.update_output(),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(rows_of(BRING_BACK), "n_clicks"),
        prevent_initial_call=True,
        on_error=partial(report_in, Ids.DIALOG),
    )
    async def bring_back(_: Any) -> tuple[PageUpdate, bool]:
        seen, _colon, thread_id = find_pressed_row().partition(":")
        version = check_shape(Count, int(seen) if seen.isdecimal() else None, "row")
        await services.apply_change(services.store.undo, thread_id, caller=Caller(expected_version=version))
        return page_state.build_update(go=page_state.thread_address(thread_id)), False


DIALOG = ReadDialog(Ids.DIALOG, N_("Deleted conversations"), None, read)
PANEL = Panel(register=register, read_dialogs=[DIALOG])
