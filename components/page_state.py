"""Where the page stands: the one `dcc.Store` that commands write and every panel reads from.

It holds references and what the last command answered, never messages. The URL names the thread; a new head makes the
panels read the thread again.
"""

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypedDict
from urllib.parse import unquote

from dash import Output, dcc, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate


class Ids(StrEnum):
    UPDATE = "head"
    URL = "url"


@dataclass(frozen=True, slots=True)
class PageLocation:
    """What a page is about to show: a thread, or the start page; its head, and how many messages of which thread."""

    thread_id: str | None
    last_update: "PageUpdate"
    window: dict[str, Any] | None = None


class UndoTarget(TypedDict):
    """A change: the thread, and the version that it made."""

    thread: str
    version: int


class ToastMessage(TypedDict):
    text: str
    undo: UndoTarget | None  # the change that the toast can undo


class PageUpdate(TypedDict, total=False):
    tick: float  # makes every head a new one
    go: str  # the address to go to
    fill: dict[str, str]  # for the composer, if it is empty: {key, text}
    toast: ToastMessage
    closed: str  # the notice that the user has closed


def layout() -> Component:
    return html.Div([dcc.Location(id=Ids.URL, refresh=False), dcc.Store(id=Ids.UPDATE)])


def update_output() -> Output:
    """Several commands write the head; nothing else has several writers."""
    return Output(Ids.UPDATE, "data", allow_duplicate=True)


def build_update(**fields: Any) -> PageUpdate:
    """A new head, after a command."""
    return {"tick": time.time(), **fields}  # type: ignore[typeddict-item]


def update_after_undo(thread_id: str, version: int) -> PageUpdate:
    """After an undo or a redo: a prompt that a restore put into the composer goes, if it was left as it was."""
    return build_update(fill={"key": f"{thread_id}:{version}", "text": ""})


def refresh_panels(last_update: PageUpdate | None) -> PageUpdate:
    """A new head that only makes the panels read again; what the page may not have seen yet stays in it."""
    carried: Any = {key: value for key, value in (last_update or {}).items() if key in ("fill", "closed")}
    return build_update(**carried)


def report_problem(text: str) -> PageUpdate:
    return build_update(toast={"text": text, "undo": None})


def thread_address(thread_id: str) -> str:
    return f"/t/{thread_id}"


def parse_thread_id(pathname: str | None) -> str | None:
    """The thread that an address names; None on the start page. Before the page has its address there is nothing to do."""
    if pathname is None:
        raise PreventUpdate
    return unquote(pathname.removeprefix("/t/")) if pathname.startswith("/t/") else None
