"""A dialog's question, whose parts are of the same moment."""

import asyncio
from typing import Any

import pytest

from components.actions import Action
from components.page import PANELS, build_lists
from components.properties import collect_properties
from components.services import Services
from tests.checkpoints.conversations import talked
from tests.components.parts import open_services


@pytest.mark.parametrize(("kind", "dialog"), [("restore", "restore-dialog"), ("fork", "fork-dialog")])
def test_a_question_is_read_in_one_snapshot(kind: str, dialog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots: list[str] = []
    read_snapshot = Services.read_snapshot

    async def note_and_read(services: Services, function: Any, *args: Any) -> Any:
        snapshots.append(kind)
        return await read_snapshot(services, function, *args)

    async def story() -> None:
        async with open_services() as services:
            thread_id = talked(services.store, "a", "b")
            fields = {"type": kind, "request_id": "a", "message": services.store.list_messages(thread_id)[0].id}
            action = Action.parse(fields, thread_id)
            with collect_properties() as shown:
                await build_lists(PANELS)["transcript"].handlers[kind](services, action)
            assert shown[dialog] == {"is_open": True}

    monkeypatch.setattr(Services, "read_snapshot", note_and_read)
    asyncio.run(story())
    assert len(snapshots) == 1
