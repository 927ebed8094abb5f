"""The components of the layout by their ids."""

from dash import html

from components import page, page_state
from components.first_layout import copy_layout
from components.replies import to_plain
from components.widgets import Slot


def test_components_are_found_by_their_ids_wherever_they_are() -> None:
    deep = html.B(id="deep")
    part = [html.P("text"), html.Div(html.Span([None, deep]), id="around"), Slot([html.I(id="in-slot")], name="topbar")]
    plain = to_plain(part)
    copy, properties = copy_layout(plain)
    assert copy == plain
    assert list(properties) == ["around", "deep", "in-slot"]
    properties["deep"]["children"] = "changed"
    assert copy[1]["props"]["children"]["props"]["children"][1]["props"] == {"id": "deep", "children": "changed"}
    assert plain == to_plain(part)  # the layout of the next page


def test_every_component_of_the_layout_is_found() -> None:
    whole = page.layout()
    expected = {str(each.id) for each in whole._traverse() if getattr(each, "id", None)}  # type: ignore[no-untyped-call]
    assert set(copy_layout(to_plain(whole))[1]) == expected
    assert page_state.Ids.URL in expected
