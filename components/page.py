"""The page: the layout of the panels. This module alone knows all of them."""

import re
from collections.abc import Awaitable, Callable
from functools import cache, partial, wraps
from html import escape
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, html
from dash.development.base_component import Component
from fastapi import FastAPI
from starlette.responses import Response

from agent.models.providers import SPEC_PREFIXES
from components import action_routes, first_html, page_state
from components.actions import ActionList, Handlers, Refusal, refuse_with_toast
from components.broadcasts import Frame
from components.first_layout import FirstLayouts
from components.panel import Panel
from components.panels import (
    branches,
    chat,
    chat_actions,
    compact_command,
    export_dialog,
    history,
    import_dialog,
    log,
    outage,
    person,
    restore_dialog,
    settings,
    share_button,
    threads,
    toast,
    undo_redo,
)
from components.properties import Properties
from components.replies import to_json, to_plain
from components.routes import stream
from components.services import Services
from components.shapes import check_arguments
from components.streams import turns
from components.widgets import TRANSCRIPT_ID, BranchChip, Icon, PaneButton, Slot, build_menu_item
from words import N_, SOURCE_LANGUAGE, _, get_language

# The frame (assets/index.html) marks its texts for translation this way.
MARKED_TEXT = re.compile(r"\{_(.+?)_\}")
META_TAGS = [{"name": "viewport", "content": "width=device-width, initial-scale=1, interactive-widget=resizes-content"}]
# These scripts are for browsers older than modules, and for tables.
UNUSED_SCRIPTS = ("/deps/polyfill@", "/dash_table/")
# The palette has commands with these names (assets/modules/lib/commands.mjs).
SUMMARISE_COMMAND = N_("Summarise the conversation")
RUN_AGAIN_COMMAND = N_("Run again")
PANELS: tuple[Panel, ...] = (
    threads.PANEL,
    history.PANEL,
    restore_dialog.PANEL,
    chat.PANEL,
    compact_command.PANEL,
    branches.PANEL,
    undo_redo.PANEL,
    settings.PANEL,
    log.PANEL,
    export_dialog.PANEL,
    share_button.PANEL,
    import_dialog.PANEL,
    toast.PANEL,
    outage.PANEL,
    person.PANEL,
)


def _merge_actions(list_id: str) -> Handlers:
    return {kind: handler for panel in PANELS for kind, handler in panel.list_actions().get(list_id, {}).items()}


_REFUSALS: dict[str, Refusal] = {
    chat.Ids.COMPOSER: chat_actions.refuse_message,
    TRANSCRIPT_ID: chat_actions.refuse_action,
    settings.Ids.SETTINGS: settings.refuse_settings,
}
LISTS = {
    list_id: ActionList(
        list_id,
        _merge_actions(list_id),
        refuse=_REFUSALS.get(list_id, refuse_with_toast),
        window_id=chat.Ids.WINDOW if list_id == TRANSCRIPT_ID else None,
    )
    for list_id in dict.fromkeys(str(list_id) for panel in PANELS for list_id in panel.list_actions())
}


class Page(Dash):
    """Dash without the scripts that this page does not use. They were a tenth of the time until the page is ready.

    Every callback gets its values in the types of its parameters, and runs `after_each` at its end, even when it failed.
    """

    after_each: Callable[[], None]
    # The function builds the frame in the language of the request.
    build_index: Callable[[], str] | None = None

    @property
    def index_string(self) -> str:
        return self.build_index() if self.build_index else super().index_string

    @index_string.setter
    def index_string(self, value: str) -> None:
        self._index_string = value

    def interpolate_index(self, *, scripts: str, css: str, renderer: str, **parts: str) -> str:  # type: ignore[override]  # Dash names each
        head, foot = first_html.split_scripts(scripts, UNUSED_SCRIPTS)
        # first-page.mjs begins the renderer.
        renderer = renderer.replace("application/javascript", "text/plain")
        return super().interpolate_index(scripts=foot, css=css + head, renderer=renderer, **parts)  # type: ignore[no-untyped-call,no-any-return]

    def callback(self, *parts: Any, **options: Any) -> Callable[..., Any]:
        register = super().callback(*parts, **options)

        def wrap_callback(function: Callable[..., Awaitable[Any]]) -> Any:
            check_values = check_arguments(function)

            @wraps(function)
            async def run_callback(*values: Any) -> Any:
                try:
                    return to_plain(await function(*check_values(values)))
                finally:
                    self.after_each()

            return register(run_callback)

        return wrap_callback


def build_index(frame: str, files: str) -> str:
    """Fill the page's frame (assets/index.html). `files` is the base address of the page's own files."""
    language = get_language()
    words = "" if language == SOURCE_LANGUAGE else f'<script defer src="{files}/words/{language}.js"></script>'
    filled = {"assets": files, "language": language, "words": words, "providers": " ".join(SPEC_PREFIXES)}
    filled["topbar"] = first_html.render_html(_build_topbar(), files)
    frame = MARKED_TEXT.sub(lambda found: escape(_(found[1])), frame)
    return re.sub(r"\{%(topbar|words|assets|language|providers)%\}", lambda found: filled[found[1]], frame)


