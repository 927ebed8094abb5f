"""The log: what was done to a conversation, by whom and when; undo and redo from there."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_bootstrap_components import Button, ModalBody, ModalFooter

from checkpoints import NotFoundError, Operation, OperationKind, StateError, Store
from components import dialog, head, operations
from components.services import Services, asked_by
from components.widgets import Icon, Log

NAME = "History of changes"
_QUOTED = 80  # characters of a question that a line shows


class Ids(StrEnum):
    BUTTON = "show-log"
    DIALOG = "log-dialog"
    LOG = "log"
    WANTED = "log-wanted"  # that it is to be read, and how much of it


def buttons() -> list[Component]:
    """What stands in the head of the conversation."""
    named: Any = {"aria-label": NAME}
    return [html.Button(Icon(name="clock-history"), id=Ids.BUTTON, className="btn", title=NAME, **named)]


def dialogs() -> list[Component]:
    close = Button("Close", id=f"{Ids.DIALOG}-cancel", color="secondary", outline=True)
    parts = [ModalBody(Log(id=Ids.LOG)), ModalFooter(close)]
    return [dcc.Store(id=Ids.WANTED), dialog.modal(Ids.DIALOG, NAME, parts, scrollable=True)]


def register(app: Dash, services: Services) -> None:
    store = services.store
    dialog.register(app, Ids.DIALOG)

    app.clientside_callback(  # type: ignore[no-untyped-call]
        ClientsideFunction("waymark", "logWanted"),  # in the browser: a log that nobody looks at asks for nothing
        Output(Ids.WANTED, "data"),
        Input(Ids.BUTTON, "n_clicks"),
        Input(head.Ids.HEAD, "data"),
        Input(Ids.LOG, "action"),
        State(Ids.DIALOG, "is_open"),
        prevent_initial_call=True,
    )

    @app.callback(
        Output(Ids.LOG, "data"),
        Output(Ids.DIALOG, "is_open", allow_duplicate=True),
        Input(Ids.WANTED, "data"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def show(wanted: dict[str, Any], pathname: str) -> tuple[Any, Any]:
        """It opens with what it shows, never with what it showed before."""
        data = await services.read(_read, store, head.thread_at(pathname), wanted["count"])
        return data, True if wanted["opening"] else no_update

    @app.callback(head.output(), Input(Ids.LOG, "action"), prevent_initial_call=True)
    async def act(action: dict[str, Any]) -> Any:
        if action["type"] == "more":
            return no_update
        verb = store.undo if action["type"] == "undo" else store.redo
        try:
            done = await services.change(verb, action["thread"], by=asked_by(action))
        except StateError as error:
            return head.problem(str(error))
        return head.undone(action["thread"], done.version)


def _read(store: Store, thread_id: str | None, count: int) -> dict[str, Any]:
    if thread_id is None:
        return {"thread": None, "version": 0, "entries": [], "count": count, "more": False, "undo": None, "redo": None}
    done = store.operations(thread_id, last=count + 1)
    undone = store.redoable(thread_id)
    again = store.operation(thread_id, undone.target) if undone and undone.target else None
    return {
        "thread": thread_id,
        "version": done[0].version if done else 0,
        "entries": operations.log(done[:count], _questions(store, done[:count])),
        "count": count,
        "more": len(done) > count,
        "undo": operations.described(store.undoable(thread_id)),
        "redo": operations.described(again),
    }


def _questions(store: Store, done: Sequence[Operation]) -> dict[str, str]:
    """What the user asked, as far as a line shows it, by the message's id."""
    kinds = (OperationKind.APPEND, OperationKind.EDIT)
    asked = [op for op in done if op.actor == "user" and op.kind in kinds and op.result]
    return {op.result or "": _question(store, op.thread_id, op.result or "") for op in asked}


def _question(store: Store, thread_id: str, message_id: str) -> str:
    try:
        message = store.message(thread_id, message_id)
    except NotFoundError:  # it was erased; that it was asked is still told
        return ""
    return "" if message.damaged else _line(str(message.langchain.text))


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…"
