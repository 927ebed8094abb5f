"""The usage of people: a table of tokens and costs over today, 7 and 30 days, and a plot by day."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from dash import html
from dash.development.base_component import Component

from agent.context.prices import Prices, Usage, price_tokens
from agent.models.providers import shorten_spec
from checkpoints.people.usage import USAGE_DAYS, PeopleUsage
from checkpoints.rows.usage_rows import UsageRow
from components.views.figures import format_dollars, format_number, format_size
from words import N_, _

# The periods are in days, today included.
PERIODS: Mapping[int, str] = {1: N_("Today"), 7: N_("7 days"), USAGE_DAYS: N_("30 days")}
# A plot has this many colours; what is less is joined.
MAX_PLOTTED_PARTS = 6
_COLOURS = ("#1f7a6d", "#c47f17", "#5b7fc7", "#a05195", "#8a9a5b", "#c4553b", "#8c8c8c")
_MONTHS = N_("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
_SECONDS_OF_DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class PersonUsage:
    """A person's usage by period, and the stored bytes: None if measuring them takes too long."""

    name: str
    conversations: int
    storage: int | None
    periods: Mapping[int, Usage]


def sum_usage(found: PeopleUsage, prices: Prices) -> list[PersonUsage]:
    """Sum the usage of each person, the largest first."""
    sums: dict[str, dict[int, Usage]] = {owner: _start_sums() for owner in found.threads}
    for row in found.rows:
        of_owner = sums.setdefault(row.owner, _start_sums())
        for days in PERIODS:
            if row.day > found.today - days:
                of_owner[days] += price_tokens(row.tokens, row.model, prices, row.answers)
    people = [_describe_person(found, owner, periods) for owner, periods in sums.items()]
    return sorted(people, key=lambda each: (-_count_tokens(each.periods[USAGE_DAYS]), each.name))


def _start_sums() -> dict[int, Usage]:
    return dict.fromkeys(PERIODS, Usage())


def _describe_person(found: PeopleUsage, owner: str, periods: Mapping[int, Usage]) -> PersonUsage:
    storage = None if found.storage is None else found.storage.get(owner, 0)
    return PersonUsage(owner, found.threads.get(owner, 0), storage, periods)


def _count_tokens(usage: Usage) -> int:
    return usage.input + usage.output


def build_usage(people: list[PersonUsage], *, days: int | None) -> list[Component]:
    """Build the table: for admins a line for each person in a period, otherwise (`days` is None) one for each period."""
    if not people:
        return [html.P(_("Nothing is used yet."))]
    if days is not None:
        return [_build_people_table(people, days)]
    [person] = people
    rows = [_build_row(_(name), person.periods[each]) for each, name in PERIODS.items()]
    return [_build_table(_("Time"), rows), html.P(_("Storage: {storage}", storage=_format_storage(person.storage)))]


def _build_people_table(people: Iterable[PersonUsage], days: int) -> Component:
    testing: Any = {"data-testid": "person-usage"}
    rows = [
        _build_row(
            person.name,
            person.periods[days],
            format_number(person.conversations),
            _format_storage(person.storage),
            direction="auto",
            **testing,
        )
        for person in people
    ]
    return _build_table(_("Person"), rows, _("Conversations"), _("Storage"))


def _build_table(first: str, rows: list[Component], *more: str) -> Component:
    """Build a table, which scrolls sideways by itself."""
    names = [first, _("Answers"), _("Tokens in"), _("Tokens out"), _("Cost"), *more]
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in names]))
    region: Any = {"aria-label": _("Usage")}
    table = html.Table([head, html.Tbody(rows)], className="table")
    return html.Div(table, className="usage-table", tabIndex=0, role="region", **region)


def _build_row(name: str, usage: Usage, *more: str, direction: str | None = None, **attributes: Any) -> Component:
    cost = format_dollars(usage.cost) if usage.cost > 0 or usage.priced > 0 else "–"
    figures = [format_number(usage.answers), format_number(usage.input), format_number(usage.output), cost, *more]
    return html.Tr([html.Th(name, scope="row", dir=direction), *map(html.Td, figures)], **attributes)


def _format_storage(count: int | None) -> str:
    return "–" if count is None else format_size(count)


def plot_usage(
    found: PeopleUsage, prices: Prices, *, by: Literal["model", "person"], measure: Literal["tokens", "cost"]
) -> dict[str, Any]:
    """Return a figure for Plotly: a bar for each day, in parts by model or person. Style sheets colour the rest."""
    name: Callable[[UsageRow], str] = _name_model if by == "model" else (lambda row: row.owner)
    days = range(found.today - USAGE_DAYS + 1, found.today + 1)
    sums: dict[str, dict[int, float]] = {}
    for row in found.rows:
        usage = price_tokens(row.tokens, row.model, prices, row.answers)
        of_part = sums.setdefault(name(row), dict.fromkeys(days, 0.0))
        if row.day in of_part:
            of_part[row.day] += _count_tokens(usage) if measure == "tokens" else usage.cost
    parts = _join_small_parts(sums)
    texts = [_name_day(day) for day in days]
    bars = [
        {"type": "bar", "name": part, "x": texts, "y": list(of_part.values()), "marker": {"color": colour}}
        for (part, of_part), colour in zip(parts.items(), _COLOURS, strict=False)
    ]
    # The first name would stand on the zero of the other axis.
    return {"data": bars, "layout": _lay_out("~s" if measure == "tokens" else "$~g", texts[4::6])}


def _name_model(row: UsageRow) -> str:
    return shorten_spec(row.model) or "–"


def _join_small_parts(sums: Mapping[str, Mapping[int, float]]) -> dict[str, Mapping[int, float]]:
    largest = sorted(sums, key=lambda part: -sum(sums[part].values()))
    parts = {part: sums[part] for part in largest[:MAX_PLOTTED_PARTS]}
    if rest := [sums[part] for part in largest[MAX_PLOTTED_PARTS:]]:
        parts[_("Others")] = {day: sum(each[day] for each in rest) for day in rest[0]}
    return parts


def _name_day(day: int) -> str:
    date = datetime.fromtimestamp(day * _SECONDS_OF_DAY, UTC)
    return _("{day} {month}", day=date.day, month=_(_MONTHS).split()[date.month - 1])


def _lay_out(tick_format: str, named_days: Sequence[str]) -> dict[str, Any]:
    clear = "rgba(0,0,0,0)"
    return {
        "barmode": "stack",
        "bargap": 0.25,
        # The page's own: Plotly measures the names in it, and cuts them there.
        "font": {"family": 'Inter, "Inter fallback", system-ui, sans-serif'},
        "margin": {"l": 48, "r": 8, "t": 8, "b": 32},
        "paper_bgcolor": clear,
        "plot_bgcolor": clear,
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.25},
        "xaxis": {"type": "category", "tickvals": named_days, "automargin": True, "fixedrange": True},
        "yaxis": {"tickformat": tick_format, "rangemode": "tozero", "fixedrange": True},
    }
