"""The dialog that compares two positions of the conversation: their common messages, and what differs after these."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, html
from dash.development.base_component import Component
from dash_bootstrap_components import RadioItems

from checkpoints import NotFoundError
from checkpoints.values.errors import DamagedStateError
from components.channel_folds import build_differences
from components.compared_turns import SIDES, SideName, build_common, build_side, build_turns
from components.comparing import ComparisonView, compare_places
from components.dialog import ReadDialog, rows_of
from components.panel import Panel
from components.places import build_options, build_place_list, list_places, read_chosen_places, register_place_lists
from components.properties import set_properties
from components.routes.graph_state import describe_states
from components.services import Services
from components.shapes import check_shape
from components.write_access import describe_read_only
from words import N_, _, say

ACT = "compare-act"


class Ids(StrEnum):
    """The ids that assets/modules/dialogs/places.mjs opens it by."""

    DIALOG = "compare-dialog"
    COMMON = "compare-common"
    # A narrow screen shows one side.
    SHOWN = "compare-shown"
    ONE = "compare-one"
    OTHER = "compare-other"
    ONE_SIDE = "compare-one-side"
    OTHER_SIDE = "compare-other-side"


@dataclass(frozen=True, slots=True)
class _Read:
    # None: one of the positions is gone.
    view: ComparisonView | None
    # The differences of the graph's values; none if the conversation has no graph with states.
    differences: list[Component]
    names: dict[str, str]
    is_read_only: bool


def build_fields() -> list[Component]:
    shown: Any = {"role": "group", "aria-label": _("Show")}
    sides = [
        _build_side("one", Ids.ONE, Ids.ONE_SIDE, _("First position")),
        _build_side("other", Ids.OTHER, Ids.OTHER_SIDE, _("Second position")),
    ]
    tabs = html.Div(RadioItems([], "one", id=Ids.SHOWN, name=Ids.SHOWN), className="compare-tabs", **shown)
    head = html.Div([tabs, html.Div(sides, className="compare-sides")], className="compare-head")
    return [html.Div(id=Ids.COMMON, className="compare-common"), head]


def _build_side(side: SideName, place: str, part: str, label: str) -> Component:
    named: Any = {"data-side": side, "aria-label": label, "role": "group"}
    choice = build_place_list(place, label, class_name="visually-hidden")
    return html.Div([*choice, html.Div(id=part)], className="compare-side", **named)


async def read(services: Services, thread_id: str | None, opened: Any, chosen: Any) -> Sequence[Any]:
    places = read_chosen_places(opened)
    shown: SideName = check_shape(SideName, chosen, "shown")
    found = await services.read_snapshot(_read, services, thread_id or "", *places)
    options, labels = build_options(found.names), [found.names[place] for place in places]
    for field in (Ids.ONE, Ids.OTHER):
        set_properties(field, {"options": options})
    tabs = [{"value": side, "label": name} for side, name in zip(SIDES, labels, strict=True)]
    if (view := found.view) is None:
        set_properties(Ids.SHOWN, {"options": tabs})
        return [], html.P(_("One of them no longer exists."), role="status"), [], []
    other: SideName = "other" if shown == "one" else "one"
    is_empty = view[shown]["length"] == 0 < view[other]["length"]
    set_properties(Ids.SHOWN, {"options": tabs, "value": other if is_empty else shown})
    states = html.Section([html.H3(_("Values of the graph")), *found.differences], className="compare-channels")
    turns = html.Div(build_turns(view, {"one": labels[0], "other": labels[1]}), className="compare-turns")
    sides = [
        [
            *([] if found.is_read_only else _build_actions(side, place, length=view[side]["length"])),
            *build_side(view[side]),
        ]
        for place, side in zip(places, SIDES, strict=True)
    ]
    return [*([states] if found.differences else []), turns], build_common(view), *sides


def _read(services: Services, thread_id: str, one: str, other: str) -> _Read:
    store, renderer = services.store, services.renderer
    names, is_read_only = list_places(store, thread_id, [one, other]), bool(describe_read_only(store, thread_id))
    try:
        rendered: Any = {"prices": services.prices, "to_html": renderer.page(), "mark": renderer.comparison()}
        view = compare_places(store, services.runs, thread_id, one, other, **rendered)
        differences = _read_differences(services, thread_id, one, other) if store.has_states(thread_id) else []
    except NotFoundError:
        return _Read(None, [], names, is_read_only)
    return _Read(view, differences, names, is_read_only)


def _read_differences(services: Services, thread_id: str, one: str, other: str) -> list[Component]:
    try:
        return build_differences(describe_states(services.store, services.runner, thread_id, one, other))
    except DamagedStateError as error:
        return [html.P(say(error), className="quiet")]


def _build_actions(side: SideName, place: str, *, length: int) -> list[Component]:
    """Build the buttons that go to a position, and that quote it. As everywhere, the page asks before it restores."""
    if not place:
        return []
    kind = place.partition(":")[0]
    texts = {"branch": ("switch", _("Switch to it")), "checkpoint": ("restore", _("Restore"))}
    actions = [texts[kind]] if kind in texts else []
    if length:
        actions.append(("quote", _("Quote in this branch…")))
    rows = [(text, {"type": ACT, "row": f"{side} {act} {place}"}) for act, text in actions]
    return [html.Button(text, id=row, type="button", className="quiet-button") for text, row in rows]


def register(app: Dash, _: Services) -> None:
    register_place_lists(app, Ids.DIALOG, Ids.ONE, Ids.OTHER)
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "actOnCompared"),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(rows_of(ACT), "n_clicks"),
        prevent_initial_call=True,
    )


DIALOG = ReadDialog(
    Ids.DIALOG,
    N_("Compare"),
    None,
    read,
    fields=build_fields,
    size="xl",
    parts=[Ids.COMMON, Ids.ONE_SIDE, Ids.OTHER_SIDE],
    states=[State(f"{Ids.DIALOG}-opened", "data"), State(Ids.SHOWN, "value")],
    follows=True,
)
PANEL = Panel(register=register, read_dialogs=[DIALOG])
