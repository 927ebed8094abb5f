"""The checkpoints of a conversation: save, rename, pin, restore, delete."""

from enum import StrEnum
from typing import Any

from dash import Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate
from dash_bootstrap_components import Checkbox

from checkpoints import MAIN, Checkpoint, Message, Removal, StateError, ThreadNotFoundError, pluralize
from components import dialog, page_state
from components.services import Services, read_caller
from components.views import message_view
from components.widgets import TIMELINE_ID, Timeline

NOTHING_TO_SAVE = "There is nothing to save yet: start a conversation first."


class Ids(StrEnum):
    LIST = TIMELINE_ID
    RESTORE_DIALOG = "restore-dialog"
    KEEP_BRANCH = "restore-keep"
    DELETE_DIALOG = "delete-checkpoint"


def layout() -> Component:
    return Timeline(id=Ids.LIST)


def dialogs() -> list[Component]:
    keep = Checkbox(id=Ids.KEEP_BRANCH, label="Keep what leaves as a branch", value=False)
    return [
        dialog.build_confirmation(Ids.RESTORE_DIALOG, "Restore this checkpoint?", "Restore", keep),
        dialog.build_confirmation(Ids.DELETE_DIALOG, "Delete this checkpoint?", "Delete"),
    ]


def build_restore_question(checkpoint: Checkpoint, removal: Removal, *, running: bool) -> list[Component]:
    """What restoring does, in numbers from the store."""
    leaves = "leaves" if removal.messages + removal.checkpoints == 1 else "leave"
    loss = (
        f"{removal}{removal.agents_clause} {leaves} the conversation."
        if removal.messages or removal.checkpoints
        else "Nothing leaves the conversation."
    )
    return [
        html.P(["Go back to “", html.Strong(checkpoint.name), f"” ({pluralize(checkpoint.message_count, 'message')})."]),
        html.P(loss, className="loss"),
        *([html.P("The answer that is being written is stopped first, and leaves as well.")] if running else []),
        html.P("Restoring can be undone, also after a reload.", className="quiet"),
    ]


def build_checkpoint_deletion(checkpoint: Checkpoint) -> list[Component]:
    return [
        html.P(
            ["“", html.Strong(checkpoint.name), "” leaves the list. The messages stay, and so do all other checkpoints."]
        ),
        html.P("You can undo this.", className="quiet"),
    ]


SHOWN = ((Ids.LIST, "data"),)


def show(services: Services, location: page_state.PageLocation) -> tuple[dict[str, Any]]:
    return (_read_timeline(services, location.thread_id),)


def register(app: Dash, services: Services) -> None:
    for identifier in (Ids.RESTORE_DIALOG, Ids.DELETE_DIALOG):
        dialog.register_dialog(app, identifier)
    _register_timeline_actions(app, services)
    _register_restore(app, services)
    _register_checkpoint_deletion(app, services)


