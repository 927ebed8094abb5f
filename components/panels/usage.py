"""The menu's item for a person's usage, and for everybody's usage for admins: see assets/modules/dialogs/usage.mjs."""

from enum import StrEnum

from dash.development.base_component import Component

from components.panel import Panel
from components.widgets import build_menu_item
from words import _


class Ids(StrEnum):
    BUTTON = "usage"


def buttons() -> list[Component]:
    return [build_menu_item("bar-chart", _("Usage"), Ids.BUTTON)]


PANEL = Panel(buttons=buttons)
