"""The writes of a step are named by the state after it, with work that grows with what was written."""

import asyncio
import threading
from collections.abc import Sequence
from contextlib import closing
from typing import Any, cast

import pytest
import sqlalchemy as sa
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from checkpoints import Database, Store
from checkpoints.langgraph import WaymarkSaver
from checkpoints.langgraph.applied_writes import StepNames
from checkpoints.rows.write_rows import Write
from checkpoints.storage import schema
from tests.checkpoints.langgraph.graphs import Channels, ask, make_config, make_graph
from tests.checkpoints.storage.earlier_tables import drop_late_writes

SERDE = JsonPlusSerializer(allowed_msgpack_modules=None)


class Counted(list[BaseMessage]):
    """Messages that count how often one was looked at."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)


def name_messages(messages: Sequence[BaseMessage], written: Sequence[BaseMessage]) -> Any:
    """Return the reference to messages that a task wrote. No database is asked."""
    connection: Any = None
    names = StepNames(connection, "t", SERDE, {}, "messages", messages)
    ((_, _, ((_, _, reference),)),) = names.name_writes(
        [Write("", "task", 0, "messages", *SERDE.dumps_typed(list(written)))]
    )
    return reference


@pytest.mark.parametrize("has_ids", [True, False])
def test_a_list_of_all_messages_is_named_with_few_looks_at_each(has_ids: bool) -> None:
    messages = Counted(HumanMessage(f"Number {n}.", id=f"id-{n}") for n in range(300))
    written = [each if has_ids else each.model_copy(update={"id": None}) for each in messages]
    messages.looks = 0
    assert name_messages(messages, written) == ["n", [[-300, -1]], int(not has_ids)]
    assert messages.looks <= 5 * 300


def test_a_long_list_is_stored_once(store: Store) -> None:
    notes = [f"note {n} " * 20 for n in range(120)]

    def write(_: Channels) -> Channels:
        return {"notes": notes}

    make_graph(WaymarkSaver(store), write).invoke({"messages": [HumanMessage("q")]}, make_config("t"))
    with store.database.begin_read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(schema.channel_value)).scalar() == len(notes)


def test_a_state_waits_for_writes_whose_thread_has_not_begun(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    saver, is_awaited = WaymarkSaver(store), threading.Event()
    await_writes, put_writes = saver._writer.applied.await_writes, saver.put_writes

    def note_waiting(key: Any) -> None:
        is_awaited.set()
        await_writes(key)

    def put_late(*args: Any) -> None:
        is_awaited.wait(timeout=10)
        put_writes(*args)

    async def take_step() -> None:
        step = next(saver.list(make_config("t"), limit=1))
        new = {**step.checkpoint, "id": str(uuid6()), "channel_values": {"notes": ["new"]}, "channel_versions": {"notes": 9}}
        writes = saver.aput_writes(step.config, [("notes", ["new"])], "task")
        metadata: Any = {"source": "loop", "step": 9}
        await asyncio.gather(writes, saver.aput(step.config, cast("Checkpoint", new), metadata, {"notes": 9}))

    make_graph(saver).invoke({"messages": [HumanMessage("q")]}, make_config("t"))
    monkeypatch.setattr(saver._writer.applied, "await_writes", note_waiting)
    monkeypatch.setattr(saver, "put_writes", put_late)
    asyncio.run(take_step())
    _, before = saver.list(make_config("t"), limit=2)
    assert before.pending_writes == [("task", "notes", ["new"])]
    with store.database.begin_read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.state_write)) == 0


def test_a_question_in_a_database_of_the_revision_before_is_answered(address: str) -> None:
    with closing(Database.open_url(address)) as database:
        ask(make_graph(WaymarkSaver(Store(database))), "t", "approve")
        with database.engine.begin() as connection:
            drop_late_writes(connection)
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0033'")
    with closing(Database.open_url(address)) as database:
        found = make_graph(WaymarkSaver(Store(database))).invoke(Command(resume="yes"), make_config("t"))
    assert found["messages"][-1].text == "You said yes."
