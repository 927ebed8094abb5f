"""The banner at the top while the database is unavailable.

No panel reports it: every answer to the page does (see page.Page), whichever callback it was and however it ended. The page
then polls `GET /healthz` until the database is available, and every panel reads again.
"""

from enum import StrEnum
from typing import Any

from dash import Dash, Input, State, set_props
from dash.development.base_component import Component

from checkpoints import Database
from components import page_state
from components.panel import Panel
from components.services import Services
from components.widgets import OutageBanner


class Ids(StrEnum):
    BANNER = "trouble"


def dialogs() -> list[Component]:
    return [OutageBanner(id=Ids.BANNER)]


def report_outage(database: Database) -> None:
    """Show the database's problem, if it has one, from within a callback."""
    if text := database.outage:
        set_props(Ids.BANNER, {"data": {"text": text}})


def register(app: Dash, services: Services) -> None:
    @app.callback(
        page_state.update_output(),
        Input(Ids.BANNER, "action"),
        State(page_state.Ids.UPDATE, "data"),
        prevent_initial_call=True,
    )
    async def settle_runs(_: dict[str, Any], last_update: page_state.PageUpdate | None) -> page_state.PageUpdate:
        await services.runner.release_orphans()
        return page_state.refresh_panels(last_update)


PANEL = Panel(register=register, dialogs=dialogs)
