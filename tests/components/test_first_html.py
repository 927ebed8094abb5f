"""The first HTML: Dash's components as it shows them, and the order of its scripts."""

from typing import Any

import pytest
from dash import html

from components.first_html import render_html, split_scripts
from components.widgets import Icon, ImportButton, PaneButton, SettingsButton

FILES = "/assets/1"
SPRITE = f"{FILES}/icons.svg"
SCRIPTS = "\n".join(
    f'<script src="/{path}"></script>' for path in ("deps/react@18.js", "deps/react-dom@18.js", "table.js", "renderer.js")
)


def test_a_component_is_an_element_with_its_attributes() -> None:
    names: Any = {"aria-label": "Undo <all>"}
    button = html.Button("Undo", id="undo", className="btn", disabled=True, hidden=False, **names)
    expected = '<button id="undo" class="btn" disabled aria-label="Undo &lt;all&gt;">Undo</button>'
    assert sorted(render_html(button, FILES).split()) == sorted(expected.split())


def test_children_are_rendered_in_order_and_escaped() -> None:
    part = html.Div([html.Span("<b>"), None, html.H1(id="title"), ["&"]])
    assert render_html(part, FILES) == '<div><span>&lt;b&gt;</span><h1 id="title"></h1>&amp;</div>'


def test_icons_are_those_of_the_sprite() -> None:
    assert render_html(Icon(name="list"), FILES).count(f'href="{SPRITE}#list"') == 1
    assert [render_html(Icon(name="theme"), FILES).count(f"{SPRITE}#{name}") for name in ("sun", "moon-stars")] == [1, 1]
    for button, name in ((SettingsButton(id="settings"), "sliders"), (ImportButton(id="upload"), "upload")):
        assert f'href="{SPRITE}#{name}"' in render_html(button, FILES)


def test_react_runs_first_and_dash_s_own_scripts_are_only_named() -> None:
    head, foot = split_scripts(SCRIPTS, ("table",))
    assert head.splitlines() == [f'<script defer src="/deps/{name}@18.js"></script>' for name in ("react", "react-dom")]
    assert foot == '<script type="text/plain" data-src="/renderer.js"></script>'


@pytest.mark.parametrize(("pane", "name"), [("threads", "Conversations"), ("history", "History")])
def test_a_button_without_text_has_a_name(pane: str, name: str) -> None:
    assert f'<button id="show-{pane}" aria-label="{name}">' in render_html(PaneButton(name=pane), FILES)
