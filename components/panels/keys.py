"""The palette, and the keys of the page in groups. The browser opens both (assets/modules/page/keys.mjs)."""

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.dialog import ReadDialog
from components.panel import Panel
from components.services import Services
from components.widgets import Palette, build_menu_item
from words import N_, _

TITLE = N_("Keys")
BUTTON = "keys"
# The key has another name on a Mac.
MODIFIER = "Mod"


def _list_groups() -> dict[str, dict[str, str]]:
    """List what each combination of keys does, in groups."""
    return {
        _("Writing"): {
            "Enter": _("send"),
            "Shift Enter": _("begin a new line"),
            "/": _("at the beginning of the field: commands and prompts"),
            "↑": _("in the empty field: edit your last message"),
            "Esc Esc": _("in the empty field: choose a place to go back to"),
            "Shift Esc": _("go to the message field"),
        },
        _("Anywhere"): {
            "Mod K": _("find a message, a place or an action"),
            "Mod F": _("find in a long conversation; press again for the browser's own search"),
            "Mod Shift O": _("begin a new conversation"),
            "Esc": _("stop the answer, or close what is open"),
            "Mod S": _("save a checkpoint"),
            "Mod Alt Z": _("undo the last change"),
            "Mod Shift Alt Z": _("redo it"),
            "Alt ↑": _("show the checkpoint before"),
            "Alt ↓": _("show the checkpoint after"),
            "Mod B": _("show or hide the conversations"),
            "Mod Alt B": _("show or hide History"),
            "F6": _("go to the next part of the page; with Shift to the one before"),
            "F2": _("rename the conversation that has the focus in the list"),
            "?": _("show this"),
        },
        _("In History"): {
            "↑ ↓": _("along a branch"),
            "← →": _("to another branch"),
            "n": _("the next fork"),
            "r": _("restore this place"),
            "b": _("branch from this place"),
            "c": _("compare this place"),
            "s": _("switch to the branch of this place"),
        },
    }


async def read(_services: Services, _thread_id: str | None) -> Sequence[Component]:
    groups = [
        html.Section([html.H3(name), html.Dl([_build_row(combination, effect) for combination, effect in keys.items()])])
        for name, keys in _list_groups().items()
    ]
    return [html.Div(groups, className="keys-help")]


def _build_row(combination: str, effect: str) -> Component:
    return html.Div([html.Dt([html.Kbd(_name_key(key)) for key in combination.split()]), html.Dd(effect)])


def _name_key(key: str) -> str | list[Component]:
    if key == MODIFIER:
        return [html.Span(_("Ctrl"), className="not-mac"), html.Span("⌘", className="only-mac")]
    return _("Shift") if key == "Shift" else key


def buttons() -> list[Component]:
    keys: Any = {"aria-keyshortcuts": "?"}
    return [build_menu_item("keyboard", _(TITLE), BUTTON, **keys)]


DIALOG = ReadDialog("keys-dialog", TITLE, BUTTON, read)
PANEL = Panel(dialogs=lambda: [Palette(id="palette")], read_dialogs=[DIALOG], app_buttons=buttons)
