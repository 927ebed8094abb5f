"""The restore dialog: its question in numbers, and the restore of a checkpoint."""

from enum import StrEnum

from dash import Dash, State, html
from dash.development.base_component import Component
from dash_bootstrap_components import Checkbox

from checkpoints import Checkpoint, Removal, pluralize
from components import dialog, page_state
from components.actions import Action, Answer
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from components.views import operations
from components.widgets import HISTORY_ID


class Ids(StrEnum):
    DIALOG = "restore-dialog"
    KEEP_BRANCH = "restore-keep"


def dialogs() -> list[Component]:
    keep = Checkbox(id=Ids.KEEP_BRANCH, label="Keep the removed messages as a branch", value=False)
    return [dialog.build_confirmation(Ids.DIALOG, "Restore this checkpoint?", "Restore", keep)]


def build_restore_question(checkpoint: Checkpoint, removal: Removal, *, running: bool) -> list[Component]:
    """Describe the effect of restoring, in numbers from the store."""
    loss = (
        f"{operations.describe_removal(removal)} will be removed from the conversation."
        if removal.messages or removal.checkpoints
        else "No messages will be removed."
    )
    return [
        html.P(["Go back to “", html.Strong(checkpoint.name), f"” ({pluralize(checkpoint.message_count, 'message')})."]),
        html.P(loss, className="loss"),
        *([html.P("The running answer will be stopped and removed as well.")] if running else []),
        html.P("Restoring can be undone, also after a reload.", className="quiet"),
    ]


def register(app: Dash, services: Services) -> None:
    store = services.store

    async def confirm_restore(subject: dialog.Subject, keep_branch: bool) -> page_state.PageUpdate:
        """Stop a running answer first. Its text is no conflict with the restore."""
        thread_id, checkpoint_id = subject.thread_id, subject.fields["checkpoint"]
        await services.runner.stop(thread_id)
        removal = await services.read_snapshot(store.preview_removal, thread_id, checkpoint_id)
        done = await services.apply_change(
            store.restore, thread_id, checkpoint_id, keep_future=keep_branch, caller=subject.caller
        )
        return page_state.build_update(fill=page_state.fill_composer(thread_id, done.version, removal.first_prompt))

    dialog.register_confirmation(app, Ids.DIALOG, confirm_restore, State(Ids.KEEP_BRANCH, "value"))


async def _open_restore_dialog(services: Services, action: Action) -> Answer:
    thread_id, checkpoint_id = action.thread_id, action.fields["checkpoint"]
    checkpoint, removal, running = await services.read_snapshot(_read_restore_preview, services, thread_id, checkpoint_id)
    set_properties(Ids.KEEP_BRANCH, {"value": False})
    question = build_restore_question(checkpoint, removal, running=running)
    dialog.open_confirmation(Ids.DIALOG, dialog.Subject.of(action.fields, thread_id), question)
    return Answer()


def _read_restore_preview(services: Services, thread_id: str, checkpoint_id: str) -> tuple[Checkpoint, Removal, bool]:
    checkpoint = services.store.get_checkpoint(thread_id, checkpoint_id)
    removal = services.store.preview_removal(thread_id, checkpoint_id)
    return checkpoint, removal, thread_id in services.runs.list_running_threads()


PANEL = Panel(register=register, dialogs=dialogs, actions={HISTORY_ID: {"restore": _open_restore_dialog}})
