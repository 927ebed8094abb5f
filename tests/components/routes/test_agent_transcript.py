"""The transcript of an agent comes in portions, and the end of its memory is read from the end of the path."""

import asyncio

import pytest
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.context.subagent_memory import recall_path
from agent.marks import MoveMark
from checkpoints import Database, NewMessage, Store
from checkpoints.values import serde
from checkpoints.values.limits import MAX_READ_VALUES
from components.routes import agent_transcript
from components.routes.agent_transcript import PORTION_MESSAGES, cut_transcript, read_memory, read_work
from tests.components.parts import open_services
from tests.rounds import given_examples

QUESTION, ANSWER = HumanMessage("How?"), AIMessage("So.")
RESULT = ToolMessage("sunny", tool_call_id="1")
MOVES = [
    ToolMessage("Known.", tool_call_id="2", additional_kwargs=MoveMark(kind, 0, removed).to_kwargs())
    for kind in ("goto", "rewind")
    for removed in (1, 3, 50)
]
OWN = st.sampled_from([QUESTION, ANSWER, ANSWER, RESULT, *MOVES])
PATHS = st.lists(st.tuples(st.sampled_from(["ann", "ann", "ben"]), OWN), max_size=60)


def write(store: Store, *said: tuple[str, BaseMessage]) -> str:
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(message), agent=agent) for agent, message in said])
    return thread_id


@given_examples(60, 600, PATHS, st.integers(1, 4))
def test_the_end_of_a_memory_is_that_of_the_whole_memory(said: list[tuple[str, BaseMessage]], count: int) -> None:
    store = Store(Database.in_memory())
    thread_id = write(store, *said) if said else store.create_thread().id
    whole = cut_transcript(recall_path(store.list_messages(thread_id), "ann"), "ann", count)
    found = read_memory(store, thread_id, "ann", count)
    assert [(m.id, m.body) for m in found[0] if m.agent == "ann"] == [(m.id, m.body) for m in whole[0] if m.agent == "ann"]
    assert found[1] == whole[1]
    store.database.close()


def test_work_ends_where_the_next_question_begins_however_much_follows() -> None:
    store = Store(Database.in_memory())
    work: list[tuple[str, BaseMessage]] = [("ann", QUESTION), *[("ann", ANSWER), ("ben", ANSWER)] * 30]
    thread_id = write(store, *work, ("ann", QUESTION), *[("main", ANSWER)] * 30)
    path = store.list_messages(thread_id)
    for question, end in ((0, 61), (61, 92)):
        work, has_earlier = read_work(store, thread_id, "ann", path[question].id, 100)
        assert ([m.id for m in work], has_earlier) == ([m.id for m in path[question:end]], False)
    store.database.close()


def test_a_transcript_parses_as_many_values_as_a_view(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(Database.in_memory())
    answer = AIMessage("So.", additional_kwargs={"row": [0] * 9_000})
    thread_id = write(store, ("ann", QUESTION), *[("ann", answer)] * 40, ("ann", QUESTION))
    question = store.list_messages(thread_id, last=1, before=1)[0]
    values, parse = list[int](), serde.parse_canonical
    monkeypatch.setattr(serde, "parse_canonical", lambda text: (values.append(text.count(",")), parse(text))[1])
    for read in (
        lambda: read_memory(store, thread_id, "ann", 50),
        lambda: read_work(store, thread_id, "ann", question.id, 50),
    ):
        values.clear()
        shown, has_earlier = read()
        assert (has_earlier, 0 < len(shown) < 20, sum(values) <= MAX_READ_VALUES + 10_000) == (True, True, True)
    store.database.close()


def test_the_newest_messages_come_first_and_only_their_end_of_the_path_is_read() -> None:
    async def story() -> None:
        async with open_services() as services:
            said: list[tuple[str, BaseMessage]] = [("main", QUESTION), ("main", ANSWER)]
            thread_id = write(services.store, *said * 2_000)
            ids = [message.id for message in services.store.list_messages(thread_id)]
            read: list[int | None] = []
            list_messages = services.store.list_messages
            services.store.list_messages = lambda *at, **of: read.append(of.get("last")) or list_messages(*at, **of)  # type: ignore[method-assign,func-returns-value]
            for count in (PORTION_MESSAGES, 2 * PORTION_MESSAGES):
                shown = agent_transcript._read_agent_transcript(services, thread_id, "main", None, count)
                assert ([view["id"] for view in shown["messages"]], shown["earlier"]) == (ids[-count:], True)
            assert read == [4 * PORTION_MESSAGES, 8 * PORTION_MESSAGES]
            del services.store.list_messages  # type: ignore[method-assign]
            first = agent_transcript._read_agent_transcript(services, thread_id, "main", ids[0], 1)
            assert ([view["id"] for view in first["messages"]], first["earlier"]) == ([ids[1]], True)

    asyncio.run(story())
