"""The settings of the app: the options of this browser."""

from collections.abc import Sequence
from enum import StrEnum

from dash import Dash, dcc, html
from dash.development.base_component import Component
from dash_bootstrap_components import Button, ModalFooter

from components import browser_options
from components.dialog import build_long_body, build_modal, open_on, register_dialog
from components.panel import Panel
from components.services import Services
from components.widgets import build_menu_item
from words import N_, _

TITLE = N_("App settings")


class Ids(StrEnum):
    BUTTON = "app-settings"
    DIALOG = "app-settings-dialog"


def buttons() -> list[Component]:
    return [build_menu_item("gear", _(TITLE), Ids.BUTTON)]


def build_dialogs() -> Sequence[Component]:
    close = Button(_("Close"), id=f"{Ids.DIALOG}-cancel", color="secondary", outline=True, type="button")
    # The opening empties the body of a dialog, and notes its time.
    opened = [html.Div(id=f"{Ids.DIALOG}-body"), dcc.Store(id=f"{Ids.DIALOG}-opened")]
    parts = [build_long_body(browser_options.build_section(), *opened), ModalFooter(close)]
    return [build_modal(Ids.DIALOG, _(TITLE), parts, scrollable=True)]


def register(app: Dash, _services: Services) -> None:
    register_dialog(app, Ids.DIALOG)
    open_on(app, Ids.DIALOG, Ids.BUTTON)
    browser_options.register(app, Ids.DIALOG)


PANEL = Panel(register=register, dialogs=build_dialogs, app_buttons=buttons)
