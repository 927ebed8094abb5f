"""The page: its index, the layout and the callbacks of all panels."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial, wraps
from html import escape
from typing import Any
from urllib.parse import quote

from dash import ClientsideFunction, Dash, Input, Output, html
from dash.development.base_component import Component
from fastapi import FastAPI
from starlette.responses import Response

from agent.models.providers import SPEC_PREFIXES
from checkpoints import get_acting_owner
from components import action_routes, page_state
from components.actions import ActionList, Handlers, Refusal, refuse_with_toast
from components.broadcasts import Frame
from components.frame import FRAME_ID, build_frame, build_skip_links
from components.panel import Panel
from components.panels import (
    app_settings,
    audit,
    branches,
    bring_home,
    chat,
    chat_actions,
    compact_command,
    compare,
    connect_dialog,
    deleted,
    example,
    export_dialog,
    graph_state,
    history,
    import_dialog,
    keys,
    log,
    outage,
    person,
    prompts,
    restore_dialog,
    run_again,
    sessions,
    settings,
    share_dialog,
    tags,
    threads,
    toast,
    undo_redo,
    usage,
)
from components.properties import Properties
from components.replies import to_json, to_plain
from components.routes import stream
from components.services import Services
from components.shapes import check_arguments
from components.streams import turns
from components.widgets import TRANSCRIPT_ID
from server.addresses import build_address
from words import SOURCE_LANGUAGE, _, get_language

# The index (assets/index.html) marks its texts for translation this way.
MARKED_TEXT = re.compile(r"\{_(.+?)_\}")
META_TAGS = [{"name": "viewport", "content": "width=device-width, initial-scale=1, interactive-widget=resizes-content"}]
# These scripts are for browsers older than modules, and for tables.
UNUSED_SCRIPTS = ("/deps/polyfill@", "/dash_table/")
# Dash runs these before its own requests (assets/modules/page/frame.mjs).
RENDERER_HOOKS: Any = dict.fromkeys(("layout_pre", "request_pre"), "() => waymark.authorizeDash()")
PANELS: tuple[Panel, ...] = (
    threads.PANEL,
    tags.PANEL,
    deleted.PANEL,
    history.PANEL,
    restore_dialog.PANEL,
    chat.PANEL,
    compact_command.PANEL,
    example.PANEL,
    branches.PANEL,
    undo_redo.PANEL,
    settings.PANEL,
    connect_dialog.PANEL,
    log.PANEL,
    export_dialog.PANEL,
    share_dialog.PANEL,
    compare.PANEL,
    graph_state.PANEL,
    bring_home.PANEL,
    run_again.PANEL,
    import_dialog.PANEL,
    usage.PANEL,
    toast.PANEL,
    outage.PANEL,
    person.PANEL,
    app_settings.PANEL,
    sessions.PANEL,
    audit.PANEL,
    prompts.PANEL,
    keys.PANEL,
)


_REFUSALS: dict[str, Refusal] = {
    chat.Ids.COMPOSER: chat_actions.refuse_message,
    TRANSCRIPT_ID: chat_actions.refuse_action,
}


def build_lists(panels: Sequence[Panel]) -> dict[str, ActionList]:
    """Return the lists whose actions the panels handle, by their ids."""
    handlers: dict[str, Handlers] = {}
    for panel in panels:
        for list_id, actions in panel.list_actions().items():
            handlers[str(list_id)] = {**handlers.get(str(list_id), {}), **actions}
    return {
        list_id: ActionList(
            list_id,
            actions,
            refuse=_REFUSALS.get(list_id, refuse_with_toast),
            window_id=chat.Ids.WINDOW if list_id == TRANSCRIPT_ID else None,
        )
        for list_id, actions in handlers.items()
    }


class Page(Dash):
    """Dash with this page's index.

    Every callback gets its values in the types of its parameters, and runs `after_each` at its end, even when it failed.
    """

    after_each: Callable[[], None]
    # The function fills the index, in the language of the request, with the parts that Dash gives.
    fill_index: Callable[[Mapping[str, str]], str]

    def interpolate_index(self, *, scripts: str, renderer: str, **parts: str) -> str:  # type: ignore[override]  # Dash names each
        """Leave out the scripts that this page does not use, and begin the renderer after the page's own modules."""
        used = [line for line in scripts.splitlines() if not any(name in line for name in UNUSED_SCRIPTS)]
        renderer = renderer.replace("application/javascript", "module")
        return self.fill_index({**parts, "scripts": "\n".join(used), "renderer": renderer})

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


