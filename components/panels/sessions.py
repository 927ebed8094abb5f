"""The sessions: which browsers of a person are signed in, and their ends."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Any

from dash import Dash, Input, Output, html
from dash.development.base_component import Component

from components.dialog import ReadDialog, build_row_button, find_pressed_row, report_in, rows_of, show_problem
from components.page_state import PageLocation
from components.panel import Panel
from components.properties import Properties, set_properties
from components.services import Services
from components.sign_in import SignedInBrowser, get_request
from components.widgets import Time, build_menu_item
from words import N_, _, arrange

TITLE = N_("Sessions")
END = "end-session"
# In the place of a session's id, it stands for all but the page's own.
OTHERS = "others"


class Ids(StrEnum):
    BUTTON = "sessions"
    DIALOG = "sessions-dialog"
    BODY = "sessions-dialog-body"
    OTHERS = "sessions-others"
    # The browser ends its own session (leaving.mjs): it forgets what it has of it.
    SIGN_OUT = "sessions-sign-out"


def buttons() -> list[Component]:
    return [build_menu_item("person", _(TITLE), Ids.BUTTON, hidden=True)]


def build_buttons() -> list[Component]:
    return [html.Span(id=Ids.OTHERS)]


async def read(services: Services, _thread_id: str | None = None) -> Sequence[Component]:
    if services.sessions is None:
        return []
    current = services.sessions.find_current(get_request())
    found = await services.sessions.list_open(get_request())
    rows = [_build_row(each, is_current=current is not None and each.id == current.id) for each in found]
    end_others = build_row_button(_("Sign all others out"), END, OTHERS, className="btn btn-outline-danger")
    set_properties(Ids.OTHERS, {"children": end_others if len(rows) > 1 else None})
    note = _("A session ends after a week without use, and 30 days after it began.")
    return [html.Ul(rows, className="dialog-rows"), html.P(note, className="quiet")]


def _build_row(session: SignedInBrowser, *, is_current: bool) -> Component:
    signed_in, seen = (datetime.fromtimestamp(each, UTC).isoformat() for each in (session.signed_in_at, session.seen_at))
    times = arrange(
        _("Signed in {signed_in}, last seen {seen}"), signed_in=Time(data=signed_in), seen=Time(data=seen, name="age")
    )
    name: list[Any] = [session.browser, html.Strong(_(" · This browser"))] if is_current else [session.browser]
    button = (
        html.Button(_("Sign out"), id=Ids.SIGN_OUT, className="btn btn-outline-secondary")
        if is_current
        else build_row_button(_("End"), END, session.id, _("End {browser}", browser=session.browser))
    )
    named: Any = {"data-testid": "session"}
    return html.Li([html.Div([html.P(name), html.P(times, className="quiet")]), button], className="dialog-row", **named)


def register(app: Dash, services: Services) -> None:
    @app.callback(
        Output(Ids.BODY, "children", allow_duplicate=True),
        Input(rows_of(END), "n_clicks"),
        prevent_initial_call=True,
        on_error=partial(report_in, Ids.DIALOG),
    )
    async def end(_: Any) -> Sequence[Component]:
        row = find_pressed_row()
        if services.sessions is not None:
            current, found = services.sessions.find_current(get_request()), await services.sessions.list_open(get_request())
            others = [each.id for each in found if current is not None and each.id != current.id]
            if problem := await services.sessions.end(get_request(), others if row == OTHERS else [row]):
                show_problem(Ids.DIALOG, problem)
        return await read(services)


def show(services: Services, _: PageLocation) -> Properties:
    """Hide the item where nobody signs in here: the sessions of a proxy are not Waymark's."""
    return {Ids.BUTTON: {"hidden": services.sessions is None}}


DIALOG = ReadDialog(Ids.DIALOG, TITLE, Ids.BUTTON, read, buttons=build_buttons)
PANEL = Panel(register=register, read_dialogs=[DIALOG], app_buttons=buttons, show=show)
