"""Undo and redo of every change, and clearing the conversation: the buttons in the bar and its menu.

A press of Undo or Redo is an action of the log: assets/modules/page/undoing.mjs.
"""

from enum import StrEnum
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from checkpoints import Removal, Run, RunState, Store, ThreadNotFoundError
from components import dialog, page_state
from components.actions import Action, Answer
from components.panel import Panel
from components.properties import Properties
from components.services import Services
from components.streams.turns import Turn, TurnChanges, is_model_title
from components.views import operations
from components.views.names import add_name
from components.widgets import HISTORY_ID, Icon, build_menu_item
from components.write_access import describe_read_only
from words import N_, _

# The keys are pressed with Control, on a Mac with Command (assets/modules/page/keys.mjs).
UNDO_KEYS, REDO_KEYS = "Alt+Z", "Shift+Alt+Z"
STOP_FIRST_HINT = N_("Stop the running answer first")


class Ids(StrEnum):
    CLEAR_BUTTON = "clear"
    # The items that change all of the conversation: there are none on the start page.
    CHANGES = "more-changes"
    UNDO = "undo"
    REDO = "redo"
    # The buttons name changes of this thread and version.
    SHOWN_STATE = "undo-state"


def bar_buttons() -> list[Component]:
    undo = _build_button("undo", Ids.UNDO, _("Undo last change"), UNDO_KEYS)
    return [undo, _build_button("redo", Ids.REDO, _("Redo"), REDO_KEYS, class_name="when-roomy")]


def _build_button(icon: str, identifier: str, name: str, keys: str, class_name: str | None = None) -> Component:
    named: Any = {"aria-label": name, "aria-keyshortcuts": f"Control+{keys} Meta+{keys}"}
    return html.Button(Icon(name=icon), id=identifier, className=class_name, title=name, disabled=True, **named)


def build_clear_item() -> Component:
    return build_menu_item("trash3", _("Clear conversation"), Ids.CLEAR_BUTTON, disabled=True)


def dialogs() -> list[Component]:
    return [dcc.Store(id=Ids.SHOWN_STATE)]


def build_clear_question(messages: int, checkpoints: int) -> list[Component]:
    return [
        html.P(
            _(
                "{removal} will be removed from the conversation.",
                removal=operations.describe_removal(Removal(messages, checkpoints)),
            ),
            className="loss",
        ),
        html.P(_("You can undo this."), className="quiet"),
    ]


def show(services: Services, location: page_state.PageLocation) -> Properties:
    shown_state, undo, redo, length = _read_undo_state(services.store, location.thread_id)
    if shown_state is not None and (read_only := describe_read_only(services.store, shown_state["thread"])):
        return _disable_buttons(shown_state, read_only, is_clear_disabled=True)
    run = services.runs.get_latest_run(location.thread_id) if location.thread_id and length else None
    return _describe_buttons(shown_state, undo, redo, run, is_empty=length == 0)


def show_turn(services: Services, turn: Turn) -> TurnChanges:
    """Show the buttons after a turn: it can be undone, and nothing can be redone."""
    newest = next((each for each in turn.operations if not is_model_title(each)), None)
    if newest is not None and describe_read_only(services.store, turn.thread.id) is None:
        shown_state: page_state.UndoTarget = {"thread": turn.thread.id, "version": turn.thread.version}
        undo = add_name(operations.describe_undo(newest), newest)
        return TurnChanges(_describe_buttons(shown_state, undo, None, turn.run, is_empty=False), {})
    # The turn wrote nothing itself, or the thread is read-only.
    return TurnChanges(show(services, page_state.PageLocation(turn.thread.id, {})), {})


def _describe_buttons(
    shown_state: page_state.UndoTarget | None, undo: str | None, redo: str | None, run: Run | None, *, is_empty: bool
) -> Properties:
    if run and run.state is RunState.RUNNING:
        return _disable_buttons(shown_state, _(STOP_FIRST_HINT), is_clear_disabled=is_empty)
    undo_title = _("Undo {undo} (Ctrl+Alt+Z)", undo=undo) if undo else _("Nothing to undo")
    redo_title = _("Redo {redo} (Ctrl+Alt+Shift+Z)", redo=redo) if redo else _("Nothing to redo")
    return {
        Ids.UNDO: {"disabled": undo is None, "title": undo_title},
        Ids.REDO: {"disabled": redo is None, "title": redo_title},
        Ids.CLEAR_BUTTON: {"disabled": is_empty},
        Ids.CHANGES: {"hidden": shown_state is None},
        Ids.SHOWN_STATE: {"data": shown_state},
    }


def _disable_buttons(shown_state: page_state.UndoTarget | None, reason: str, *, is_clear_disabled: bool) -> Properties:
    step = {"disabled": True, "title": reason}
    return {
        Ids.UNDO: step,
        Ids.REDO: step,
        Ids.CLEAR_BUTTON: {"disabled": is_clear_disabled},
        Ids.CHANGES: {"hidden": False},
        Ids.SHOWN_STATE: {"data": shown_state},
    }


async def _open_clear_dialog(services: Services, action: Action) -> Answer:
    thread_id = action.thread_id
    version, messages, checkpoints = await services.read_snapshot(_read_clear_preview, services.store, thread_id)
    question = build_clear_question(messages, checkpoints)
    CLEARING.open(thread_id, {**action.fields, "version": version}, question)
    return Answer()


async def _confirm_clear(services: Services, action: Action) -> Answer:
    """Clear the conversation, after stopping a running answer."""
    thread_id = action.fields["thread"]
    await services.runner.stop(thread_id)
    await services.apply_change(services.store.clear, thread_id, caller=action.caller)
    return Answer(page_state.build_update())


def _read_clear_preview(store: Store, thread_id: str) -> tuple[int, int, int]:
    """Return a thread's version and its numbers of messages and checkpoints."""
    version, messages = store.get_thread(thread_id).version, store.count_messages(thread_id)
    return version, messages, len(store.list_checkpoints(thread_id))


def _read_undo_state(
    store: Store, thread_id: str | None
) -> tuple[page_state.UndoTarget | None, str | None, str | None, int]:
    """Return the thread's state, the descriptions of the next undo and redo, and the number of messages."""
    if thread_id is None:
        return None, None, None, 0
    try:
        version, length = store.get_thread(thread_id).version, store.count_messages(thread_id)
    except ThreadNotFoundError:
        return None, None, None, 0
    undone = store.find_redoable(thread_id)
    redoable = store.get_operation(thread_id, undone.target, abridged=True) if undone and undone.target else None
    undoable = store.find_undoable(thread_id)
    undo = add_name(operations.describe_undo(undoable), undoable)
    redo = add_name(operations.describe_undo(redoable), redoable)
    return {"thread": thread_id, "version": version}, undo, redo, length


CLEARING = dialog.Confirmation("clear-dialog", N_("Clear this conversation?"), N_("Clear"), _confirm_clear)
ACTIONS = {HISTORY_ID: {"clear": _open_clear_dialog}}
PANEL = Panel(dialogs=dialogs, confirmations=[CLEARING], actions=ACTIONS, show=show, show_turn=show_turn)
