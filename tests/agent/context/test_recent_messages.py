"""What is kept of a conversation is what a new reading would find, whatever happened to the conversation since."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agent.context.path_ends import count_message_values
from agent.context.recent_messages import (
    FIRST_READ_MESSAGES,
    MAX_KEPT_ENDS,
    MAX_NEW_MESSAGES,
    RecentMessages,
    read_recent_messages,
)
from agent.context.request import build_request
from agent.context.tokens import estimate_stored_tokens
from agent.context.window import fit_to_window
from checkpoints import Database, Message, NewMessage, Store
from checkpoints.values import serde

WINDOW = 100  # tokens
PLENTY = 10_000

changes = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, MAX_NEW_MESSAGES + 2)),
        st.tuples(st.sampled_from(["undo", "redo", "save", "restore", "sub-agent", "other window"]), st.just(1)),
    ),
    min_size=1,
    max_size=12,
)


def talk(store: Store, thread_id: str, count: int, *, agent: str = "main", size: int = 40) -> None:
    kinds = [HumanMessage if index % 2 == 0 else AIMessage for index in range(count)]
    store.append(thread_id, [NewMessage(serde.to_body(kind("a" * size)), agent=agent) for kind in kinds])


def change(store: Store, thread_id: str, kind: str, count: int) -> None:
    match kind:
        case "say":
            talk(store, thread_id, count)
        case "sub-agent":
            talk(store, thread_id, 2, agent="helper")
        case "save" if store.count_messages(thread_id):
            store.save(thread_id)
        case "restore" if saved := store.list_checkpoints(thread_id):
            store.restore(thread_id, saved[0].id)
        case "undo" if store.find_undoable(thread_id):
            store.undo(thread_id)
        case "redo" if store.find_redoable(thread_id):
            store.redo(thread_id)


def _fit(path: list[Message], window: int) -> list[AnyMessage]:
    return fit_to_window(build_request("Be good.", path), window).messages


@pytest.mark.slow
@given(changes, st.sampled_from([30, PLENTY]))
def test_a_kept_end_holds_what_a_new_reading_finds(story: list[tuple[str, int]], max_messages: int) -> None:
    database = Database.in_memory()
    store = Store(database)
    thread_id, window = store.create_thread().id, WINDOW
    talk(store, thread_id, 2)
    recent = RecentMessages(store, max_messages)
    for kind, count in story:
        change(store, thread_id, kind, count)
        window = window * 5 if kind == "other window" else window
        found, expected = recent.load(thread_id, window), read_recent_messages(store, thread_id, window, max_messages)
        shared = min(len(found), len(expected))
        assert found[len(found) - shared :] == expected[len(expected) - shared :]
        assert _fit(found, window) == _fit(expected, window)
        assert len(found) <= max_messages
        plain = build_request("Be good.", found)
        assert build_request("Be good.", found, convert=recent.convert) == plain
        assert build_request("Be good.", found, convert=recent.convert) == plain  # from what is kept
    database.close()


def test_the_next_turn_reads_only_what_is_new(store: Store) -> None:
    thread_id = store.create_thread().id
    talk(store, thread_id, 600)
    recent = RecentMessages(store, PLENTY)
    recent.load(thread_id, 2_000)
    talk(store, thread_id, 2)
    with patch.object(store, "list_messages", wraps=store.list_messages) as reading:
        found = recent.load(thread_id, 2_000)
    assert [call.kwargs for call in reading.call_args_list] == [{"last": 3}]  # with the last one that is kept
    assert found[-1].depth == 601
    assert recent.convert(found[0]) is recent.convert(found[0])


def test_few_conversations_are_kept_and_of_each_only_what_a_request_holds(store: Store) -> None:
    recent = RecentMessages(store, PLENTY)
    for _ in range(MAX_KEPT_ENDS + 2):
        thread_id = store.create_thread().id
        talk(store, thread_id, FIRST_READ_MESSAGES)
        recent.load(thread_id, 2_000)
    assert len(recent._ends) == MAX_KEPT_ENDS
    for _ in range(50):
        talk(store, thread_id, 2)
        recent.load(thread_id, 2_000)
    assert len(recent._ends[thread_id].path) == FIRST_READ_MESSAGES


def test_a_turn_measures_only_its_own_messages() -> None:
    store = Store(Database.in_memory())
    thread_id = store.create_thread().id
    talk(store, thread_id, 10)
    recent = RecentMessages(store, PLENTY)
    recent.load(thread_id, PLENTY)
    talk(store, thread_id, 2)
    with patch("agent.context.recent_messages.count_message_values", wraps=count_message_values) as counted:
        assert len(recent.load(thread_id, PLENTY)) == 12
    assert counted.call_count == 2
    assert recent._ends[thread_id].tokens == [estimate_stored_tokens(each) for each in store.list_messages(thread_id)]
