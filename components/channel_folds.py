"""The values of a graph at a place, or at two places, each in a fold. Most have no more than a line to read."""

from collections.abc import Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.views.channels_view import NOT_SET_TEXT, ChannelSide, ChannelView, Difference, StatesView, SubgraphView
from components.views.tree_html import write_tree
from components.widgets import Icon, Markup
from words import N_, _, ngettext

_DIFFERENCES: Mapping[Difference, str] = {
    "same": N_("the same"),
    "changed": N_("changed"),
    "added": N_("only in the second"),
    "removed": N_("only in the first"),
}


def build_states(view: StatesView) -> list[Component]:
    """Build the folds of all values, and of the subgraphs that wait."""
    if not view["channels"] and not view["subgraphs"]:
        nothing = _("The graph has no values here.")
        return [_say(nothing if view["has_state"] else _("The graph has no state here: it had not run yet."))]
    more = ngettext("… and {count:,} more value.", "… and {count:,} more values.", view["more"])
    return [
        *map(_build_channel, view["channels"]),
        *([html.P(more, className="quiet")] if view["more"] else []),
        *map(_build_subgraph, view["subgraphs"]),
    ]


def build_differences(view: StatesView) -> list[Component]:
    """Build the folds of the values that differ. Messages are compared as messages."""
    folds = [_build_channel(each) for each in view["channels"] if _differs(each)]
    for subgraph in view["subgraphs"]:
        if channels := [each for each in subgraph["channels"] if _differs(each)]:
            folds.append(_build_subgraph({**subgraph, "channels": channels}))
    return folds or [_say(_("No value of the graph differs."))]


def _differs(channel: ChannelView) -> bool:
    return channel["difference"] != "same" and not _has_messages(channel)


def _has_messages(channel: ChannelView) -> bool:
    sides = [each for each in (channel["one"], channel["other"]) if each is not None]
    return all(each["tree"] is None and each["address"] is None for each in sides)


def _say(text: str) -> Component:
    return html.P(text, className="quiet", role="status")


def _build_subgraph(subgraph: SubgraphView) -> Component:
    head = [
        html.Span(subgraph["name"], className="channel-name"),
        html.Span(_("a subgraph in a step that has not ended"), className="channel-summary"),
    ]
    return _build_fold(head, [_build_channel(each) for each in subgraph["channels"]], "subgraph", kind=" subgraph")


def _build_fold(
    head: Sequence[Component], body: Sequence[Component], test_id: str, *, kind: str = "", **named: Any
) -> Component:
    summary = html.Summary([Icon(name="chevron-right"), *head])
    testing: Any = {"data-testid": test_id}
    return html.Details([summary, *body], className=f"channel{kind}", **testing, **named)


def _build_channel(channel: ChannelView) -> Component:
    """Build the fold of a value. Its line says the value in a few words, and how it differs."""
    one, other, difference, lost = channel["one"], channel["other"], channel["difference"], channel["lost_kind"]
    is_compared = difference not in (None, "same")
    marks = [*([_("{kind} not kept", kind=lost)] if lost else []), *([_(_DIFFERENCES[difference])] if difference else [])]
    head = [
        html.Code(channel["name"], className="channel-name"),
        html.Span(_build_line(one, other, is_compared=is_compared), className="channel-summary"),
        *(html.Span(mark, className="channel-difference") for mark in marks),
    ]
    unknown = _("The graph has no value of this name any more. A run that goes on from here leaves it out.")
    kind = _(
        "The graph wrote a value of the kind {kind}. It gets another kind back: "
        "LangGraph's serializer does not keep this one.",
        kind=lost,
    )
    notes = [*([unknown] if channel["is_unknown"] else []), *([kind] if lost else [])]
    body = [*(html.P(note, className="quiet") for note in notes), _build_body(channel, is_compared=is_compared)]
    return _build_fold(head, body, "channel", **({"data-difference": difference} if difference else {}))


def _build_line(one: ChannelSide | None, other: ChannelSide | None, *, is_compared: bool) -> Any:
    if not is_compared:
        shown = one or other
        return shown and shown["summary"]
    before, after = (_(NOT_SET_TEXT) if each is None else each["summary"] for each in (one, other))
    return [html.Del(before), " → ", html.Ins(after)]


def _build_body(channel: ChannelView, *, is_compared: bool) -> Component:
    one, other = channel["one"], channel["other"]
    trees = [each and each["tree"] for each in (one, other)]
    is_tree = trees[0 if one else 1] is not None and (
        not is_compared or one is None or other is None or trees[1] is not None
    )
    if is_tree:
        shown: Component = Markup(data=write_tree(trees[0], trees[1], is_compared=is_compared))
    elif _has_messages(channel):
        shown = html.P(_("These are the messages of the conversation."), className="quiet")
    else:
        shown = html.P(_("This is too large for a tree."), className="quiet")
    both = is_compared and one is not None and other is not None
    links = [_build_link(one, _("Show all of the first") if both else _("Show all"))]
    if is_compared or one is None:
        links.append(_build_link(other, _("Show all of the second") if both else _("Show all")))
    named: Any = {"aria-label": _("Value of {name}", name=channel["name"])}
    found = [each for each in links if each is not None]
    return html.Div([shown, *found], className="channel-body", tabIndex=0, role="region", **named)


def _build_link(side: ChannelSide | None, text: str) -> Component | None:
    if side is None or side["address"] is None:
        return None
    opens: Any = {"target": "_blank", "rel": "noreferrer", "data-testid": "show-all"}
    return html.P(html.A(text, href=side["address"], **opens), className="show-all")
