"""Two places of a conversation side by side: what they share, and their turns, in one column where one has none."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from dash import html
from dash.development.base_component import Component

from components.comparing import ComparisonView
from components.views.comparison_view import ComparedMessage, SideView, TurnView
from components.views.figures import format_number
from components.views.figures_line import build_figures_line
from components.views.word_differences import DifferenceKind
from components.widgets import Message
from words import N_, _, ngettext

SideName = Literal["one", "other"]
SIDES: tuple[SideName, SideName] = ("one", "other")
_DIFFERENCES: Mapping[DifferenceKind, str] = {
    "same": N_("The same text"),
    "lines": N_("Compared line by line"),
    "long": N_("Too long to compare word by word"),
}


def build_common(view: ComparisonView) -> list[Component]:
    """Say how many messages both have in common, and quote the last of them."""
    status = html.P(_describe_common(view), role="status")
    quote = Message(data={"html": view["common"]})
    return [status, *([html.Blockquote(quote)] if view["common"] else [])]


def _describe_common(view: ComparisonView) -> str:
    shared, lengths, count = view["shared"], [view[side]["length"] for side in SIDES], format_number(view["shared"])
    if not any(lengths):
        return _describe_equal(shared, count)
    if shared == 0:
        return _("No messages in common.") if all(lengths) else _("No shared messages.")
    if not view["common"]:
        return ngettext("{count} message in common.", "{count} messages in common.", shared, count=count)
    return ngettext(
        "{count} message in common, this one:", "{count} messages in common, the last of them:", shared, count=count
    )


def _describe_equal(shared: int, count: str) -> str:
    if shared == 0:
        return _("No differences: both are empty.")
    return ngettext(
        "No differences: both have the same message.",
        "No differences: both have the same {count} messages.",
        shared,
        count=count,
    )


def build_side(side: SideView) -> list[Component]:
    """Build the figures of a side."""
    length, counted = side["length"], side["counted"]
    text = _count_more(length) if length else _("No other messages")
    line = build_figures_line(side["figures"] if length else None, html.Span(text, className="compare-length"))
    messages = ngettext("{count} message", "{count} messages", counted, count=format_number(counted))
    note = _("The figures are those of the first {messages}.", messages=messages)
    return [*([line] if line else []), *([html.P(note, className="quiet")] if counted < length else [])]


def _count_more(count: int) -> str:
    return ngettext("{count} more message", "{count} more messages", count, count=format_number(count))


def build_turns(view: ComparisonView, names: Mapping[SideName, str]) -> list[Component]:
    """Build a row for each turn that both have, and one for all in between that only one of them has."""
    sides = [side for side in SIDES if view[side]["length"] > 0]
    is_only = max((len(view[side]["turns"]) for side in sides), default=0) == 1
    rows = []
    for row in view["rows"]:
        parts = {
            side: [
                _build_turn(view[side]["turns"][number], names[side], number + 1, is_only=is_only) for number in row[side]
            ]
            for side in sides
        }
        is_other = not row["is_same"] and all(row[side] for side in SIDES)
        rows.append(_build_row([_build_cell(side, parts[side], is_other=is_other) for side in sides]))
    if any(view[side]["more"] for side in sides):
        rows.append(_build_row([_build_rest(view[side], side) for side in sides]))
    return rows


def _build_row(cells: Sequence[Component]) -> Component:
    columns: Any = {"data-columns": len(cells)}
    return html.Div(cells, className="compare-turn", **columns)


def _build_rest(view: SideView, side: SideName) -> Component:
    messages = ngettext("{count} message", "{count} messages", view["more"], count=format_number(view["more"]))
    text = _("… and {messages} more.", messages=messages) if view["more"] else ""
    named: Any = {"data-side": side}
    return html.P(text, className="quiet", **named)


def _build_cell(side: SideName, turns: Sequence[Component], *, is_other: bool) -> Component:
    """Build the turns of a side in a row. `is_other`: those beside them have other questions."""
    named: Any = {"data-side": side}
    heading = html.P(ngettext("Another question", "Other questions", len(turns)), className="compare-difference")
    nothing = html.P(_("Not asked here."), className="quiet")
    return html.Div([*([heading] if is_other else []), *(turns or [nothing])], className="compare-cell", **named)


def _build_turn(turn: TurnView, name: str, number: int, *, is_only: bool) -> Component:
    parts: list[Component] = []
    role = ""
    for message in turn["messages"]:
        parts += _build_message(message, is_named=message["role"] != role)
        role = message["role"]
    line = None if is_only else build_figures_line(turn["figures"])
    named: Any = {"aria-label": _("{name}, turn {number}", name=name, number=number)}
    return html.Div([*parts, *([line] if line else [])], className="compare-part", role="group", **named)


def _build_message(message: ComparedMessage, *, is_named: bool) -> list[Component]:
    difference = _DIFFERENCES.get(message["difference"] or "words", "") if message["role"] == "assistant" else ""
    note = html.P(_(difference), className="compare-difference") if difference else None
    return [Message(data={"message": message, "isNamed": is_named}), *([note] if note else [])]
