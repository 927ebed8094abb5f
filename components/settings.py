"""What is chosen for one conversation: the button in its head, and what the dialog behind it shows and saves.

The dialog is made by the browser when it is first opened. What is chosen before the first message stays in the browser and
comes along with that message.
"""

from enum import StrEnum
from typing import Any

from dash import Dash, Input, Output, State, no_update
from dash.development.base_component import Component

from agent.choice import LONGEST_INSTRUCTIONS, Choice, told
from checkpoints import By, ConflictError, StateError, ThreadNotFoundError
from components import head
from components.services import Services, asked_by
from components.widgets import Settings

CHANGED_ELSEWHERE = (
    "These settings were changed elsewhere in the meantime. Yours still stand here; save again to put them in their place."
)


class Ids(StrEnum):
    SETTINGS = "settings"


def buttons() -> list[Component]:
    """What stands in the head of the conversation."""
    return [Settings(id=Ids.SETTINGS)]


def register(app: Dash, services: Services) -> None:
    @app.callback(
        head.output(),
        Output(Ids.SETTINGS, "data"),
        Output(Ids.SETTINGS, "reply"),
        Input(Ids.SETTINGS, "action"),
        State(head.Ids.URL, "pathname"),
        prevent_initial_call=True,
    )
    async def act(action: dict[str, Any], pathname: str) -> tuple[Any, Any, Any]:
        """Saving is about the conversation that the dialog was opened for, wherever the page stands by now."""
        reply = {"op": action["op"], "ok": True, "text": None}
        try:
            if action["type"] == "open":
                thread_id = head.thread_at(pathname)
                return no_update, {**await services.read(_read, services, thread_id), "op": action["op"]}, no_update
            return await _save(services, action), no_update, reply
        except ConflictError:
            now = await services.read(_read, services, action["thread"])
            return no_update, no_update, {**reply, "ok": False, "text": CHANGED_ELSEWHERE, "choice": now["choice"]}
        except StateError as error:
            return no_update, no_update, {**reply, "ok": False, "text": str(error)}


def _read(services: Services, thread_id: str | None) -> dict[str, Any]:
    try:
        choice = Choice.of(services.store.thread(thread_id)) if thread_id else Choice()
    except ThreadNotFoundError:  # its address is left, and the next message begins another
        thread_id, choice = None, Choice()
    names = [{"name": name, "demo": services.demo(name)} for name in services.models.names]
    chosen = {"model": choice.model, "instructions": choice.instructions, "time_travel": choice.time_travel}
    general = {"default": services.models.default, "time_travel": services.runner.time_travel}
    return {"thread": thread_id, "choice": chosen, "models": names, **general, "longest": LONGEST_INSTRUCTIONS}


async def _save(services: Services, action: dict[str, Any]) -> head.Head:
    """Change what the user changed, and nothing that they left as it was."""
    thread_id, given, seen = str(action["thread"]), dict(action["choice"]), dict(action["seen"])
    before = Choice.of(await services.read(services.store.thread, thread_id))
    values = before.changed(given, services.models).since(before)
    if not values:
        return head.moved()
    by, known = By(request=asked_by(action).request), {key: str(seen.get(key, "")) for key in values}
    done = await services.change(services.store.change_settings, thread_id, values, note=told(values), seen=known, by=by)
    return head.moved(toast={"text": f"Set {told(values)}", "undo": {"thread": thread_id, "version": done.version}})
