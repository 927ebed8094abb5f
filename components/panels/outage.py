"""The banner at the top while the database takes no part, and what asks whether it does again.

No panel has to say it: every answer to the page carries it (see page.Page), whatever the callback was about and however it
ended. The page then asks `GET /healthz` until all is well, and everything is read again.
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
    """From within a callback: what is wrong with the database, if anything is."""
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
