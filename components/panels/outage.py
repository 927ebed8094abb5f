"""The banner at the top while the database is unavailable.

No panel reports an outage: every answer to the page does (see page.Page and action_routes), however it ended. The page then
polls `GET /healthz` until the database is available, and every panel reads again.
"""

from enum import StrEnum
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, dcc, html
from dash.development.base_component import Component

from checkpoints import Database
from components import page_state
from components.actions import Action, Answer
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from components.widgets import Icon
from words import say


class Ids(StrEnum):
    # The sentence of the newest outage.
    TROUBLE = "trouble"
    BANNER = "outage"
    TEXT = "outage-text"


def build_banner() -> Component:
    named: Any = {"data-testid": "trouble"}
    content = [Icon(name="exclamation-circle"), html.P(id=Ids.TEXT)]
    return html.Div(content, id=Ids.BANNER, className="outage", role="alert", hidden=True, **named)


def dialogs() -> list[Component]:
    return [dcc.Store(id=Ids.TROUBLE)]


def register(app: Dash, _: Services) -> None:
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "followOutage"),
        Output(Ids.BANNER, "key"),
        Input(Ids.TROUBLE, "data"),
        prevent_initial_call=True,
    )


def report_outage(database: Database) -> None:
    """Show the database's problem, if there is one. Call it within a callback or a request of the page."""
    if text := database.outage:
        set_properties(Ids.TROUBLE, {"data": {"text": say(text)}})


async def _settle_runs(services: Services, action: Action) -> Answer:
    await services.runner.release_orphans()
    return Answer(page_state.refresh_panels(action.last_update))


PANEL = Panel(dialogs=dialogs, register=register, actions={Ids.TROUBLE: {"recovered": _settle_runs}})
