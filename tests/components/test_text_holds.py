"""No step holds the loop: of an answer that is shown while it streams, or of a view of the dearest accepted documents."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest

from checkpoints import Caller
from checkpoints.interchange import reading, transfer
from components.page import PANELS, read_panels
from components.page_state import PageLocation
from components.replies import to_json
from components.services import Services
from tests.agent.running import Only, model_at, running
from tests.components.parts import open_services
from tests.components.streams.test_thread_frames import Screen
from tests.fakes.raw import DONE, HEAD, RawProvider, finish, say
from tests.loop_steps import MAX_STEP_SECONDS, Step, counting_step_calls, find_longest_step, timing_steps
from tests.test_bounded_by_construction import DEAR_DOCUMENTS, LONG

pytestmark = pytest.mark.slow
PIECE_CHARS = 4_000
MAX_STEP_CALLS = 2_000  # of functions in a step; the smallest of these views makes ten times as many
PAUSE_SECONDS = 0.1  # between two pieces: the page looks at the text, as far as it has come
STREAMED = {  # none of them ends what it begins
    "a fence of spaces": "```c\n" + " " * 60_000,
    "a fence of empty lines": "```cpp\n" + "\n" * 60_000,
    "a fence of code": "```python\n" + "x = 1 + f(y)\n" * 5_000,
    "a fence in quotes": "> ```c\n" + "> x  \n" * 10_000,
    "fences in fences": "````\n```c\n" * 6_000,
    "brackets": "[" * 60_000,
    "a table": "|a" * 250 + "|\n" + "|-" * 250 + "|\n" + ("|b" * 250 + "|\n") * 100,
    "marks": "*a **b " * 8_000,
    "a formula": "$$\n" + "\\hat{" * 10_000,
}


async def stream_text(text: str) -> Step:
    """Let a model write a text to a page that follows it; return the longest step of the loop."""
    pieces = [say(text[start : start + PIECE_CHARS]) for start in range(0, len(text), PIECE_CHARS)]
    provider = RawProvider([HEAD, *chain.from_iterable((each, PAUSE_SECONDS) for each in pieces), finish(), DONE])
    async with provider.serve(), model_at(provider) as model, running(model) as chat:
        with ThreadPoolExecutor(2) as pool:
            services = Services(chat.store, chat.runs, chat.runner, chat.hub, pool, Only(model))
            screen, told = Screen(), asyncio.Event()
            watching = asyncio.create_task(screen.watch(services, chat.thread_id, told))
            await told.wait()
            with timing_steps() as steps:
                await chat.runner.send(chat.thread_id, "hello", caller=Caller())
                assert (await watching)["state"] == "done"
            assert screen.messages
            services.close()
            services.renderer.close()
            return steps.longest


@pytest.mark.parametrize("kind", STREAMED)
def test_no_text_that_streams_holds_the_loop(kind: str) -> None:
    longest = find_longest_step(lambda: asyncio.run(stream_text(STREAMED[kind])), MAX_STEP_SECONDS)
    assert longest.seconds < MAX_STEP_SECONDS, longest


@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=pytest.mark.long) if each in LONG else each for each in DEAR_DOCUMENTS]
)
def test_no_view_of_the_dearest_document_holds_the_loop(kind: str) -> None:
    async def story() -> int:
        async with open_services() as services:
            document = reading.read_document(DEAR_DOCUMENTS[kind]())
            thread_id = transfer.import_thread(services.store, document).result
            with counting_step_calls() as calls:
                for _ in range(2):
                    to_json(await services.read_snapshot(read_panels, PANELS, services, PageLocation(thread_id, {})))
            return max(calls)

    assert asyncio.run(story()) < MAX_STEP_CALLS
