"""The menu's item for the audit log; the dialog is the browser's (auditing.mjs)."""

from enum import StrEnum

from dash.development.base_component import Component

from components.page_state import PageLocation
from components.panel import Panel
from components.properties import Properties
from components.routes.audit import may_read_audit
from components.services import Services
from components.widgets import build_menu_item
from words import _


class Ids(StrEnum):
    BUTTON = "audit"


def build_item() -> Component:
    return build_menu_item("shield-check", _("Audit log"), Ids.BUTTON, hidden=True)


def show(services: Services, _location: PageLocation) -> Properties:
    return {Ids.BUTTON: {"hidden": not may_read_audit(services)}}


PANEL = Panel(show=show)
