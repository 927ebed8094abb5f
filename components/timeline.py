"""The checkpoints of a conversation: save, rename, pin, restore, delete."""

from enum import StrEnum
from typing import Any

from dash import Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from dash_bootstrap_components import Checkbox

from checkpoints import MAIN, Checkpoint, Leaving, Message, StateError, ThreadNotFoundError, counted
from components import dialog, head, views
from components.services import Services, asked_by
from components.widgets import TIMELINE, Timeline

NOTHING_TO_SAVE = "There is nothing to save yet: start a conversation first."


class Ids(StrEnum):
    LIST = TIMELINE
    RESTORE = "restore-dialog"
    KEEP = "restore-keep"
    DELETE = "delete-checkpoint"


def layout() -> Component:
    return Timeline(id=Ids.LIST)


def dialogs() -> list[Component]:
    keep = Checkbox(id=Ids.KEEP, label="Keep what leaves as a branch", value=False)
    return [
        dialog.confirmation(Ids.RESTORE, "Restore this checkpoint?", "Restore", keep),
        dialog.confirmation(Ids.DELETE, "Delete this checkpoint?", "Delete"),
    ]


def restore_question(checkpoint: Checkpoint, leaving: Leaving, *, running: bool) -> list[Component]:
    """What restoring does, in numbers from the store."""
    leaves = "leaves" if leaving.messages + leaving.checkpoints == 1 else "leave"
    loss = (
        f"{leaving}{leaving.among} {leaves} the conversation."
        if leaving.messages or leaving.checkpoints
        else "Nothing leaves the conversation."
    )
    return [
        html.P(["Go back to “", html.Strong(checkpoint.name), f"” ({counted(checkpoint.message_count, 'message')})."]),
        html.P(loss, className="loss"),
        *([html.P("The answer that is being written is stopped first, and leaves as well.")] if running else []),
        html.P("Restoring can be undone, also after a reload.", className="quiet"),
    ]


def delete_question(checkpoint: Checkpoint) -> list[Component]:
    return [
        html.P(
            ["“", html.Strong(checkpoint.name), "” leaves the list. The messages stay, and so do all other checkpoints."]
        ),
        html.P("You can undo this.", className="quiet"),
    ]


SHOWN = ((Ids.LIST, "data"),)


def show(services: Services, at: head.Place) -> tuple[dict[str, Any]]:
    return (_read(services, at.thread_id),)


def register(app: Dash, services: Services) -> None:
    for identifier in (Ids.RESTORE, Ids.DELETE):
        dialog.register(app, identifier)
    _register_list(app, services)
    _register_restore(app, services)
    _register_delete(app, services)


