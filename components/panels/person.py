"""The signed-in person in the bar's menu, with Sign out and the person's actions on people.

It is hidden if the server does not tell people apart.
"""

from enum import StrEnum
from typing import Any

from dash import html
from dash.development.base_component import Component

from checkpoints import get_acting_owner
from components.page_state import PageLocation
from components.panel import Panel
from components.people import ADMIN, READER, get_acting_role
from components.services import Services
from components.widgets import build_menu_item
from words import _


class Ids(StrEnum):
    LINE = "person"
    NAME = "person-name"
    SIGN_OUT = "sign-out"
    # The menu's item is hidden for a proxy's sessions, which are not Waymark's.
    SESSIONS = "sessions"
    LEAVE = "leave"
    PASSWORD = "change-password"  # noqa: S105  (an id)
    PEOPLE = "people"


def build_line() -> Component:
    """Build the last lines of the menu, hidden at first: the frame has no data."""
    items = [
        build_menu_item("people", _("People"), Ids.PEOPLE, hidden=True),
        build_menu_item("key", _("Password"), Ids.PASSWORD, hidden=True),
    ]
    # This link leads to a proxy's own sign-out.
    leave = html.A(_("Sign out"), id=Ids.SIGN_OUT, hidden=True)
    end = html.Button(_("Sign out"), id=Ids.LEAVE, hidden=True)
    return html.Div([*items, html.Span(id=Ids.NAME), leave, end], id=Ids.LINE, hidden=True)


SHOWN = (
    *((Ids.LINE, "hidden"), (Ids.NAME, "children"), (Ids.SIGN_OUT, "href"), (Ids.SIGN_OUT, "hidden")),
    (Ids.SESSIONS, "hidden"),
    (Ids.LEAVE, "hidden"),
    (Ids.PASSWORD, "hidden"),
    (Ids.PEOPLE, "hidden"),
)


def show(services: Services, _location: PageLocation) -> tuple[Any, ...]:
    if not services.store.database.separates_owners:
        return True, "", "", True, False, True, True, True
    role = get_acting_role()
    is_of_proxy = not services.has_own_sign_in
    address = services.sign_out_url if is_of_proxy else None
    own = (is_of_proxy, is_of_proxy, not services.has_passwords, role != ADMIN or is_of_proxy)
    return False, _describe_role(role), address or "", address is None, *own


def _describe_role(role: str | None) -> str:
    if role == READER:
        return _("Signed in as {name} (read-only)", name=get_acting_owner())
    return _("Signed in as {name}", name=get_acting_owner())


PANEL = Panel(shown=SHOWN, show=show)
