"""The components of the layout by their ids."""

import pytest
from dash import html
from dash.development.base_component import Component

from components import page, page_state
from components.widgets import Slot, find_components


def test_components_are_found_by_their_ids_wherever_they_are() -> None:
    deep = html.B(id="deep")
    part = [html.P("text"), html.Div(html.Span([None, deep]), id="around"), Slot([html.I(id="in-slot")], name="topbar")]
    found = dict(find_components(part))
    assert list(found) == ["around", "deep", "in-slot"]
    assert found["deep"] is deep


def test_the_layout_is_walked_once_for_all_of_its_components(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = page.layout()
    expected = {str(each.id): each for each in whole._traverse() if getattr(each, "id", None)}  # type: ignore[no-untyped-call]
    monkeypatch.setattr(Component, "__getitem__", None)  # Dash's own look-up
    assert dict(find_components(whole)) == expected
    assert page_state.Ids.URL in expected
