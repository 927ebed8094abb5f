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
from server.addresses import build_address, read_path
from words import say

# The page of each thread is below this path.
THREADS_PREFIX = "/t/"


class Ids(StrEnum):
    UPDATE = "head"
    URL = "url"


@dataclass(frozen=True, slots=True)
class PageLocation:
    """The location of a page: a thread or the start page, the last update, and the transcript's window."""

    thread_id: str | None
    last_update: "PageUpdate"
    window: Mapping[str, Any] | None = None
    # The page has a list of conversations from this time, or None.
    list_seen: datetime | None = None
    # Nothing but the list of conversations is read.
    list_only: bool = False


class ChangedThread(TypedDict):
    """The last change of a thread on the page, named by the resulting version."""

    thread: str
    version: Count


class UndoTarget(ChangedThread):
    """The change that Undo takes back."""

    # The same action changed these threads, too.
    others: NotRequired[list[ChangedThread]]


class ToastMessage(TypedDict):
    text: str
    undo: UndoTarget | None


class PageUpdate(TypedDict, total=False):
    # The time makes every update a new value.
    tick: float
    go: str
    # This is a text for an empty composer: `{key, text}`. With `{draft: "below"}`, it also goes before a typed text.
    fill: dict[str, str]
    toast: ToastMessage
    # The user has closed this notice.
    closed: str


def layout() -> Component:
    return html.Div([dcc.Location(id=Ids.URL, refresh=False), dcc.Store(id=Ids.UPDATE)])


def update_output() -> Output:
    """Return the output for a page update. It is the only data with several writers."""
    return Output(Ids.UPDATE, "data", allow_duplicate=True)


def build_update(**fields: Any) -> PageUpdate:
    return {"tick": time.time(), **fields}  # type: ignore[typeddict-item]


def fill_composer(thread_id: str, version: int, text: str, *, keeps_draft: bool = False) -> dict[str, str]:
    """Return a text for the composer after a change, empty if it is longer than a message: later actions send it back.

    With `keeps_draft`, it goes before a text already typed there. Otherwise the typed text stays alone.
    """
    place = {"draft": "below"} if keeps_draft else {}
    return {"key": f"{thread_id}:{version}", "text": text if len(text) <= MAX_MESSAGE_CHARS else "", **place}


def update_after_undo(thread_id: str, version: int) -> PageUpdate:
    """Build the update after an undo or a redo. It clears a prompt that a restore filled in and nobody has changed."""
    return build_update(fill=fill_composer(thread_id, version, ""))


def refresh_panels(last_update: PageUpdate | None) -> PageUpdate:
    """Build an update that only makes the panels read again. It keeps fields that the page may not have seen yet."""
    carried: Any = {key: value for key, value in (last_update or {}).items() if key in ("fill", "closed")}
    return build_update(**carried)


def report_problem(text: str) -> PageUpdate:
    return build_update(toast={"text": say(text), "undo": None})


def thread_address(thread_id: str) -> str:
    # Threads of user graphs may have any id.
    return build_address(f"{THREADS_PREFIX}{write_thread_id(thread_id)}")


def parse_thread_id(pathname: str | None) -> str | None:
    """Return the thread of an address; None on the start page. Raises `PreventUpdate` while there is no address."""
    if pathname is None:
        raise PreventUpdate
    path = read_path(pathname) or "/"
    if not path.startswith(THREADS_PREFIX):
        return None
    # JSON can carry half a surrogate pair, which could be neither searched for nor sent back.
    return serde.sanitize_text(read_thread_id(unquote(path.removeprefix(THREADS_PREFIX))))
