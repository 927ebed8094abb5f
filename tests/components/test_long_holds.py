"""A large conversation is exported and imported off the loop: its longest step is counted in calls of functions.

A busy machine makes no step longer. One call for each message would be beyond the limit.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cache

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from checkpoints.interchange import reading, transfer
from checkpoints.values.progress import Progress
from components.panels import import_dialog
from components.routes.export_download import EXPORT_FORMATS, _write_export
from components.services import Services
from components.transfers import long_requests
from tests.checkpoints import shapes
from tests.components.parts import open_services
from tests.loop_steps import counting_step_calls

MESSAGES, MAX_STEP_CALLS = 2_000, 500
Work = Callable[[Services, str], Awaitable[object]]


@cache
def write_file(messages: int) -> bytes:
    turn: list[BaseMessage] = [HumanMessage("And **then**?"), AIMessage("So:\n\n- it\n- went\n- on")]
    return shapes.following(turn * (messages // 2)).encode()


async def import_file(services: Services, _: str) -> None:
    async def send_pieces() -> AsyncIterator[bytes]:
        yield write_file(MESSAGES + 2)

    identifier = await services.uploads.receive(send_pieces())
    [document] = await import_dialog._read_documents(services, {"id": identifier, "name": "x.json"})
    await services.run_blocking(
        transfer.import_thread, services.store, document, report=long_requests.get_progress_callback()
    )


def export_as(kind: str) -> Work:
    return lambda services, thread_id: _write_export(services, EXPORT_FORMATS[kind], thread_id, None)


@pytest.mark.slow
@pytest.mark.parametrize("work", [export_as("waymark"), export_as("html"), import_file], ids=["waymark", "html", "import"])
def test_no_step_of_the_loop_is_as_long_as_a_conversation_and_its_progress_is_told(work: Work) -> None:
    async def story() -> None:
        async with open_services() as services:
            document, told = reading.read_document(write_file(MESSAGES).decode()), list[Progress]()
            thread_id = transfer.import_thread(services.store, document).result
            write_file(MESSAGES + 2)  # that of an import, before the steps are counted
            long_requests._report.set(told.append)
            with counting_step_calls() as steps:
                await work(services, thread_id)
            assert max(steps) <= MAX_STEP_CALLS
            assert any(each.total and each.total >= MESSAGES and 0 < each.done < MESSAGES for each in told)

    asyncio.run(story())
