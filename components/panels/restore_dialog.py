"""The restore dialog: its question in numbers, and the restore to a checkpoint or to a message."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dash import html
from dash.development.base_component import Component
from dash_bootstrap_components import Checkbox

from checkpoints import Removal, Store
from components import dialog, page_state
from components.actions import Action, Answer, Handlers
from components.panel import Panel
from components.properties import set_properties
from components.routes.graph_state import describe_changes, find_place_state
from components.services import Services
from components.views import operations
from components.views.channels_view import NO_CHANGES, ChannelChanges
from components.views.places import name_message
from components.views.time_marks import is_user_question
from components.widgets import HISTORY_ID, TRANSCRIPT_ID
from words import N_, _, arrange, ngettext

GRAPH_STATES_TEXT = N_(
    "All values of the graph go back as well. What its tools did in the world stays, and so does its long-term memory "
    "(LangGraph's Store)."
)
UNKNOWN_CHANNEL_TEXT = N_("(the graph has no such value any more)")
# This `kind` of an action restores to before the first message.
BEGINNING = "beginning"
KEEP_ID = "restore-keep"


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """The target of a restore: a checkpoint, or the last message to stay (None: the conversation becomes empty)."""

    # It is the checkpoint's name, or the message's text.
    name: str
    # This many messages stay.
    messages: int
    checkpoint_id: str | None = None
    message_id: str | None = None
    # The user's message is removed too, and its text returns to the composer.
    is_asked_again: bool = False

    def find_state(self, store: Store, thread_id: str) -> int | None:
        """Return the id of the graph's state after the restore; None without a state."""
        if self.checkpoint_id is not None:
            return find_place_state(store, thread_id, f"checkpoint:{self.checkpoint_id}")
        return store.find_state(thread_id, self.message_id)

    def preview_removal(self, store: Store, thread_id: str) -> Removal:
        if self.checkpoint_id is not None:
            return store.preview_removal(thread_id, self.checkpoint_id)
        return store.preview_message_removal(thread_id, self.message_id)


def _build_options() -> list[Component]:
    return [Checkbox(id=KEEP_ID, name="keep", label=_("Keep the removed messages as a branch"), value=False)]


def find_target(store: Store, thread_id: str, fields: Mapping[str, Any]) -> RestoreTarget:
    """Return the target of an action. For a user's message, it is the message before it."""
    if "checkpoint" in fields:
        checkpoint = store.get_checkpoint(thread_id, fields["checkpoint"])
        return RestoreTarget(checkpoint.name, checkpoint.message_count, checkpoint_id=checkpoint.id)
    if fields.get("kind") == BEGINNING:
        return RestoreTarget(_("Beginning"), 0)
    message = store.get_message(thread_id, fields["message"])
    text = name_message(message)
    if is_user_question(message):
        return RestoreTarget(text, message.depth, message_id=message.parent_id, is_asked_again=True)
    last = store.find_last_result(thread_id, message)
    return RestoreTarget(text, last.depth + 1, message_id=last.id)


def build_restore_question(
    target: RestoreTarget,
    removal: Removal,
    *,
    running: bool,
    has_states: bool = False,
    channels: ChannelChanges = NO_CHANGES,
) -> list[Component]:
    """Describe the effect of a restore: numbers from the store, and the values of a graph before and after."""
    loss = (
        _("{removal} will be removed from the conversation.", removal=operations.describe_removal(removal))
        if removal.messages or removal.checkpoints
        else _("No messages will be removed.")
    )
    where = (
        ngettext(
            "Go back to before your message “{name}” ({count:,} message).",
            "Go back to before your message “{name}” ({count:,} messages).",
            target.messages,
            name="{name}",
        )
        if target.is_asked_again
        else ngettext(
            "Go back to “{name}” ({count:,} message).",
            "Go back to “{name}” ({count:,} messages).",
            target.messages,
            name="{name}",
        )
    )
    return [
        html.P(arrange(where, name=html.Strong(target.name or _("(no text)")))),
        html.P(loss, className="loss"),
        *([html.P(_("The running answer will be stopped and removed as well."))] if running else []),
        *([html.P(_("Your message returns to the field, if that is empty."))] if target.is_asked_again else []),
        *_list_channel_changes(channels),
        *([html.P(_(GRAPH_STATES_TEXT))] if has_states else []),
        html.P(_("Restoring can be undone, also after a reload."), className="quiet"),
    ]


