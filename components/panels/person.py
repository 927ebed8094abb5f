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
from components.people import ADMIN, READER, get_acting_role
from components.properties import Properties
from components.services import Services
from components.widgets import build_menu_item
from words import _


class Ids(StrEnum):
    LINE = "person"
    NAME = "person-name"
    SIGN_OUT = "sign-out"
    LEAVE = "leave"
    PEOPLE = "people"


def build_line(items: Sequence[Component]) -> Component:
    """Build the last lines of the menu, hidden at first: the frame has no data. The items are other panels' own."""
    # This link leads to a proxy's own sign-out.
    leave = html.A(_("Sign out"), id=Ids.SIGN_OUT, hidden=True)
    end = html.Button(_("Sign out"), id=Ids.LEAVE, hidden=True)
    people = build_menu_item("people", _("People"), Ids.PEOPLE, hidden=True)
    return html.Div([people, *items, html.Span(id=Ids.NAME), leave, end], id=Ids.LINE, hidden=True)


def show(services: Services, _location: PageLocation) -> Properties:
    has_people = services.store.database.separates_owners
    role = get_acting_role()
    is_of_proxy = has_people and not services.has_own_sign_in
    has_own = has_people and not is_of_proxy
    address = services.sign_out_url if is_of_proxy else None
    return {
        Ids.LINE: {"hidden": not has_people},
        Ids.NAME: {"children": _describe_role(role) if has_people else ""},
        Ids.SIGN_OUT: {"href": address or "", "hidden": address is None},
        Ids.LEAVE: {"hidden": not has_own},
        Ids.PEOPLE: {"hidden": role != ADMIN or not has_own},
    }


def _describe_role(role: str | None) -> str:
    if role == READER:
        return _("Signed in as {name} (read-only)", name=get_acting_owner())
    return _("Signed in as {name}", name=get_acting_owner())


PANEL = Panel(show=show)
