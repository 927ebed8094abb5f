"""The checkpoints of a conversation (save, rename, pin, delete), and the list of branches. `restore_dialog` restores."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from dash import html
from dash.development.base_component import Component

from checkpoints import Branch, Checkpoint, Store, Thread, ThreadNotFoundError
from checkpoints.tree_reader import Fork, read_fork, read_questions, read_tree
from checkpoints.values import text
from components import dialog, page_state
from components.actions import Action, Answer, Handlers
from components.panel import Panel
from components.properties import Properties
from components.services import Services
from components.streams.turns import DataChange, Turn, TurnChanges
from components.views import history_tree, list_rows
from components.views.names import name_other
from components.widgets import HISTORY_ID, History
from components.write_access import describe_read_only
from words import N_, _, arrange

# A portion holds the newest checkpoints or branches, besides the current and the pinned ones.
# Each "Show earlier" adds as many.
PORTION_CHECKPOINTS = 200
PORTION_BRANCHES = 100
NO_HISTORY: Mapping[str, Any] = {
    **{"thread": None, "version": 0, "branch_count": 0, "checkpoint_count": 0, "removed": None},
    **{name: [] for name in ("branches", "checkpoints", "segments", "elsewhere", "moves", "alternatives")},
    "has_states": False,
}
NOTHING_TO_SAVE = N_("There is nothing to save yet: start a conversation first.")


class Ids(StrEnum):
    LIST = HISTORY_ID


def layout() -> Component:
    return History(id=Ids.LIST)


def build_checkpoint_deletion(checkpoint: Checkpoint) -> list[Component]:
    return [
        html.P(
            arrange(
                _("“{name}” will be removed. The messages and all other checkpoints stay."),
                name=html.Strong(checkpoint.name),
            )
        ),
        html.P(_("You can undo this."), className="quiet"),
    ]


def show(services: Services, location: page_state.PageLocation) -> Properties:
    return {Ids.LIST: {"data": _read_history(services, location.thread_id)}}


def show_turn(services: Services, turn: Turn) -> TurnChanges:
    has_states = services.store.has_states(turn.thread.id)
    read_only = describe_read_only(services.store, turn.thread.id)
    marks = {"save": _describe_saving(turn.thread, read_only), "has_states": has_states, "read_only": read_only}
    change: DataChange = {"fields": {"version": turn.thread.version, **marks}}
    if turn.thread.version > turn.base_version and turn.messages:
        # The head is at a new message.
        head = turn.messages[-1]
        place = {"segment": head.segment, "messages": head.depth + 1, "message": head.id}
        branch = {"id": turn.thread.branch_id, **place, "shared": head.depth + 1, "next_words": ""}
        change["fields"] = {**change["fields"], "removed": None}
        items = {"branches": [branch], "segments": _find_new_segments(services.store, turn)}
        change |= {"items": items, "every": {"checkpoints": {"here": False, "stands": False}}}
    return TurnChanges({}, {Ids.LIST: change})


def _find_new_segments(store: Store, turn: Turn) -> list[dict[str, Any]]:
    """Describe the turn's new segment; empty if the head was at the end of a segment."""
    first = next(message for message in turn.messages if message.segment == turn.messages[-1].segment)
    if turn.run is None or first.run_id != turn.run.id:
        return []
    parent, length = read_fork(store, turn.thread.id, first.segment)
    if length != first.depth:
        return []
    fork = None if parent is None else Fork(parent, length, first.parent_id or "")
    questions = read_questions(store, turn.thread.id, first.segment)
    return [history_tree.describe_segment(questions, first.segment, fork)]


async def _open_deletion_dialog(services: Services, action: Action) -> Answer:
    thread_id, checkpoint_id = action.thread_id, action.fields["checkpoint"]
    checkpoint = await services.read_snapshot(services.store.get_live_checkpoint, thread_id, checkpoint_id)
    DELETION.open(thread_id, action.fields, build_checkpoint_deletion(checkpoint))
    return Answer()


async def _confirm_deletion(services: Services, action: Action) -> Answer:
    thread_id, checkpoint_id = action.fields["thread"], action.fields["checkpoint"]
    await services.apply_change(services.store.delete_checkpoint, thread_id, checkpoint_id, caller=action.caller)
    return Answer(page_state.build_update())


async def _save_checkpoint(services: Services, action: Action) -> Answer:
    """Save the current state, or the state at an earlier message, with the number of tokens in its context."""
    thread_id, fields, store, inputs = action.thread_id, action.fields, services.store, services.runner.inputs
    saved: Any = {"name": fields.get("name") or "", "description": fields.get("description") or "", "caller": action.caller}
    if "message" not in fields:
        tokens = await services.read_snapshot(inputs.count_tokens, thread_id)
        await services.apply_change(store.save, thread_id, tokens=tokens, **saved)
        return Answer(page_state.build_update())
    message_id, tokens = await services.read_snapshot(_read_saved_message, services, thread_id, fields["message"])
    await services.apply_change(store.save_message, thread_id, message_id, tokens=tokens, **saved)
    return Answer(page_state.build_update())


