"""The frame of the page: the bar, and a pane for each of the conversations, the conversation and its history."""

from collections.abc import Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from components.panels import chat, history, outage, person, threads, undo_redo
from components.widgets import Icon, build_menu_item
from server.addresses import build_address
from words import N_, _

FRAME_ID = "shell"
# The palette has commands with these names (assets/modules/controls/commands.mjs).
SUMMARISE_COMMAND = N_("Summarise the conversation")
RUN_AGAIN_COMMAND = N_("Run again")


def build_skip_links() -> Component:
    links = {
        "composer": ("#composer", _("Skip to the message field")),
        "chat": ("#chat", _("Skip to the conversation")),
        "history": ("#history-pane", _("Skip to History")),
    }
    region: Any = {name: {"data-region": name} for name in links}
    items = [html.A(text, href=href, **region[name]) for name, (href, text) in links.items()]
    return html.Nav(items, className="skip-links", **_aria_label(_("Skip links")))


def build_frame(items: Sequence[Component], app_items: Sequence[Component], person_items: Sequence[Component]) -> Component:
    """Build the bar and the three panes. The items are the panels' own in the bar's menu: see `Panel`."""
    of_threads: Any = {"id": "threads-pane", "aria-labelledby": "threads-heading"}
    of_history: Any = {"id": "history-pane", "aria-labelledby": "history-heading"}
    threads_edge = _build_pane_edge("threads", _("Width of the conversations"), 256)
    history_edge = _build_pane_edge("history", _("Width of History"), 352)
    return html.Div(
        [
            outage.build_banner(),
            html.Header(_build_topbar(_build_menu(items, app_items, person_items)), className="topbar"),
            html.Nav([threads.layout(), threads_edge], className="pane pane-threads", **of_threads),
            html.Main(chat.layout(), id="chat", className="pane pane-chat"),
            html.Aside([history_edge, history.layout()], className="pane pane-history", **of_history),
        ],
        id=FRAME_ID,
        className="shell",
    )


def _build_pane_edge(pane: str, label: str, width: int) -> Component:
    described: Any = {
        "data-pane": pane,
        "aria-orientation": "vertical",
        "aria-controls": f"{pane}-pane",
        "aria-valuenow": width,
        **_aria_label(label),
    }
    return html.Div(className="pane-edge", role="separator", tabIndex=0, **described)


def _build_topbar(menu: Sequence[Component]) -> list[Component]:
    """Build the bar: the conversation, the search, undo and redo, and a menu with everything else."""
    brand = html.A(html.Span("Waymark", className="brand-name"), href=build_address("/"), className="brand")
    keys = html.Kbd([html.Span(f"{_('Ctrl')} K", className="not-mac"), html.Span("⌘ K", className="only-mac")])
    find = [Icon(name="search"), html.Span(_("Search everything")), keys]
    title = html.H1(id=chat.Ids.TITLE, dir="auto")
    # History names the current branch (assets/modules/history/history.mjs).
    branch = html.Span(id="branch-chip", className="branch-chip", hidden=True)
    theme: Any = {"title": _("Change the theme"), "data-command": _("Change the theme"), "className": "when-roomy"}
    names: Any = {
        "aria-expanded": "false",
        "aria-controls": "more",
        "title": _("More"),
        **_aria_label(_("Conversation menu")),
    }
    return [
        html.Div([_build_pane_button("threads"), brand], className="topbar-start"),
        html.Div([title, branch], className="topbar-title"),
        html.Button(find, id="open-palette", className="find", **_aria_label(_("Search everything"))),
        *undo_redo.bar_buttons(),
        html.Div(
            [
                html.Button(Icon(name="three-dots"), id="show-more", **names),
                html.Div(menu, id="more", role="group", **_aria_label(_("Conversation menu"))),
            ],
            className="bar-menu",
        ),
        html.Button(_build_theme_signs(), id="theme", **theme),
        _build_pane_button("history"),
    ]


def _build_theme_signs() -> Component:
    """Build the sign and the name of each theme. The style sheet shows those of the chosen one."""
    themes = [
        ("light", "sun", _("Theme: light")),
        ("dark", "moon-stars", _("Theme: dark")),
        ("system", "circle-half", _("Theme: system")),
    ]
    signs = [
        html.Span([Icon(name=sign), html.Span(name, className="visually-hidden")], className=f"theme-{theme}")
        for theme, sign, name in themes
    ]
    return html.Span(signs, className="theme-icons")


def _build_pane_button(pane: str) -> Component:
    """Build the button that shows and hides a side pane. assets/modules/page/panes.mjs keeps its state and its title."""
    if pane == "threads":
        names, keys = (_("Conversations"), _("Show or hide the conversations")), "Control+B Meta+B"
        signs = [html.Span(Icon(name="layout-sidebar"), className="pane-sign")]
    else:
        names, keys = (_("History"), _("Show or hide History")), "Control+Alt+B Meta+Alt+B"
        signs = [
            html.Span(Icon(name="layout-sidebar-reverse"), className="pane-sign when-wide"),
            html.Span(Icon(name="diamond-fill"), className="pane-sign when-narrow"),
        ]
    label, command = names
    described: Any = {"aria-controls": f"{pane}-pane", "aria-keyshortcuts": keys, "data-command": command}
    return html.Button(signs, id=f"show-{pane}", **described, **_aria_label(label))


def _build_menu(
    items: Sequence[Component], app_items: Sequence[Component], person_items: Sequence[Component]
) -> list[Component]:
    """Build the two groups of the menu. On a phone, some items press a button for which the bar has no room."""
    for_phones: Any = [
        {"className": "menu-item when-phone", "data-press": button} for button in (undo_redo.Ids.REDO, "theme")
    ]
    summarise: Any = {"data-run": _(SUMMARISE_COMMAND)}
    run_again: Any = {"data-run": _(RUN_AGAIN_COMMAND)}
    redo = html.Button([Icon(name="redo"), html.Span(_("Redo"))], **for_phones[0])
    theme = html.Button([Icon(name="circle-half"), html.Span(_("Change the theme"))], **for_phones[1])
    changes = [
        build_menu_item("text-wrap", _("Summarise…"), "summarise", **summarise),
        build_menu_item("arrow-repeat", _("Run again…"), "run-again", **run_again),
        undo_redo.build_clear_item(),
    ]
    of_conversation = [redo, *items, html.Div(changes, id=undo_redo.Ids.CHANGES, hidden=True)]
    own = person.build_line(person_items)
    return [
        _build_group("more-conversation", _("This conversation"), of_conversation),
        _build_group("more-app", "Waymark", [*app_items, theme, own]),
    ]


def _build_group(identifier: str, name: str, items: Sequence[Component]) -> Component:
    labelled: Any = {"aria-labelledby": f"{identifier}-name"}
    heading = html.Div(name, id=f"{identifier}-name", className="menu-heading")
    return html.Div([heading, *items], id=identifier, className="menu-group", role="group", **labelled)


def _aria_label(name: str) -> Any:
    return {"aria-label": name}
