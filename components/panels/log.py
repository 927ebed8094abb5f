"""The change log of a conversation: its changes with their authors and times, and undo and redo."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component
from typing_extensions import TypedDict

from checkpoints import NotFoundError, Operation, OperationKind, Receipt, Store
from checkpoints.values.text import shorten_line
from components import page_state
from components.actions import Action, Answer, Handlers
from components.dialog import (
    ReadDialog,
    build_row_button,
    changed_output,
    find_pressed_row,
    mark_change,
    report_in,
    rows_of,
)
from components.panel import Panel
from components.properties import Properties
from components.services import Services
from components.shapes import Count, check_shape
from components.views import change_log, operations
from components.views.names import add_name
from components.widgets import Icon, Log, build_menu_item
from components.write_access import describe_read_only
from words import N_, _

DIALOG_TITLE = N_("Change log")
# The log shows so many changes at first, and with each "Show more" as many again.
PAGE_ENTRIES = 200
# A line shows this much of a question.
MAX_QUESTION_CHARS = 80


class Ids(StrEnum):
    BUTTON = "show-log"
    DIALOG = "log-dialog"
    # The list of Undo and Redo, which are pressed here and in the bar. It holds how many changes are shown.
    LOG = "log"


class _Opened(TypedDict):
    at: float


class _Shown(TypedDict):
    # The dialog was opened at this time.
    at: float
    count: Count


def buttons() -> list[Component]:
    return [build_menu_item("clock-history", _(DIALOG_TITLE), Ids.BUTTON, hidden=True)]


def show(_: Services, location: page_state.PageLocation) -> Properties:
    return {Ids.BUTTON: {"hidden": location.thread_id is None}}


async def read(services: Services, thread_id: str | None, opened: Any, shown: Any) -> Sequence[Component]:
    """Return the newest changes. An opened log shows a page of them."""
    at, wanted = check_shape(_Opened, opened, "opened")["at"], check_shape(_Shown | None, shown, "shown")
    count = wanted["count"] if wanted and wanted["at"] == at else PAGE_ENTRIES
    return await services.read_snapshot(_read_log, services.store, thread_id, count)


def register(app: Dash, _: Services) -> None:
    @app.callback(
        changed_output(Ids.DIALOG),
        Output(Ids.LOG, "data"),
        Input(rows_of("log-more"), "n_clicks"),
        State(f"{Ids.DIALOG}-opened", "data"),
        prevent_initial_call=True,
        on_error=partial(report_in, Ids.DIALOG),
    )
    async def show_more(_: Any, opened: _Opened) -> tuple[float, _Shown]:
        return mark_change(), check_shape(_Shown, {"at": opened["at"], "count": _parse_count(find_pressed_row())}, "row")


def _parse_count(row: str) -> int | None:
    return int(row) if row.isdecimal() else None


async def _undo_last_change(services: Services, action: Action) -> Answer:
    return await _apply_step(services, services.store.undo, action)


async def _redo_last_undo(services: Services, action: Action) -> Answer:
    return await _apply_step(services, services.store.redo, action)


async def _apply_step(services: Services, step: Callable[..., Receipt], action: Action) -> Answer:
    thread_id = str(action.fields["thread"])
    done = await services.apply_change(step, thread_id, caller=action.caller)
    return Answer(page_state.update_after_undo(thread_id, done.version))


ACTIONS: Mapping[str, Handlers] = {Ids.LOG: {"undo": _undo_last_change, "redo": _redo_last_undo}}


def _read_log(store: Store, thread_id: str | None, count: int) -> list[Component]:
    if thread_id is None:
        return _build_log([], None)
    done = store.list_operations(thread_id, last=count + 1, abridged=True)
    entries = change_log.build_log(done[:count], _read_log_questions(store, done[:count]))
    steps = None if describe_read_only(store, thread_id) else _read_steps(store, thread_id)
    return _build_log(entries, steps, more=count + PAGE_ENTRIES if len(done) > count else None)


def _read_steps(store: Store, thread_id: str) -> tuple[str | None, str | None]:
    """Read what Undo and Redo would do."""
    undoable, undone = store.find_undoable(thread_id), store.find_redoable(thread_id)
    redoable = store.get_operation(thread_id, undone.target, abridged=True) if undone and undone.target else None
    return add_name(operations.describe_undo(undoable), undoable), add_name(operations.describe_undo(redoable), redoable)


def _build_log(
    entries: Sequence[change_log.LogEntry], steps: tuple[str | None, str | None] | None, more: int | None = None
) -> list[Component]:
    undo, redo = steps or (None, None)
    head = [
        _build_step("undo", _("Undo {undo}", undo=undo) if undo else _("Nothing to undo"), is_on=undo is not None),
        _build_step("redo", _("Redo {redo}", redo=redo) if redo else _("Nothing to redo"), is_on=redo is not None),
    ]
    nothing = html.P(_("No changes yet."), className="pane-empty")
    show_more = build_row_button(_("Show more"), "log-more", str(more), className="quiet-button", name="log-more")
    parts = [
        *([html.Div(head, className="changes-head")] if steps else []),
        Log(data=list(entries)) if entries else nothing,
        *([show_more] if more else []),
    ]
    return [html.Div(parts, className="changes")]


def _build_step(step: str, text: str, *, is_on: bool) -> Component:
    pressed: Any = {"data-press": step, "type": "button", "name": f"log-{step}", "title": text}
    return html.Button([Icon(name=step), html.Span(text)], disabled=not is_on, className="quiet-button", **pressed)


def _read_log_questions(store: Store, operations: Sequence[Operation]) -> dict[str, str]:
    """Read the beginnings of the user's questions, by message id."""
    kinds = (OperationKind.APPEND, OperationKind.EDIT, OperationKind.REPLACE)
    question_operations = [op for op in operations if op.actor == "user" and op.kind in kinds and op.result]
    return {op.result or "": _read_question_line(store, op.thread_id, op.result or "") for op in question_operations}


def _read_question_line(store: Store, thread_id: str, message_id: str) -> str:
    try:
        message = store.get_message(thread_id, message_id)
    except NotFoundError:
        # The message was erased, and the log keeps its line.
        return ""
    return "" if message.damaged else shorten_line(str(message.langchain.text), MAX_QUESTION_CHARS)


DIALOG = ReadDialog(
    Ids.DIALOG,
    DIALOG_TITLE,
    Ids.BUTTON,
    read,
    fields=lambda: [dcc.Store(id=Ids.LOG)],
    states=[State(f"{Ids.DIALOG}-opened", "data"), State(Ids.LOG, "data")],
    follows=True,
)
PANEL = Panel(register=register, read_dialogs=[DIALOG], buttons=buttons, actions=ACTIONS, show=show)
