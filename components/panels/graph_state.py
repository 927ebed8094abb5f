"""The values of a graph at a place of the conversation, and how they differ from those at another place."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from dash import Dash, State, html
from dash.development.base_component import Component

from checkpoints import NotFoundError
from components.channel_folds import build_states
from components.dialog import ReadDialog
from components.panel import Panel
from components.places import build_options, build_place_list, list_places, read_chosen_places, register_place_lists
from components.properties import set_properties
from components.routes.graph_state import NO_PLACE, describe_states
from components.services import Services
from components.views.channels_view import StatesView
from words import N_, _


class Ids(StrEnum):
    """The ids that assets/modules/dialogs/places.mjs opens it by."""

    DIALOG = "state-dialog"
    ONE = "state-one"
    OTHER = "state-other"


def build_fields() -> list[Component]:
    note = _(
        "These are states between the steps of the whole graph. Subgraphs are restored with their parent; "
        "you cannot stop inside one."
    )
    lists = [build_place_list(Ids.ONE, _("State at")), build_place_list(Ids.OTHER, _("Difference to"))]
    places = [html.Div(each, className="state-place") for each in lists]
    return [html.Div(places, className="state-places"), html.P(note, className="quiet")]


async def read(services: Services, thread_id: str | None, opened: Any) -> Sequence[Component]:
    one, other = read_chosen_places(opened)
    view, names = await services.read_snapshot(_read_states, services, thread_id or "", one, other)
    set_properties(Ids.ONE, {"options": build_options({place: names[place] for place in names if place != NO_PLACE})})
    set_properties(Ids.OTHER, {"options": build_options(names, {NO_PLACE: _("(none)")})})
    return build_states(view) if view else [html.P(_("One of these places no longer exists."), role="status")]


def _read_states(services: Services, thread_id: str, one: str, other: str) -> tuple[StatesView | None, dict[str, str]]:
    """Return the values, None if a place is gone, and the names of the places to choose from."""
    names = list_places(services.store, thread_id, [place for place in (one, other) if place != NO_PLACE])
    try:
        return describe_states(services.store, services.runner, thread_id, one, other), names
    except NotFoundError:
        return None, names


def register(app: Dash, _: Services) -> None:
    register_place_lists(app, Ids.DIALOG, Ids.ONE, Ids.OTHER)


DIALOG = ReadDialog(
    Ids.DIALOG,
    N_("State of the graph"),
    None,
    read,
    fields=build_fields,
    states=[State(f"{Ids.DIALOG}-opened", "data")],
    follows=True,
)
PANEL = Panel(register=register, read_dialogs=[DIALOG])
