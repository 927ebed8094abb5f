"""The menu's item for the people and links of a conversation. The browser has the dialog (sharing.mjs)."""

from enum import StrEnum

from dash.development.base_component import Component

from checkpoints.people.members import MEMBER_ROLES, Members
from components.page_state import PageLocation
from components.panel import Panel
from components.people import READER, get_acting_role
from components.properties import Properties
from components.services import Services
from components.widgets import build_menu_item
from words import _


class Ids(StrEnum):
    BUTTON = "share"


def buttons() -> list[Component]:
    return [build_menu_item("share", _("Share…"), Ids.BUTTON, title=_("People and links of this conversation"), hidden=True)]


def show(services: Services, location: PageLocation) -> Properties:
    """Hide the item from readers, unless they are members and could leave the conversation."""
    is_hidden = location.thread_id is None or (
        get_acting_role() == READER and Members(services.store).find_role(location.thread_id) not in MEMBER_ROLES
    )
    return {Ids.BUTTON: {"hidden": is_hidden}}


PANEL = Panel(buttons=buttons, show=show)
