"""The checkpoints of a conversation: save, rename, pin, delete; `restore_dialog` restores them. And the list of branches."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from dash import Dash, html
from dash.development.base_component import Component

from checkpoints import Checkpoint, Store, Thread, ThreadNotFoundError
from components import dialog, page_state
from components.actions import Action, Answer, Handlers
from components.panel import Panel
from components.services import Services
from components.turns import DataChange, Turn, TurnChanges
from components.views import list_rows
from components.widgets import HISTORY_ID, History

PORTION_CHECKPOINTS = 200  # the newest, the pinned and the current one; each "Show earlier" adds as many
PORTION_BRANCHES = 100  # the newest, and the current one; each "Show earlier" adds as many
NOTHING_TO_SAVE = "There is nothing to save yet: start a conversation first."


class Ids(StrEnum):
    LIST = HISTORY_ID
    DELETE_DIALOG = "delete-checkpoint"


def layout() -> Component:
    return History(id=Ids.LIST)


def dialogs() -> list[Component]:
    return [dialog.build_confirmation(Ids.DELETE_DIALOG, "Delete this checkpoint?", "Delete")]


def build_checkpoint_deletion(checkpoint: Checkpoint) -> list[Component]:
    return [
        html.P(["“", html.Strong(checkpoint.name), "” will be removed. The messages and all other checkpoints stay."]),
        html.P("You can undo this.", className="quiet"),
    ]


SHOWN = ((Ids.LIST, "data"),)


def show(services: Services, location: page_state.PageLocation) -> tuple[dict[str, Any]]:
    return (_read_history(services, location.thread_id),)


def show_turn(_: Services, turn: Turn) -> TurnChanges:
    length = turn.messages[-1].depth + 1 if turn.messages else 0
    change: DataChange = {"fields": {"version": turn.thread.version, "save": _describe_saving(turn.thread)}}
    if turn.thread.version > turn.base_version:  # the head is at a new message
        branch = {"id": turn.thread.branch_id, "messages": length, "shared": length}
        change |= {"items": {"branches": [branch]}, "every": {"checkpoints": {"here": False}}}
    return TurnChanges({}, {Ids.LIST: change})


def register(app: Dash, services: Services) -> None:
    async def confirm_deletion(subject: dialog.Subject) -> page_state.PageUpdate:
        checkpoint_id = subject.fields["checkpoint"]
        await services.apply_change(
            services.store.delete_checkpoint, subject.thread_id, checkpoint_id, caller=subject.caller
        )
        return page_state.build_update()

    dialog.register_confirmation(app, Ids.DELETE_DIALOG, confirm_deletion)


async def _open_deletion_dialog(services: Services, action: Action) -> Answer:
    thread_id, checkpoint_id = action.thread_id, action.fields["checkpoint"]
    checkpoint = await services.read_snapshot(services.store.get_checkpoint, thread_id, checkpoint_id)
    subject = dialog.Subject.of(action.fields, thread_id)
    dialog.open_confirmation(Ids.DELETE_DIALOG, subject, build_checkpoint_deletion(checkpoint))
    return Answer()


async def _save_checkpoint(services: Services, action: Action) -> Answer:
    """Save the current state, with the tokens of its context."""
    thread_id, fields, inputs = action.thread_id, action.fields, services.runner.inputs
    name, description = fields.get("name") or None, fields.get("description") or ""
    tokens = await services.read_snapshot(inputs.count_tokens, thread_id)
    await services.apply_change(
        services.store.save, thread_id, name=name, description=description, tokens=tokens, caller=action.caller
    )
    return Answer(page_state.build_update())


async def _change_checkpoint(services: Services, action: Action) -> Answer:
    changed = {name: action.fields[name] for name in ("name", "description", "pinned") if name in action.fields}
    change, checkpoint_id = services.store.change_checkpoint, action.fields["checkpoint"]
    await services.apply_change(change, action.thread_id, checkpoint_id, **changed, caller=action.caller)
    return Answer(page_state.build_update())


async def _list_more_checkpoints(services: Services, action: Action) -> Answer:
    """Reply with the newest checkpoints that contain the text, as many as the page asks for."""
    count, words = action.fields["count"], action.fields["text"]
    read = services.read_snapshot(_read_checkpoint_portion, services.store, action.thread_id, count, words)
    return Answer(reply={**(await read), "words": words})


async def _list_more_branches(services: Services, action: Action) -> Answer:
    """Reply with the newest branches, as many as the page asks for."""
    return Answer(
        reply=await services.read_snapshot(_read_branch_portion, services.store, action.thread_id, action.fields["count"])
    )


ACTIONS: Mapping[str, Handlers] = {
    Ids.LIST: {
        "checkpoints": _list_more_checkpoints,
        "branches": _list_more_branches,
        "save": _save_checkpoint,
        "change": _change_checkpoint,
        "delete": _open_deletion_dialog,
    }
}


def _read_history(services: Services, thread_id: str | None) -> dict[str, Any]:
    none: dict[str, Any] = {"checkpoints": [], "checkpoint_count": 0, "branches": [], "branch_count": 0}
    nothing = {"thread": None, "version": 0, **none}
    store = services.store
    try:
        thread = store.get_thread(thread_id) if thread_id else None
    except ThreadNotFoundError:
        thread = None
    if thread is None:
        return {**nothing, "save": {"enabled": False, "reason": NOTHING_TO_SAVE}}
    return {
        **_describe_branch_portion(store, thread, PORTION_BRANCHES),
        **_read_checkpoint_portion(store, thread.id, PORTION_CHECKPOINTS),
        "save": _describe_saving(thread),
    }


def _describe_saving(thread: Thread) -> dict[str, Any]:
    return {"enabled": thread.head_id is not None, "reason": None if thread.head_id else NOTHING_TO_SAVE}


def _read_checkpoint_portion(store: Store, thread_id: str, count: int, words: str = "") -> dict[str, Any]:
    portion = store.list_checkpoint_portion(thread_id, count, words)
    rows = [
        list_rows.describe_checkpoint(each, thread_id, is_current=each.id == portion.current_id)
        for each in portion.checkpoints
    ]
    return {"thread": thread_id, "checkpoints": rows, "checkpoint_count": portion.count}


def _read_branch_portion(store: Store, thread_id: str, count: int) -> dict[str, Any]:
    return _describe_branch_portion(store, store.get_thread(thread_id), count)


def _describe_branch_portion(store: Store, thread: Thread, count: int) -> dict[str, Any]:
    """Describe the newest branches and the current one, in their order."""
    branches, shared = store.list_branches(thread.id), store.count_shared_messages(thread.id)
    first = len(branches) - count
    return {
        "thread": thread.id,
        "version": thread.version,
        "branch_count": len(branches),
        "branches": [
            list_rows.describe_branch(branch, length, shared[branch.id], thread.branch_id)
            for place, (branch, length) in enumerate(branches)
            if place >= first or branch.id == thread.branch_id
        ],
    }


PANEL = Panel(register=register, dialogs=dialogs, shown=SHOWN, show=show, show_turn=show_turn, actions=ACTIONS)