def _register_timeline_actions(app: Dash, services: Services) -> None:
    store = services.store

    @app.callback(
        page_state.update_output(),
        Output(Ids.RESTORE_DIALOG, "is_open", allow_duplicate=True),
        Output(f"{Ids.RESTORE_DIALOG}-body", "children"),
        Output(Ids.KEEP_BRANCH, "value"),
        Output(Ids.DELETE_DIALOG, "is_open", allow_duplicate=True),
        Output(f"{Ids.DELETE_DIALOG}-body", "children"),
        Input(Ids.LIST, "action"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def handle_action(action: dict[str, Any], pathname: str) -> tuple[Any, ...]:
        """Saving and changing are done at once; restoring and deleting ask first."""
        thread_id = page_state.parse_thread_id(pathname)
        stay = no_update
        try:
            match action["type"], thread_id:
                case "restore", str():
                    checkpoint = await services.read_snapshot(store.get_checkpoint, thread_id, action["checkpoint"])
                    leaving = await services.read_snapshot(store.preview_removal, thread_id, checkpoint.id)
                    running = thread_id in await services.read_snapshot(services.runs.list_running_threads)
                    return stay, True, build_restore_question(checkpoint, leaving, running=running), False, stay, stay
                case "delete", str():
                    checkpoint = await services.read_snapshot(store.get_checkpoint, thread_id, action["checkpoint"])
                    return stay, stay, stay, stay, True, build_checkpoint_deletion(checkpoint)
                case "save", str():
                    await _save_checkpoint(services, thread_id, action)
                case "change", str():
                    fields = {name: action[name] for name in ("name", "description", "pinned") if name in action}
                    checkpoint_id = action["checkpoint"]
                    await services.apply_change(
                        store.change_checkpoint, thread_id, checkpoint_id, **fields, caller=read_caller(action)
                    )
                case _:  # what is asked of the branches is theirs to answer
                    raise PreventUpdate
        except StateError as error:
            return page_state.report_problem(str(error)), stay, stay, stay, stay, stay
        return page_state.build_update(), stay, stay, stay, stay, stay


async def _save_checkpoint(services: Services, thread_id: str, action: dict[str, Any]) -> None:
    name, description = action.get("name") or None, action.get("description") or ""
    tokens, by = await services.read_snapshot(services.runner.inputs.count_tokens, thread_id), read_caller(action)
    await services.apply_change(services.store.save, thread_id, name=name, description=description, tokens=tokens, caller=by)


def _register_restore(app: Dash, services: Services) -> None:
    @app.callback(
        page_state.update_output(),
        Output(Ids.RESTORE_DIALOG, "is_open", allow_duplicate=True),
        Input(f"{Ids.RESTORE_DIALOG}-confirm", "n_clicks"),
        State(Ids.LIST, "action"),
        State(Ids.KEEP_BRANCH, "value"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def confirm_restore(
        _: int, action: dict[str, Any], keep_branch: bool, pathname: str
    ) -> tuple[page_state.PageUpdate, bool]:
        """A running answer is stopped first; what it wrote is the only change since the dialog that is no conflict."""
        thread_id, store = page_state.parse_thread_id(pathname), services.store
        if thread_id is None:  # the browser went back while the dialog stood open
            return page_state.build_update(), False
        try:
            await services.runner.stop(thread_id)
            before = await services.read_snapshot(store.list_messages, thread_id, last=MAX_PROMPT_SEARCH_MESSAGES)
            done = await services.apply_change(
                store.restore, thread_id, action["checkpoint"], keep_future=keep_branch, caller=read_caller(action)
            )
            kept = await services.read_snapshot(store.list_messages, thread_id, last=1)
        except StateError as error:
            return page_state.report_problem(str(error)), False
        return page_state.build_update(fill=_find_removed_prompt(before, kept, f"{thread_id}:{done.version}")), False


def _register_checkpoint_deletion(app: Dash, services: Services) -> None:
    @app.callback(
        page_state.update_output(),
        Output(Ids.DELETE_DIALOG, "is_open", allow_duplicate=True),
        Input(f"{Ids.DELETE_DIALOG}-confirm", "n_clicks"),
        State(Ids.LIST, "action"),
        State(page_state.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def confirm_deletion(_: int, action: dict[str, Any], pathname: str) -> tuple[page_state.PageUpdate, bool]:
        thread_id = page_state.parse_thread_id(pathname)
        if thread_id is None:  # the browser went back while the dialog stood open
            return page_state.build_update(), False
        try:
            await services.apply_change(
                services.store.delete_checkpoint, thread_id, action["checkpoint"], caller=read_caller(action)
            )
        except StateError as error:
            return page_state.report_problem(str(error)), False
        return page_state.build_update(), False


MAX_PROMPT_SEARCH_MESSAGES = 200  # messages from the end among which the cut-off prompt is looked for


def _find_removed_prompt(before: list[Message], kept: list[Message], key: str) -> dict[str, str]:
    """The last thing that the user had asked, if the restore took it away."""
    depth = kept[-1].depth if kept else -1
    asked = [m for m in before if m.depth > depth and m.type == "human" and m.agent == MAIN]
    return {"key": key, "text": str(asked[-1].langchain.text) if asked and not asked[-1].damaged else ""}


def _read_timeline(services: Services, thread_id: str | None) -> dict[str, Any]:
    nothing: dict[str, Any] = {"thread": None, "version": 0, "checkpoints": [], "branches": []}
    store = services.store
    try:
        thread = store.get_thread(thread_id) if thread_id else None
    except ThreadNotFoundError:
        thread = None
    if thread is None:
        return {**nothing, "save": {"enabled": False, "reason": NOTHING_TO_SAVE}}
    checkpoints, shared = store.list_checkpoints(thread.id), store.count_shared_messages(thread.id)
    standing = [c.id for c in checkpoints if c.node is not None and c.node.id == thread.head_id]
    return {
        "thread": thread.id,
        "version": thread.version,
        "checkpoints": [message_view.describe_checkpoint(c, is_current=c.id in standing[-1:]) for c in checkpoints],
        "branches": [
            message_view.describe_branch(b, length, shared[b.id], thread.branch_id)
            for b, length in store.list_branches(thread.id)
        ],
        "save": {"enabled": thread.head_id is not None, "reason": None if thread.head_id else NOTHING_TO_SAVE},
    }
