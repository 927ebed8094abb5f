"""The log: the changes of a conversation with their authors and times, and undo and redo."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Button, ModalFooter
from typing_extensions import TypedDict

from checkpoints import NotFoundError, Operation, OperationKind, Receipt, Store
from checkpoints.values.text import shorten_line
from components import dialog, page_state
from components.actions import Action, Answer, Handlers
from components.panel import Panel
from components.services import Services
from components.shapes import Count
from components.views import change_log, operations
from components.views.names import add_name
from components.widgets import Log, build_menu_item
from components.write_access import describe_read_only
from words import N_, _

DIALOG_TITLE = N_("History of changes")
# A line shows this much of a question.
MAX_QUESTION_CHARS = 80


class Ids(StrEnum):
    BUTTON = "show-log"
    DIALOG = "log-dialog"
    LOG = "log"
    # This store has the request to read the log, and how much of it.
    REQUEST = "log-wanted"


class WantedLog(TypedDict):
    count: Count
    opening: bool


def buttons() -> list[Component]:
    return [build_menu_item("clock-history", _(DIALOG_TITLE), Ids.BUTTON)]


def dialogs() -> list[Component]:
    close = Button(_("Close"), id=f"{Ids.DIALOG}-cancel", color="secondary", outline=True)
    parts = [dialog.build_long_body(Log(id=Ids.LOG)), ModalFooter(close)]
    return [dcc.Store(id=Ids.REQUEST), dialog.build_modal(Ids.DIALOG, _(DIALOG_TITLE), parts, scrollable=True)]


def register(app: Dash, services: Services) -> None:
    store = services.store
    dialog.register_dialog(app, Ids.DIALOG)

    app.clientside_callback(  # type: ignore[no-untyped-call]
        # The browser runs it, so a closed log sends no request.
        ClientsideFunction("waymark", "requestLog"),
        Output(Ids.REQUEST, "data"),
        Input(Ids.BUTTON, "n_clicks"),
        Input(page_state.Ids.UPDATE, "data"),
        Input(Ids.LOG, "action"),
        State(Ids.DIALOG, "is_open"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output(Ids.LOG, "data"),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(Ids.REQUEST, "data"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def show_log(request: WantedLog, pathname: str | None) -> tuple[Any, Any]:
        """Fill the log and open it in the same answer, so it never opens with old content."""
        data = await services.read_snapshot(_read_log, store, page_state.parse_thread_id(pathname), request["count"])
        return data, True if request["opening"] else no_update


async def _undo_last_change(services: Services, action: Action) -> Answer:
    return await _apply_step(services, services.store.undo, action)


async def _redo_last_undo(services: Services, action: Action) -> Answer:
    return await _apply_step(services, services.store.redo, action)


async def _apply_step(services: Services, step: Callable[..., Receipt], action: Action) -> Answer:
    thread_id = str(action.fields["thread"])
    done = await services.apply_change(step, thread_id, caller=action.caller)
    return Answer(page_state.update_after_undo(thread_id, done.version))


ACTIONS: Mapping[str, Handlers] = {Ids.LOG: {"undo": _undo_last_change, "redo": _redo_last_undo}}


def _read_log(store: Store, thread_id: str | None, count: int) -> dict[str, Any]:
    if thread_id is None:
        nothing: dict[str, Any] = {"entries": [], "more": False, "undo": None, "redo": None, "read_only": False}
        return {"thread": None, "version": 0, "count": count, **nothing}
    done = store.list_operations(thread_id, last=count + 1, abridged=True)
    undoable, undone = store.find_undoable(thread_id), store.find_redoable(thread_id)
    redoable = store.get_operation(thread_id, undone.target, abridged=True) if undone and undone.target else None
    return {
        "thread": thread_id,
        "version": done[0].version if done else 0,
        "entries": change_log.build_log(done[:count], _read_log_questions(store, done[:count])),
        "count": count,
        "more": len(done) > count,
        "undo": add_name(operations.describe_undo(undoable), undoable),
        "redo": add_name(operations.describe_undo(redoable), redoable),
        "read_only": describe_read_only(store, thread_id) is not None,
    }


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


PANEL = Panel(register=register, dialogs=dialogs, buttons=buttons, actions=ACTIONS)
