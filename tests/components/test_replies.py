"""A reply is plain JSON, of no more characters than it needs."""

import json

import pytest
from dash import html

from components.replies import to_json


def test_a_reply_of_html_is_as_long_as_the_html() -> None:
    assert to_json({"html": "<b>é/</b>"}) == '{"html":"<b>é/</b>"}'.encode()


def test_components_are_written_with_their_parts() -> None:
    written = json.loads(to_json(html.Div([html.B("a"), "b"], id="c")))
    assert written["props"]["children"][0]["props"] == {"children": "a"}
    assert (written["type"], written["props"]["id"]) == ("Div", "c")


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800", object()])
def test_a_value_that_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        to_json({"value": value})
