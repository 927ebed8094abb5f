"""What callbacks ask of the store reaches the pages, and the tracer where the conversation went another way."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from agent.demo.model import DemoChatModel
from checkpoints import Caller, Operation, OperationKind, Runs, Store, StoreUnavailableError
from components import services as services_module
from components.services import SECOND_READINGS, Services
from tests.agent.running import Only, running
from tests.agent.tracing.test_run_trace import Listener
from tests.checkpoints.conversations import talked
from tests.components.parts import open_services


def test_a_save_a_restore_and_a_fork_are_told_once_each_and_nothing_else_is() -> None:
    async def story() -> None:
        listener = Listener()
        async with running(demo := DemoChatModel(seconds_per_token=0)) as chat:
            await chat.say("hello")
            store, thread = chat.store, chat.thread_id
            with ThreadPoolExecutor(1) as pool:
                services = Services(store, chat.runs, chat.runner, chat.hub, pool, Only(demo), tracer=listener)
                saved = await services.apply_change(store.save, thread, name="Good", caller=Caller(request_id="a"))
                await services.apply_change(store.save, thread, name="Good", caller=Caller(request_id="a"))
                await services.apply_change(store.rename_thread, thread, "Other")
                await services.apply_change(store.restore, thread, saved.result)
                await services.apply_change(store.fork, thread, None)
        kinds = [told.kind for told in listener.told if isinstance(told, Operation)]
        assert kinds == [OperationKind.SAVE, OperationKind.RESTORE, OperationKind.FORK]

    asyncio.run(story())


@pytest.mark.parametrize("slow", [["slow"], ["slow", "slower"], ["slow", "slower", "slowest", "and more"]])
def test_readings_of_some_conversations_keep_nobody_else_waiting(file_store: Store, slow: list[str]) -> None:
    thread_id = talked(file_store, "a", "b")

    async def story() -> None:
        async with running(demo := DemoChatModel(seconds_per_token=0)) as chat:
            with ThreadPoolExecutor(1) as pool:
                services = Services(file_store, Runs(file_store), chat.runner, chat.hub, pool, Only(demo))
                free, begun = threading.Event(), list[str]()

                def look(conversation: str) -> None:
                    begun.append(conversation)
                    assert free.wait(60)

                asked = [name for name in slow for _ in range(8)]
                looks = [asyncio.create_task(services.read_snapshot(look, name)) for name in asked]
                answered = await services.read_snapshot(lambda _: True, "other")
                await services.check()
                await services.apply_change(file_store.rename_thread, thread_id, "Renamed")
                assert answered
                await chat.until(lambda: len(begun) >= len(slow) + SECOND_READINGS)
                assert (len(begun), set(begun)) == (len(slow) + SECOND_READINGS, set(slow))
                free.set()
                await asyncio.gather(*looks)
                assert len(begun) == len(asked)
                services.close()

    asyncio.run(story())


def test_a_database_that_stands_still_is_unavailable_until_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections stay: no driver's error tells."""

    async def story() -> None:
        thaw = threading.Event()
        async with open_services() as services:
            database = services.store.database
            with monkeypatch.context() as patch:
                patch.setattr(services_module, "MAX_CHECK_SECONDS", 0.01)
                patch.setattr(database, "check_health", partial(thaw.wait, 60))
                for _ in range(2):
                    with pytest.raises(StoreUnavailableError, match=r"^The database server does not answer\.$"):
                        await services.check()
            assert database.outage == "The database server does not answer."
            thaw.set()
            await services.check()
            assert not database.outage

    asyncio.run(story())
