"""What callbacks ask of the store reaches the pages, and the tracer where the conversation went another way."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from agent.demo.model import DemoChatModel
from checkpoints import Caller, Operation, OperationKind
from components.services import Services
from tests.agent.running import Only, running
from tests.agent.tracing.test_run_trace import Listener


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