def _list_channel_changes(channels: ChannelChanges) -> list[Component]:
    if not channels["changes"]:
        return [html.P(channels["problem"])] if channels["problem"] else []
    rows = [
        html.Li(
            [
                html.Code(each["name"]),
                f": {each['before']} → {each['after']}",
                *([f" {_(UNKNOWN_CHANNEL_TEXT)}"] if each["is_unknown"] else []),
            ]
        )
        for each in channels["changes"]
    ]
    rest = (
        [html.P(ngettext("… and {count:,} other value.", "… and {count:,} other values.", channels["more"]))]
        if channels["more"]
        else []
    )
    return [html.P(_("These values of the graph change:")), html.Ul(rows, className="channel-changes"), *rest]


async def _open_restore_dialog(services: Services, action: Action) -> Answer:
    thread_id = action.thread_id
    title, question = await services.read_snapshot(_read_question, services, thread_id, action.fields)
    set_properties(f"{RESTORE.identifier}-title", {"children": title})
    set_properties(KEEP_ID, {"value": False})
    RESTORE.open(thread_id, action.fields, question)
    return Answer()


def _read_question(services: Services, thread_id: str, fields: Mapping[str, Any]) -> tuple[str, list[Component]]:
    """Return the dialog's title and its question."""
    store = services.store
    target, removal = _read_target(store, thread_id, fields)
    before, after = store.get_thread(thread_id).state_id, target.find_state(store, thread_id)
    channels = describe_changes(store, services.runner, thread_id, before, after)
    running, has_states = thread_id in services.runs.list_running_threads(), store.has_states(thread_id)
    question = build_restore_question(target, removal, running=running, has_states=has_states, channels=channels)
    return _name_question(target), question


def _name_question(target: RestoreTarget) -> str:
    if target.checkpoint_id:
        return _("Restore this checkpoint?")
    return _("Restore to this message?") if target.message_id or target.is_asked_again else _("Restore to the beginning?")


async def _confirm_restore(services: Services, action: Action) -> Answer:
    """Restore as the dialog asks. Stop a running answer first, so its text causes no conflict."""
    store, fields, thread_id = services.store, action.fields, action.fields["thread"]
    await services.runner.stop(thread_id)
    target, removal = await services.read_snapshot(_read_target, store, thread_id, fields)
    change: Any = store.restore_message if target.checkpoint_id is None else store.restore
    place, keep_future = target.checkpoint_id or target.message_id, bool(fields.get("keep"))
    done = await services.apply_change(change, thread_id, place, keep_future=keep_future, caller=action.caller)
    return Answer(page_state.build_update(fill=page_state.fill_composer(thread_id, done.version, removal.first_prompt)))


def _read_target(store: Store, thread_id: str, fields: Mapping[str, Any]) -> tuple[RestoreTarget, Removal]:
    target = find_target(store, thread_id, fields)
    return target, target.preview_removal(store, thread_id)


ACTIONS: Mapping[str, Handlers] = {
    HISTORY_ID: {"restore": _open_restore_dialog},
    TRANSCRIPT_ID: {"restore": _open_restore_dialog},
}
RESTORE = dialog.Confirmation(
    "restore-dialog", N_("Restore this checkpoint?"), N_("Restore"), _confirm_restore, _build_options
)
PANEL = Panel(confirmations=[RESTORE], actions=ACTIONS)