def _read_saved_message(services: Services, thread_id: str, message_id: str) -> tuple[str, int | None]:
    """Return the last message of a message's checkpoint, results of its calls included, and the tokens up to it."""
    store = services.store
    last = store.find_last_result(thread_id, store.get_message(thread_id, message_id))
    return last.id, services.runner.inputs.count_tokens_at(thread_id, last.depth)


async def _change_checkpoint(services: Services, action: Action) -> Answer:
    changed = {name: action.fields[name] for name in ("name", "description", "pinned") if name in action.fields}
    change, checkpoint_id = services.store.change_checkpoint, action.fields["checkpoint"]
    await services.apply_change(change, action.thread_id, checkpoint_id, **changed, caller=action.caller)
    return Answer(page_state.build_update())


async def _read_portion(services: Services, action: Action) -> Answer:
    """Reply with as many portions as the page asks for. A text limits the checkpoints to matches.

    Without a text, the reply includes the checkpoint named by the page.
    """
    portions, words, wanted = action.fields["count"], action.fields["text"], action.fields.get("checkpoint")
    portion = await services.read_snapshot(_read_known_thread, services.store, action.thread_id, portions, words, wanted)
    return Answer(reply={**portion, "words": words})


ACTIONS: Mapping[str, Handlers] = {
    Ids.LIST: {
        "portion": _read_portion,
        "save": _save_checkpoint,
        "change": _change_checkpoint,
        "delete": _open_deletion_dialog,
    },
}


def _read_history(services: Services, thread_id: str | None) -> dict[str, Any]:
    store = services.store
    try:
        thread = store.get_thread(thread_id) if thread_id else None
    except ThreadNotFoundError:
        thread = None
    if thread is None:
        read_only = describe_read_only(store, None)
        return {**NO_HISTORY, "save": {"enabled": False, "reason": read_only or _(NOTHING_TO_SAVE)}, "read_only": read_only}
    read_only = describe_read_only(store, thread.id)
    marks = {"save": _describe_saving(thread, read_only), "has_states": store.has_states(thread.id), "read_only": read_only}
    return {**_describe_portion(store, thread, 1), **marks, "owner": name_other(thread.owner)}


def _describe_saving(thread: Thread, read_only: str | None) -> dict[str, Any]:
    if read_only:
        return {"enabled": False, "reason": read_only}
    is_enabled = thread.head_id is not None or thread.state_id is not None
    return {"enabled": is_enabled, "reason": None if is_enabled else _(NOTHING_TO_SAVE)}


def _read_known_thread(store: Store, thread_id: str, portions: int, words: str, wanted: str | None = None) -> dict[str, Any]:
    return _describe_portion(store, store.get_thread(thread_id), max(1, portions), words, wanted)


def _describe_portion(
    store: Store, thread: Thread, portions: int, words: str = "", wanted: str | None = None
) -> dict[str, Any]:
    """Describe the newest and the current branches, the newest checkpoints, and the tree around them."""
    count = portions * PORTION_CHECKPOINTS
    branches = store.list_branches(thread.id)
    shown = _choose_branches([branch for branch, _ in branches], portions, words, thread.branch_id)
    own = store.list_checkpoint_portion(thread.id, count, words, wanted)
    branch_ids = {branch.id for branch in shown}
    tree = read_tree(store, thread.id, branch_ids, own.checkpoints, count=count // 2, words=words)
    shared = store.count_shared_messages(thread.id)
    return {
        "thread": thread.id,
        "version": thread.version,
        "branch_count": len(branches),
        "branches": [history_tree.describe_branch(tree, each, shared[each.id], thread.branch_id) for each in shown],
        "checkpoints": [list_rows.describe_checkpoint(each, thread.id, own.standing_ids) for each in own.checkpoints],
        "checkpoint_count": own.count,
        **history_tree.describe_tree(tree, thread.id),
    }


def _choose_branches(branches: Sequence[Branch], portions: int, words: str, current_id: str) -> list[Branch]:
    """Return the newest branches, with words those with matching names, and the current branch."""
    named = [branch.id for branch in branches if text.contains(branch.name, words)]
    wanted = {current_id, *named[-portions * PORTION_BRANCHES :]}
    return [branch for branch in branches if branch.id in wanted]


DELETION = dialog.Confirmation("delete-checkpoint", N_("Delete this checkpoint?"), N_("Delete"), _confirm_deletion)
PANEL = Panel(confirmations=[DELETION], show=show, show_turn=show_turn, actions=ACTIONS)