def _register_list(app: Dash, services: Services) -> None:
    store = services.store

    @app.callback(
        head.output(),
        Output(Ids.RESTORE, "is_open", allow_duplicate=True),
        Output(f"{Ids.RESTORE}-body", "children"),
        Output(Ids.KEEP, "value"),
        Output(Ids.DELETE, "is_open", allow_duplicate=True),
        Output(f"{Ids.DELETE}-body", "children"),
        Input(Ids.LIST, "action"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def act(action: dict[str, Any], pathname: str) -> tuple[Any, ...]:
        """Saving and changing are done at once; restoring and deleting ask first."""
        thread_id = head.thread_at(pathname)
        stay = no_update
        try:
            match action["type"], thread_id:
                case "restore", str():
                    checkpoint = await services.read(store.checkpoint, thread_id, action["checkpoint"])
                    leaving = await services.read(store.leaving, thread_id, checkpoint.id)
                    running = thread_id in await services.read(services.runs.running)
                    return stay, True, restore_question(checkpoint, leaving, running=running), False, stay, stay
                case "delete", str():
                    checkpoint = await services.read(store.checkpoint, thread_id, action["checkpoint"])
                    return stay, stay, stay, stay, True, delete_question(checkpoint)
                case "save", str():
                    await _save(services, thread_id, action)
                case "change", str():
                    fields = {name: action[name] for name in ("name", "description", "pinned") if name in action}
                    checkpoint_id = action["checkpoint"]
                    await services.change(store.change_checkpoint, thread_id, checkpoint_id, **fields, by=asked_by(action))
                case _:  # what is asked of the branches is theirs to answer
                    raise PreventUpdate
        except StateError as error:
            return head.problem(str(error)), stay, stay, stay, stay, stay
        return head.moved(), stay, stay, stay, stay, stay


async def _save(services: Services, thread_id: str, action: dict[str, Any]) -> None:
    name, description = action.get("name") or None, action.get("description") or ""
    tokens, by = await services.read(services.runner.prospect.tokens, thread_id), asked_by(action)
    await services.change(services.store.save, thread_id, name=name, description=description, tokens=tokens, by=by)


def _register_restore(app: Dash, services: Services) -> None:
    @app.callback(
        head.output(),
        Output(Ids.RESTORE, "is_open", allow_duplicate=True),
        Input(f"{Ids.RESTORE}-confirm", "n_clicks"),
        State(Ids.LIST, "action"),
        State(Ids.KEEP, "value"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def restore(_: int, action: dict[str, Any], keep: bool, pathname: str) -> tuple[head.Head, bool]:
        """A running answer is stopped first; what it wrote is the only change since the dialog that is no conflict."""
        thread_id, store = head.thread_at(pathname), services.store
        if thread_id is None:  # the browser went back while the dialog stood open
            return head.moved(), False
        try:
            await services.runner.stop(thread_id)
            before = await services.read(store.messages, thread_id, last=_CUT_OFF)
            done = await services.change(
                store.restore, thread_id, action["checkpoint"], keep_future=keep, by=asked_by(action)
            )
            kept = await services.read(store.messages, thread_id, last=1)
        except StateError as error:
            return head.problem(str(error)), False
        return head.moved(fill=_cut_off_prompt(before, kept, f"{thread_id}:{done.version}")), False


def _register_delete(app: Dash, services: Services) -> None:
    @app.callback(
        head.output(),
        Output(Ids.DELETE, "is_open", allow_duplicate=True),
        Input(f"{Ids.DELETE}-confirm", "n_clicks"),
        State(Ids.LIST, "action"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def delete(_: int, action: dict[str, Any], pathname: str) -> tuple[head.Head, bool]:
        thread_id = head.thread_at(pathname)
        if thread_id is None:  # the browser went back while the dialog stood open
            return head.moved(), False
        try:
            await services.change(services.store.delete_checkpoint, thread_id, action["checkpoint"], by=asked_by(action))
        except StateError as error:
            return head.problem(str(error)), False
        return head.moved(), False


_CUT_OFF = 200  # messages from the end among which the cut-off prompt is looked for


def _cut_off_prompt(before: list[Message], kept: list[Message], key: str) -> dict[str, str]:
    """The last thing that the user had asked, if the restore took it away."""
    depth = kept[-1].depth if kept else -1
    asked = [m for m in before if m.depth > depth and m.type == "human" and m.agent == MAIN]
    return {"key": key, "text": str(asked[-1].langchain.text) if asked and not asked[-1].damaged else ""}


def _read(services: Services, thread_id: str | None) -> dict[str, Any]:
    nothing: dict[str, Any] = {"thread": None, "version": 0, "checkpoints": [], "branches": []}
    store = services.store
    try:
        thread = store.thread(thread_id) if thread_id else None
    except ThreadNotFoundError:
        thread = None
    if thread is None:
        return {**nothing, "save": {"enabled": False, "reason": NOTHING_TO_SAVE}}
    checkpoints, shared = store.checkpoints(thread.id), store.shared(thread.id)
    standing = [c.id for c in checkpoints if c.node is not None and c.node.id == thread.head_id]
    return {
        "thread": thread.id,
        "version": thread.version,
        "checkpoints": [views.checkpoint(c, here=c.id in standing[-1:]) for c in checkpoints],
        "branches": [views.branch(b, length, shared[b.id], thread.branch_id) for b, length in store.branches(thread.id)],
        "save": {"enabled": thread.head_id is not None, "reason": None if thread.head_id else NOTHING_TO_SAVE},
    }
