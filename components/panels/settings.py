"""The settings of a conversation: the item of the bar's menu, and the data of its dialog.

The browser builds the dialog when it first opens. Settings chosen before the first message stay in the browser, and are sent
with that message.
"""

from dataclasses import asdict
from enum import StrEnum
from typing import Any

from dash.development.base_component import Component

from agent.models.parameters import PARAMETER_RANGES, REASONING_EFFORTS
from agent.settings import ThreadSettings
from checkpoints import ConflictError, StateError, ThreadNotFoundError
from checkpoints.values.limits import MAX_EXTRA_BODY_CHARS, MAX_INSTRUCTIONS_CHARS
from components import page_state
from components.actions import Action, Answer
from components.model_choice import list_models
from components.panel import Panel
from components.properties import set_properties
from components.services import Services
from components.views import operations
from components.widgets import SettingsButton
from components.write_access import describe_read_only
from words import N_, _

CONFLICT_NOTICE = N_(
    "These settings were changed elsewhere in the meantime. Your version is still here; save again to replace them."
)


class Ids(StrEnum):
    SETTINGS = "settings"


def buttons() -> list[Component]:
    return [SettingsButton(id=Ids.SETTINGS)]


async def _open_settings(services: Services, action: Action) -> Answer:
    shown = await services.read_snapshot(_read_thread_settings, services, action.page_thread_id)
    set_properties(Ids.SETTINGS, {"data": {**shown, "request_id": action.fields["request_id"]}})
    return Answer()


async def _save_settings(services: Services, action: Action) -> Answer:
    """Change the settings of the dialog's conversation, even if the page shows another conversation by now."""
    thread_id, choice = action.fields.get("thread"), action.fields["choice"]
    if thread_id is None:
        # The browser keeps the settings for the first message; they are only checked here.
        ThreadSettings().with_changes(choice, services.models, services.runner.graphs)
        return Answer(reply=action.accept())
    try:
        return Answer(await _save_thread_settings(services, thread_id, action), action.accept())
    except ConflictError:
        now = await services.read_snapshot(_read_thread_settings, services, thread_id)
        return Answer(reply={**action.refuse(_(CONFLICT_NOTICE)), "choice": now["choice"]})


async def _choose_model(services: Services, action: Action) -> Answer:
    """Change the model of a conversation at once. No dialog keeps the choice, so a refusal is a toast."""
    try:
        return Answer(await _save_thread_settings(services, action.fields["thread"], action))
    except StateError as error:
        return Answer(page_state.report_problem(str(error)))


def refuse_settings(action: Action, error: StateError) -> Answer:
    """Reply to the dialog with the reason. The dialog keeps the choice."""
    return Answer(reply=action.refuse(error))


def _read_thread_settings(services: Services, thread_id: str | None) -> dict[str, Any]:
    try:
        choice = ThreadSettings.from_thread(services.store.get_thread(thread_id)) if thread_id else _make_new(services)
    except ThreadNotFoundError:
        # The address of the missing thread remains, and the next message begins a new thread.
        thread_id, choice = None, _make_new(services)
    defaults = {name: value for name, value in asdict(services.models.parameters).items() if value is not None}
    if "extra_body" in defaults:
        # `extra_body` may hold any text, such as a key.
        defaults["extra_body"] = _("set for the app")
    general = {"default": services.models.default_spec, "time_travel": services.runner.default_policy}
    return {
        "thread": thread_id,
        "choice": asdict(choice),
        "defaults": defaults,
        "efforts": REASONING_EFFORTS,
        "ranges": {name: {"min": lowest, "max": highest} for name, (lowest, highest) in PARAMETER_RANGES.items()},
        "read_only": describe_read_only(services.store, thread_id),
        "models": list_models(services, with_graphs=thread_id is None),
        **general,
        "max_chars": {"instructions": MAX_INSTRUCTIONS_CHARS, "extra_body": MAX_EXTRA_BODY_CHARS},
    }


def _make_new(services: Services) -> ThreadSettings:
    """Return the settings for the conversation of the next message."""
    return ThreadSettings(graph=services.runner.graphs.default)


async def _save_thread_settings(services: Services, thread_id: str, action: Action) -> page_state.PageUpdate:
    """Store only settings changed by the user. Stored values must still equal those in `seen`, if it is given."""
    chosen, seen = action.fields["choice"], action.fields.get("seen")
    before = ThreadSettings.from_thread(await services.read_snapshot(services.store.get_thread, thread_id))
    values = before.with_changes(chosen, services.models).changes_since(before)
    if not values:
        return page_state.build_update()
    known = None if seen is None else {key: str(seen.get(key, "")) for key in values}
    done = await services.apply_change(
        services.store.change_settings, thread_id, values, expected=known, caller=action.unversioned_caller
    )
    return page_state.build_update(
        toast={
            "text": _("Set {values}", values=operations.describe_settings(values)),
            "undo": {"thread": thread_id, "version": done.version},
        }
    )


PANEL = Panel(
    buttons=buttons, actions={Ids.SETTINGS: {"open": _open_settings, "save": _save_settings, "choose": _choose_model}}
)
