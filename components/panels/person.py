"""The person who is signed in, in the bar's menu, with the way out. Where nobody is told apart, it is hidden."""

from enum import StrEnum
from typing import Any

from dash import html
from dash.development.base_component import Component

from checkpoints import get_acting_owner
from components.page_state import PageLocation
from components.panel import Panel
from components.services import Services
from words import _


class Ids(StrEnum):
    LINE = "person"
    NAME = "person-name"
    SIGN_OUT = "sign-out"


def build_line() -> Component:
    """Build the last line of the menu. The frame has no data, so it is hidden there."""
    leave = html.A(_("Sign out"), id=Ids.SIGN_OUT, hidden=True)
    return html.Div([html.Span(id=Ids.NAME), leave], id=Ids.LINE, hidden=True)


SHOWN = ((Ids.LINE, "hidden"), (Ids.NAME, "children"), (Ids.SIGN_OUT, "href"), (Ids.SIGN_OUT, "hidden"))


def show(services: Services, _location: PageLocation) -> tuple[Any, ...]:
    if not services.store.database.separates_owners:
        return True, "", "", True
    address = services.sign_out_url
    return False, _("Signed in as {name}", name=get_acting_owner()), address or "", address is None


PANEL = Panel(shown=SHOWN, show=show)
