"""The signed-in person in the bar's menu, with Sign out and the person's actions on people.

It is hidden if the server does not tell people apart.
"""

from collections.abc import Sequence
from enum import StrEnum

from dash import html
from dash.development.base_component import Component

from checkpoints import get_acting_owner
from components.page_state import PageLocation
from components.panel import Panel
from components.people import READER, get_acting_role
from components.properties import Properties
from components.services import Services
from words import _


class Ids(StrEnum):
    LINE = "person"
    NAME = "person-name"
    SIGN_OUT = "sign-out"
    LEAVE = "leave"


def build_line(items: Sequence[Component]) -> Component:
    """Build the last lines of the menu, hidden at first: the frame has no data. The items are other panels' own."""
    # This link leads to a proxy's own sign-out.
    leave = html.A(_("Sign out"), id=Ids.SIGN_OUT, hidden=True)
    end = html.Button(_("Sign out"), id=Ids.LEAVE, hidden=True)
    return html.Div([*items, html.Span(id=Ids.NAME), leave, end], id=Ids.LINE, hidden=True)


def show(services: Services, _location: PageLocation) -> Properties:
    has_people = services.store.database.separates_owners
    role = get_acting_role()
    has_own = services.people is not None
    address = services.sign_out_url if has_people and not has_own else None
    return {
        Ids.LINE: {"hidden": not has_people},
        Ids.NAME: {"children": _describe_role(role) if has_people else ""},
        Ids.SIGN_OUT: {"href": address or "", "hidden": address is None},
        Ids.LEAVE: {"hidden": not has_own},
    }


def _describe_role(role: str | None) -> str:
    if role == READER:
        return _("Signed in as {name} (read-only)", name=get_acting_owner())
    return _("Signed in as {name}", name=get_acting_owner())


PANEL = Panel(show=show)