def layout() -> Component:
    """Return Dash's components. The frame holds their places: see `Slot`, and assets/modules/page/roots.mjs."""
    return html.Div(
        [
            page_state.layout(),
            Slot(_build_topbar(), name="topbar"),
            threads.layout(),
            chat.layout(),
            history.layout(),
            *(each for panel in PANELS for each in panel.list_dialogs()),
        ]
    )


def _build_topbar() -> list[Component]:
    """Build the bar: the conversation, the search, undo and redo, and a menu with everything else."""
    brand = html.A(html.Span("Waymark", className="brand-name"), href="/", className="brand")
    keys = html.Kbd([html.Span("Ctrl K", className="not-mac"), html.Span("⌘ K", className="only-mac")])
    find = [Icon(name="search"), html.Span(_("Search everything")), keys]
    theme: Any = {"title": _("Change the theme"), "data-command": _("Change the theme"), "className": "when-roomy"}
    names: Any = {
        "aria-expanded": "false",
        "aria-controls": "more",
        "title": _("More"),
        **_aria_label(_("Conversation menu")),
    }
    return [
        html.Div([PaneButton(name="threads"), brand], className="topbar-start"),
        html.Div([html.H1(id=chat.Ids.TITLE, dir="auto"), BranchChip()], className="topbar-title"),
        html.Button(find, id="open-palette", className="find", **_aria_label(_("Search everything"))),
        *undo_redo.bar_buttons(),
        html.Div(
            [
                html.Button(Icon(name="three-dots"), id="show-more", **names),
                html.Div(_build_menu(), id="more", role="group", **_aria_label(_("Conversation menu"))),
            ],
            className="bar-menu",
        ),
        html.Button(Icon(name="theme"), id="theme", **theme),
        PaneButton(name="history"),
    ]


def _build_menu() -> list[Component]:
    """Build the items of the menu. On a phone, some of them press a button for which the bar has no room."""
    for_phones: Any = [
        {"className": "menu-item when-phone", "data-press": button} for button in (undo_redo.Ids.REDO, "theme")
    ]
    summarise: Any = {"data-run": _(SUMMARISE_COMMAND)}
    run_again: Any = {"data-run": _(RUN_AGAIN_COMMAND)}
    return [
        html.Button([Icon(name="arrow-clockwise"), html.Span(_("Redo"))], **for_phones[0]),
        *(button for panel in PANELS for button in panel.buttons()),
        # The browser has this dialog (assets/modules/dialogs/usage.mjs).
        build_menu_item("bar-chart", _("Usage"), "usage"),
        build_menu_item("text-wrap", _("Summarise…"), "summarise", **summarise),
        build_menu_item("arrow-repeat", _("Run again…"), "run-again", **run_again),
        html.Hr(),
        build_menu_item("person", _("Sessions"), person.Ids.SESSIONS),
        person.build_audit_item(),
        build_menu_item("keyboard", _("Keys"), "keys"),
        html.Button([Icon(name="circle-half"), html.Span(_("Change the theme"))], **for_phones[1]),
        html.Hr(),
        undo_redo.build_clear_item(),
        person.build_line(),
    ]


def _aria_label(name: str) -> Any:
    return {"aria-label": name}


def read_panels(services: Services, location: page_state.PageLocation) -> Properties:
    """Read the panels' properties at a location."""
    shown: Properties = {}
    for panel in [threads.PANEL] if location.list_only else PANELS:
        shown |= panel.show(services, location)
    return shown


def describe_turn(services: Services, thread_id: str, run_id: str | None) -> Frame | None:
    """Describe the changes of all panels after a turn or a title; None if the page has to read every panel."""
    turn = turns.read_turn(services, thread_id, run_id)
    if turn is None:
        return None
    properties: Properties = {}
    data: dict[str, turns.DataChange] = {}
    for panel in PANELS:
        changes = panel.show_turn(services, turn)
        properties |= changes.properties
        data |= changes.data
    return {"base": turn.base_version, "version": turn.thread.version, "properties": properties, "data": data}


def build_first_layouts(services: Services) -> FirstLayouts:
    return FirstLayouts(services, lambda: _build_plain_layout(get_language()), read_panels)


@cache
def _build_plain_layout(_language: str) -> Any:
    """Build the layout without data, once per language: building its components takes longer than reading a page."""
    return to_plain(layout())


def add_route(server: FastAPI, services: Services) -> None:
    action_routes.add_routes(server, services, LISTS, read_panels)
    stream.add_route(server, services, describe_turn)

    @server.get("/api/threads/{thread_id:thread}/runs/{run_id}/turn")
    async def get_turn(thread_id: str, run_id: str) -> Response:
        """Return how an active run changes the panels; null if the page has to read every panel."""
        turn = await services.read_snapshot(describe_turn, services, thread_id, run_id)
        return Response(to_json(turn), media_type="application/json")


def register(app: Page, services: Services) -> None:
    app.after_each = partial(outage.report_outage, services.store.database)
    for panel in PANELS:
        panel.register_parts(app, services)
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "readPanels"),
        Input(page_state.Ids.URL, "pathname"),
        Input(page_state.Ids.UPDATE, "data"),
        Input(chat.Ids.WINDOW, "data"),
        prevent_initial_call=True,
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "navigate"),
        Output(page_state.Ids.URL, "pathname"),
        Input(page_state.Ids.UPDATE, "data"),
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "cycleTheme"),
        Output("theme", "key"),
        Input("theme", "n_clicks"),
        State("theme", "key"),
    )