def fill_index(index: str, files: str, parts: Mapping[str, str]) -> str:
    """Fill the page's index (assets/index.html). `files` is the base path of the page's own files; `parts` are Dash's."""
    files = build_address(files)
    language = get_language()
    words = "" if language == SOURCE_LANGUAGE else f'<script defer src="{files}/words/{language}.js"></script>'
    filled = {"assets": files, "language": language, "words": words, "root": build_address("/"), **parts}
    filled["providers"] = " ".join(SPEC_PREFIXES)
    index = MARKED_TEXT.sub(lambda found: escape(_(found[1])), index)
    return re.sub(r"\{%(\w+)%\}", lambda found: filled[found[1]], index)


def make_layout(services: Services, panels: Sequence[Panel]) -> Callable[[], Component]:
    """Return the function that builds the layout, without data, for the person and in the language of a request."""
    has_people = services.store.database.separates_owners

    @cache
    def build_once(_language: str, _root: str) -> list[Component]:
        return build_parts(panels)

    def layout() -> Component:
        # The page names its person in each request: see `PersonLayer`.
        person: Any = {"data-person": quote(get_acting_owner() or "")} if has_people else {}
        return html.Div(build_once(get_language(), build_address("/")), **person)

    return layout


def build_parts(panels: Sequence[Panel]) -> list[Component]:
    """Build the parts of the page, in the language of the request and below its path."""
    return [
        page_state.layout(),
        build_skip_links(),
        build_frame(
            [button for panel in panels for button in panel.buttons()],
            [button for panel in panels for button in panel.app_buttons()],
            [button for panel in panels for button in panel.person_buttons()],
        ),
        *(each for panel in panels for each in panel.list_dialogs()),
    ]


def read_panels(panels: Sequence[Panel], services: Services, location: page_state.PageLocation) -> Properties:
    """Read the panels' properties at a location."""
    shown: Properties = {}
    for panel in [threads.PANEL] if location.list_only else panels:
        shown |= panel.show(services, location)
    return shown


def describe_turn(panels: Sequence[Panel], services: Services, thread_id: str, run_id: str | None) -> Frame | None:
    """Describe the changes of all panels after a turn or a title; None if the page has to read every panel."""
    turn = turns.read_turn(services, thread_id, run_id)
    if turn is None:
        return None
    properties: Properties = {}
    data: dict[str, turns.DataChange] = {}
    for panel in panels:
        changes = panel.show_turn(services, turn)
        properties |= changes.properties
        data |= changes.data
    return {"base": turn.base_version, "version": turn.thread.version, "properties": properties, "data": data}


def add_route(server: FastAPI, services: Services, panels: Sequence[Panel]) -> None:
    action_routes.add_routes(server, services, build_lists(panels), partial(read_panels, panels))
    describe = partial(describe_turn, panels)
    stream.add_route(server, services, describe)

    @server.get("/api/threads/{thread_id:thread}/runs/{run_id}/turn")
    async def get_turn(thread_id: str, run_id: str) -> Response:
        """Return how an active run changes the panels; null if the page has to read every panel."""
        turn = await services.read_snapshot(describe, services, thread_id, run_id)
        return Response(to_json(turn), media_type="application/json")


def register(app: Page, services: Services, panels: Sequence[Panel]) -> None:
    app.after_each = partial(outage.report_outage, services.store.database)
    for panel in panels:
        panel.register_parts(app, services)
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "watchFrame"),
        Output(FRAME_ID, "key"),
        Input(FRAME_ID, "id"),
    )
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
        prevent_initial_call=True,
    )
    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "cycleTheme"),
        Input("theme", "n_clicks"),
        prevent_initial_call=True,
    )
