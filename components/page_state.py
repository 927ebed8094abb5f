"""The state of the page: the single `dcc.Store` that commands write and every panel reads.

It holds references and the last command's answer, never messages. The URL names the thread; a new update makes the panels
read the thread again.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, NotRequired
from urllib.parse import unquote

from dash import Output, dcc, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from typing_extensions import TypedDict

from checkpoints.values import serde
from checkpoints.values.limits import MAX_MESSAGE_CHARS
from checkpoints.values.thread_ids import read_thread_id, write_thread_id
from components.shapes import Count
from words import say


class Ids(StrEnum):
    UPDATE = "head"
    URL = "url"


@dataclass(frozen=True, slots=True)
class PageLocation:
    """The location of a page: a thread or the start page, the last update, and the transcript's window."""

    thread_id: str | None
    last_update: "PageUpdate"
    window: Mapping[str, Any] | None = None
    list_seen: datetime | None = None  # the moment of the list of conversations that the page has; None: it has none
    list_only: bool = False  # nothing but the list of conversations is wanted


class ChangedThread(TypedDict):
    """The last change of a thread that the page shows, by the version that it made."""

    thread: str
    version: Count


class UndoTarget(ChangedThread):
    """The change that Undo takes back."""

    others: NotRequired[list[ChangedThread]]  # of further threads, by the same action


class ToastMessage(TypedDict):
    text: str
    undo: UndoTarget | None  # the change that the toast can undo


class PageUpdate(TypedDict, total=False):
    tick: float  # makes every update a new one
    go: str  # the address to go to
    # For the composer, if it is empty: {key, text}. With {draft: "below"}, also before what is typed there.
    fill: dict[str, str]
    toast: ToastMessage
    closed: str  # the notice that the user has closed


def layout() -> Component:
    return html.Div([dcc.Location(id=Ids.URL, refresh=False), dcc.Store(id=Ids.UPDATE)])


def update_output() -> Output:
    """Return the output for a page update. Several commands write it; no other data has several writers."""
    return Output(Ids.UPDATE, "data", allow_duplicate=True)


def build_update(**fields: Any) -> PageUpdate:
    """Build a page update after a command."""
    return {"tick": time.time(), **fields}  # type: ignore[typeddict-item]


def fill_composer(thread_id: str, version: int, text: str, *, keeps_draft: bool = False) -> dict[str, str]:
    """Return a text for the composer after a change. Every later action sends it back, so it is no longer than a message.

    It stands before a text that is typed there with `keeps_draft`; without it, the typed text stays alone.
    """
    place = {"draft": "below"} if keeps_draft else {}
    return {"key": f"{thread_id}:{version}", "text": text if len(text) <= MAX_MESSAGE_CHARS else "", **place}


def update_after_undo(thread_id: str, version: int) -> PageUpdate:
    """Build the update after an undo or a redo. It clears a prompt that a restore filled in, if it is unchanged."""
    return build_update(fill=fill_composer(thread_id, version, ""))


def refresh_panels(last_update: PageUpdate | None) -> PageUpdate:
    """Build an update that only makes the panels read again; it keeps the fields that the page may not have seen yet."""
    carried: Any = {key: value for key, value in (last_update or {}).items() if key in ("fill", "closed")}
    return build_update(**carried)


def report_problem(text: str) -> PageUpdate:
    return build_update(toast={"text": say(text), "undo": None})


def thread_address(thread_id: str) -> str:
    return f"/t/{write_thread_id(thread_id)}"  # graphs of one's own may have any id


def parse_thread_id(pathname: str | None) -> str | None:
    """Return the thread that an address names; None on the start page. Without any address yet, prevent the update."""
    if pathname is None:
        raise PreventUpdate
    # Half a surrogate pair, which JSON can carry, could be neither searched for nor sent back.
    return serde.sanitize_text(read_thread_id(unquote(pathname[3:]))) if pathname.startswith("/t/") else None
