"""The usage of the person who asks, or for admins of everybody: a plot by day, and a table."""

from enum import StrEnum
from typing import Any, Literal

from dash import Dash, Input, State, dcc, html
from dash.development.base_component import Component
from dash_bootstrap_components import RadioItems

from checkpoints.people.usage import USAGE_DAYS, PeopleUsage, read_own_usage, read_usage_of_all
from components.dialog import ReadDialog, changed_output, mark_change
from components.page_state import PageLocation
from components.panel import Panel
from components.people import ADMIN, get_acting_role
from components.properties import Properties, set_properties
from components.services import Services
from components.shapes import check_shape
from components.views.usage_table import PERIODS, build_usage, plot_usage, sum_usage
from components.widgets import build_menu_item
from words import N_, _

TITLE = N_("Usage")


class Ids(StrEnum):
    BUTTON = "usage"
    DIALOG = "usage-dialog"
    # A reading fills this part with the plot.
    PLOT = "usage-plot"
    GRAPH = "usage-graph"
    PLOTTED = "usage-plotted"
    BY = "usage-by"
    MEASURE = "usage-measure"
    PERIOD = "usage-period"
    # These are for admins.
    PERSONS = "usage-by-person"
    PERIODS = "usage-periods"


def buttons() -> list[Component]:
    return [build_menu_item("bar-chart", _(TITLE), Ids.BUTTON)]


def build_plot() -> list[Component]:
    by = {"model": _("By model"), "person": _("By person")}
    measures = {"tokens": _("Tokens"), "cost": _("Cost")}
    choices = [
        html.Div(RadioItems(by, "model", id=Ids.BY, inline=True), id=Ids.PERSONS, hidden=True),
        RadioItems(measures, "tokens", id=Ids.MEASURE, inline=True),
    ]
    named: Any = {"aria-label": _("Usage by day")}
    plot = html.Div(id=Ids.PLOT, className="usage-plot", role="img", **named)
    periods = RadioItems({str(days): _(name) for days, name in PERIODS.items()}, str(USAGE_DAYS), id=Ids.PERIOD, inline=True)
    return [
        html.Div([html.Div(choices, className="usage-choices"), plot], id=Ids.PLOTTED),
        html.Div(periods, id=Ids.PERIODS, hidden=True),
    ]


async def read(services: Services, _thread_id: str | None, by: Any, measure: Any, period: Any) -> tuple[Any, Any]:
    """Return the table, and the plot. Its script is not loaded again after a failure, so it comes with what was read."""
    by = check_shape(Literal["model", "person"], by, Ids.BY)
    measure = check_shape(Literal["tokens", "cost"], measure, Ids.MEASURE)
    days = int(check_shape(Literal["1", "7", "30"], period, Ids.PERIOD))
    found = await _read_usage(services)
    people = sum_usage(found, services.prices)
    set_properties(Ids.PLOTTED, {"hidden": not found.rows})
    note = _("Days are UTC. Storage counts messages and files. Costs are known for models with a price.")
    table = [*build_usage(people, days=days if _is_admin() else None), html.P(note, className="quiet")]
    if not found.rows:
        return table, []
    figure = plot_usage(found, services.prices, by=by, measure=measure)
    options: Any = {"displayModeBar": False}
    return table, dcc.Graph(figure=figure, id=Ids.GRAPH, config=options, responsive=True, style={"height": "15rem"})


def register(app: Dash, _: Services) -> None:
    choices = [Input(each, "value") for each in (Ids.BY, Ids.MEASURE, Ids.PERIOD)]

    @app.callback(changed_output(Ids.DIALOG), *choices, prevent_initial_call=True)
    async def choose(*_: Any) -> float:
        return mark_change()


def show(_: Services, __: PageLocation) -> Properties:
    return {each: {"hidden": not _is_admin()} for each in (Ids.PERSONS, Ids.PERIODS)}


async def _read_usage(services: Services) -> PeopleUsage:
    return await services.run_blocking(read_usage_of_all if _is_admin() else read_own_usage, services.store)


def _is_admin() -> bool:
    return get_acting_role() == ADMIN


DIALOG = ReadDialog(
    Ids.DIALOG,
    TITLE,
    Ids.BUTTON,
    read,
    fields=build_plot,
    parts=[Ids.PLOT],
    states=[State(each, "value") for each in (Ids.BY, Ids.MEASURE, Ids.PERIOD)],
)
PANEL = Panel(register=register, read_dialogs=[DIALOG], app_buttons=buttons, show=show)
