"""Input at a limit goes through everything that a conversation does; beyond the limit it is refused with the number.

The cost of a view is counted in statements and characters. Seconds are measured in benchmarks/.
"""

import asyncio

import pytest
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage

from checkpoints import Database, Run, RunState, StateError, Store
from checkpoints.interchange import reading, transfer
from checkpoints.storage import operation_rows
from tests.doors import DOORS, Conversation, Door, talking
from tests.rounds import given_examples

MAX_VIEW_STATEMENTS = 80
MAX_VIEW_CHARS = 4_000_000  # 128 calls with 20,000 characters of result each, and their frame
QUICK = ("a message", "a deep file")
LETTERS = ["x", "é", "🙂", "\\", "\n", "<", "[", "|"]


async def refuse(talk: Conversation, door: Door, letter: str, size: int) -> str:
    """Offer the input; return the sentence of its refusal, or an empty text."""
    try:
        found = await door.offer(talk, letter, size)
    except StateError as error:
        return str(error)
    if isinstance(found, Run) and found.state is RunState.FAILED:
        return str(found.error)
    return found.text if isinstance(found, ToolMessage) else ""


def expect_bounded_view(talk: Conversation) -> None:
    statements, chars = talk.view()
    assert (statements <= MAX_VIEW_STATEMENTS, chars <= MAX_VIEW_CHARS) == (True, True), (statements, chars)


def expect_same_elsewhere(talk: Conversation) -> None:
    """Import the export into another database, twice; each time the conversation has the same messages."""
    found, thread_id = talk.chat.store, talk.chat.thread_id
    path = [message.hash for message in talk.chat.path()]
    for _ in range(2):
        document = reading.read_document(transfer.export(found, thread_id))
        found = Store(Database.in_memory())
        thread_id = transfer.import_thread(found, document).result
        assert [message.hash for message in found.list_messages(thread_id)] == path


async def expect_going_on(talk: Conversation) -> None:
    """View, save, take a turn, restore, export and import again."""
    expect_bounded_view(talk)
    saved = talk.chat.store.save(talk.chat.thread_id).result
    path = [message.id for message in talk.chat.path()]
    assert (await talk.ask()).state is RunState.DONE
    talk.chat.store.restore(talk.chat.thread_id, saved)
    assert [message.id for message in talk.chat.path()] == path
    expect_bounded_view(talk)
    expect_same_elsewhere(talk)


async def expect_limit_holds(door: Door, letter: str, size: int) -> None:
    async with talking() as talk:
        refusal = await refuse(talk, door, letter, size)
        if door.is_cut or size <= door.limit:
            assert refusal == ""
        else:
            assert f"{door.number:,}" in refusal
        await expect_going_on(talk)


@pytest.mark.parametrize("beyond", [0, 1])
@pytest.mark.parametrize("door", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in DOORS])
def test_a_limit_holds_at_its_edge_both_ways(door: str, beyond: int) -> None:
    asyncio.run(expect_limit_holds(DOORS[door], "x", DOORS[door].limit + beyond))


@given_examples(3, 300, st.sampled_from(list(DOORS)), st.sampled_from(LETTERS), st.floats(0.01, 2))
def test_input_of_any_size_is_taken_back_or_refused(door: str, letter: str, share: float) -> None:
    asyncio.run(expect_limit_holds(DOORS[door], letter, max(4, round(DOORS[door].limit * share))))


def test_a_view_does_not_read_the_rows_that_former_changes_have_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        async with talking() as talk:
            store, thread_id = talk.chat.store, talk.chat.thread_id
            for _ in range(3):
                store.fork(thread_id, None)
            store.prune_branches(thread_id)
            store.undo(thread_id)
            parsed: list[object] = []
            monkeypatch.setattr(operation_rows, "_is_row_change", lambda *each: not parsed.append(each))
            talk.view()
            assert parsed == []

    asyncio.run(story())
