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
    HEAD = "head"
    URL = "url"


@dataclass(frozen=True, slots=True)
class Place:
    """What a page is about to show: a thread, or the start page; its head, and how many messages of which thread."""

    thread_id: str | None
    head: "Head"
    window: dict[str, Any] | None = None


class Where(TypedDict):
    """A change: the thread, and the version that it made."""

    thread: str
    version: int


class Toast(TypedDict):
    text: str
    undo: Where | None  # the change that the toast can undo


class Head(TypedDict, total=False):
    tick: float  # makes every head a new one
    go: str  # the address to go to
    fill: dict[str, str]  # for the composer, if it is empty: {key, text}
    toast: Toast
    closed: str  # the notice that the user has closed


def layout() -> Component:
    return html.Div([dcc.Location(id=Ids.URL, refresh=False), dcc.Store(id=Ids.HEAD)])


def output() -> Output:
    """Several commands write the head; nothing else has several writers."""
    return Output(Ids.HEAD, "data", allow_duplicate=True)


def moved(**fields: Any) -> Head:
    """A new head, after a command."""
    return {"tick": time.time(), **fields}  # type: ignore[typeddict-item]


def undone(thread_id: str, version: int) -> Head:
    """After an undo or a redo: a prompt that a restore put into the composer goes, if it was left as it was."""
    return moved(fill={"key": f"{thread_id}:{version}", "text": ""})


def again(before: Head | None) -> Head:
    """A new head that only makes the panels read again; what the page may not have seen yet stays in it."""
    carried: Any = {key: value for key, value in (before or {}).items() if key in ("fill", "closed")}
    return moved(**carried)


def problem(text: str) -> Head:
    return moved(toast={"text": text, "undo": None})


def address(thread_id: str) -> str:
    return f"/t/{thread_id}"


def thread_at(pathname: str | None) -> str | None:
    """The thread that an address names; None on the start page. Before the page has its address there is nothing to do."""
    if pathname is None:
        raise PreventUpdate
    return unquote(pathname.removeprefix("/t/")) if pathname.startswith("/t/") else None
