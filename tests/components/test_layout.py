"""The components of the layout by their ids."""

from dash import html

from components import page, page_state
from components.widgets import Slot, find_components


def test_components_are_found_by_their_ids_wherever_they_are() -> None:
    deep = html.B(id="deep")
    part = [html.P("text"), html.Div(html.Span([None, deep]), id="around"), Slot([html.I(id="in-slot")], name="topbar")]
    found = dict(find_components(part))
    assert list(found) == ["around", "deep", "in-slot"]
    assert found["deep"] is deep


def test_every_component_of_the_layout_is_found() -> None:
    whole = page.layout()
    expected = {str(each.id): each for each in whole._traverse() if getattr(each, "id", None)}  # type: ignore[no-untyped-call]
    assert dict(find_components(whole)) == expected
    assert page_state.Ids.URL in expected
