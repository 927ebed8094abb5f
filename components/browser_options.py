"""The options of this browser, for all conversations. Each takes effect at once, and the browser alone keeps it.

Another language waits until the default instructions are saved, because it loads the page again.
See assets/modules/settings/browser-options.mjs.
"""

from enum import StrEnum
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component
from dash_bootstrap_components import Checkbox, Label, Select

from words import LANGUAGES, _


class Ids(StrEnum):
    LANGUAGE = "option-language"
    MARKDOWN = "option-markdown-questions"
    KEYS = "option-single-keys"
    NOTIFY = "option-notify"
    # The browser allows no notifications.
    REFUSED = "option-notify-refused"


_OPTIONS = (Ids.LANGUAGE, Ids.MARKDOWN, Ids.KEYS, Ids.NOTIFY)


def build_section() -> Component:
    languages = [{"label": name, "value": tag} for tag, name in {"system": _("System"), **LANGUAGES}.items()]
    status: Any = {"role": "status"}
    keys = _("? shows the keys, and letters act on the places of History.")
    notices = _("A notification shows the title of the conversation only.")
    refused = _("The browser does not allow notifications of this page.")
    parts = [
        html.H3(_("In this browser")),
        Label(_("Language"), html_for=Ids.LANGUAGE),
        Select(languages, "system", id=Ids.LANGUAGE),
        Checkbox(id=Ids.MARKDOWN, label=_("Show my questions as Markdown")),
        Checkbox(id=Ids.KEYS, label=_("Single-key shortcuts")),
        html.P(keys, className="quiet"),
        Checkbox(
            id=Ids.NOTIFY,
            label=_("Notify me in the background when an answer ends or a permission is needed"),
        ),
        html.P(notices, className="quiet"),
        html.Div(html.P(refused, id=Ids.REFUSED, className="settings-problem", hidden=True), **status),
    ]
    return html.Section(parts, className="settings-form browser-options")


def register(app: Dash, dialog: str) -> None:
    """Show the options whenever the dialog opens, and apply each that is changed."""
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "showOptions"),
        *(Output(each, "value") for each in _OPTIONS),
        Input(dialog, "is_open"),
        prevent_initial_call=True,
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "chooseOptions"),
        Output(Ids.REFUSED, "hidden"),
        *(Input(each, "value") for each in _OPTIONS),
        prevent_initial_call=True,
    )
