"""The banner at the top while the database is unavailable.

No panel reports an outage: every answer to the page does (see page.Page and action_routes), however it ended. The page then
polls `GET /healthz` until the database is available, and every panel reads again.
"""

from enum import StrEnum

from dash.development.base_component import Component

from checkpoints import Database
from components import page_state
from components.actions import Action, Answer
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from components.widgets import OutageBanner
from words import say


class Ids(StrEnum):
    BANNER = "trouble"


def dialogs() -> list[Component]:
    return [OutageBanner(id=Ids.BANNER)]


def report_outage(database: Database) -> None:
    """Show the database's problem, if there is one. Call it within a callback or a request of the page."""
    if text := database.outage:
        set_properties(Ids.BANNER, {"data": {"text": say(text)}})


async def _settle_runs(services: Services, action: Action) -> Answer:
    await services.runner.release_orphans()
    return Answer(page_state.refresh_panels(action.last_update))


PANEL = Panel(dialogs=dialogs, actions={Ids.BANNER: {"recovered": _settle_runs}})
