"""The first HTML: Dash's components as they look before any script of Dash has run. It holds no personal data."""

import re
from html import escape
from typing import Any

from components.widgets import BranchChip, Icon, ImportButton, PaneButton, SettingsButton
from words import N_, _

# The page's own modules need these scripts.
EARLY_SCRIPTS = ("/deps/react@", "/deps/react-dom@")
# These components are the project's own.
_MENU_ITEMS = {
    SettingsButton: ("sliders", N_("Conversation settings")),
    ImportButton: ("upload", N_("Import")),
}
_PANE_ICONS = {
    "threads": (("layout-sidebar", ""),),
    "history": (("layout-sidebar-reverse", "when-wide"), ("diamond-fill", "when-narrow")),
}
_PANE_NAMES = {"threads": N_("Conversations"), "history": N_("History")}
_ATTRIBUTES = {"className": "class"}
_SOURCE = re.compile(r'<script src="([^"]+)"></script>')
_THEME_NAMES = {"light": N_("Theme: light"), "dark": N_("Theme: dark"), "system": N_("Theme: system")}
_THEME_ICONS = (("sun", "light"), ("moon-stars", "dark"), ("circle-half", "system"))


def render_html(part: Any, files: str) -> str:
    """Return the HTML of a component without data. `files` is the base address of the page's own files."""
    if part is None or isinstance(part, str):
        return escape(part or "")
    if isinstance(part, list | tuple):
        return "".join(render_html(each, files) for each in part)
    if isinstance(part, Icon):
        return _render_icon(part.name, files)  # type: ignore[attr-defined]
    if isinstance(part, BranchChip | ImportButton | PaneButton | SettingsButton):
        return _render_widget(part, files)
    described = part.to_plotly_json()
    tag, props = described["type"].lower(), described["props"]
    attributes = "".join(_render_attribute(name, value) for name, value in props.items() if name != "children")
    return f"<{tag}{attributes}>{render_html(props.get('children'), files)}</{tag}>"


def _render_attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = _ATTRIBUTES.get(name, name)
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def _render_widget(part: Any, files: str) -> str:
    if isinstance(part, BranchChip):
        # The branch is data.
        return ""
    if isinstance(part, PaneButton):
        return _render_pane_button(part.name, files)  # type: ignore[attr-defined]
    icon, name = _MENU_ITEMS[type(part)]
    return f'<button class="menu-item">{_render_icon(icon, files)}<span>{escape(_(name))}</span></button>'


def _render_pane_button(name: str, files: str) -> str:
    signs = (f'<span class="pane-sign {shown}">{_render_icon(sign, files)}</span>' for sign, shown in _PANE_ICONS[name])
    return f'<button id="show-{name}" aria-label="{escape(_(_PANE_NAMES[name]))}">{"".join(signs)}</button>'


def _render_icon(name: str, files: str) -> str:
    if name == "theme":
        shown = "".join(
            _render_icon_as(icon, files, f"icon theme-{choice}")
            + f'<span class="visually-hidden theme-{choice}">{escape(_(_THEME_NAMES[choice]))}</span>'
            for icon, choice in _THEME_ICONS
        )
        return f'<span class="theme-icons">{shown}</span>'
    return _render_icon_as(name, files, "icon")


def _render_icon_as(name: str, files: str, class_name: str) -> str:
    return f'<svg class="{class_name}" aria-hidden="true"><use href="{files}/icons.svg#{name}"></use></svg>'


def split_scripts(scripts: str, unused: tuple[str, ...]) -> tuple[str, str]:
    """Return the tags of Dash's scripts for the head and for the foot.

    Scripts in the head run before the page's own modules. Those in the foot are only named: the modules fetch them, and run
    them when the page is painted (assets/modules/page/first-page.mjs).
    """
    sources = [source for source in _SOURCE.findall(scripts) if not any(name in source for name in unused)]
    early = [source for source in sources if any(name in source for name in EARLY_SCRIPTS)]
    head = [f'<script defer src="{source}"></script>' for source in early]
    foot = [f'<script type="text/plain" data-src="{source}"></script>' for source in sources if source not in early]
    return "\n".join(head), "\n".join(foot)
