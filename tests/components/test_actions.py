"""Every action that the browser reports has one handler, and an error of it reaches the user."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from checkpoints import ConflictError
from components import page
from components.actions import Action, ActionList, Answer, Handlers, run_action
from components.shapes import MalformedRequestError

MODULES = Path(__file__).parents[2] / "assets" / "modules"
ROOMS = {  # of the modules that report the actions of a list
    "threads": ("threads/*.mjs",),
    "composer-panel": ("composer/*.mjs",),
    "transcript": ("transcript/*.mjs", "message/*.mjs"),
    "history": ("history/*.mjs",),
    "log": (),
    "toast": (),
    "settings": ("settings/*.mjs",),
    "trouble": ("page/outage.mjs",),
}
SENT = re.compile(r'\b(?:act|open|go)\("([a-z-]+)"|\bbutton\("\w+", "(?!btn-)([a-z-]+)"|\btype: "(send|stop)"')
PRESSED = re.compile(r'sendOnce\("([a-z-]+)", { type: "([a-z-]+)"')  # buttons of no list: assets/modules/page/undoing.mjs
LISTS = page.build_lists(page.PANELS)
SERVICES: Any = None
FIELDS = {"type": "move", "request_id": "an-operation", "version": 3}


def read_modules(list_id: str) -> str:
    return "".join(path.read_text() for pattern in ROOMS[list_id] for path in MODULES.glob(pattern))


def run(handlers: Handlers, **fields: Any) -> Answer:
    action = Action.parse({**FIELDS, **fields}, "thread")
    return asyncio.run(run_action(SERVICES, ActionList("a list", handlers), action))


def list_pressed(list_id: str) -> set[str]:
    pressing = "".join((MODULES / "page" / name).read_text() for name in ("undoing.mjs", "outage.mjs"))
    return {kind for name, kind in PRESSED.findall(pressing) if name == list_id}


@pytest.mark.parametrize("list_id", ROOMS)
def test_every_action_that_the_browser_sends_has_a_handler(list_id: str) -> None:
    sent = {kind for found in SENT.findall(read_modules(list_id)) for kind in found if kind} | list_pressed(list_id)
    assert sent
    assert sent - set(LISTS[list_id].handlers) == set()


@pytest.mark.parametrize("list_id", ROOMS)
def test_every_handler_is_for_an_action_that_the_browser_knows(list_id: str) -> None:
    modules = read_modules(list_id)
    known = list_pressed(list_id)
    assert [kind for kind in LISTS[list_id].handlers if f'"{kind}"' not in modules and kind not in known] == []


def test_a_handler_gets_the_caller_that_the_action_names() -> None:
    async def answer(_: object, action: Action) -> Answer:
        return Answer(reply=(action.thread_id, action.caller.request_id, action.caller.expected_version))

    assert run({"move": answer}).reply == ("thread", "an-operation", 3)


def test_a_refusal_becomes_a_toast() -> None:
    async def refuse(*_: object) -> Answer:
        raise ConflictError("thread", 1, 2)

    update = run({"move": refuse}).update
    assert update is not None
    assert "changed elsewhere" in update["toast"]["text"]


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(MalformedRequestError, match="type"):
        run({}, type="vanish")
