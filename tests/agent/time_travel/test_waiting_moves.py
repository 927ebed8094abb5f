"""The moves that wait for a person, and what each would remove."""

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from agent.context.measurement import Context
from agent.context.numbering import NumberStyle
from agent.context.window import Window
from agent.time_travel.made_moves import complete_mark
from agent.time_travel.scopes import load_scope
from agent.time_travel.waiting_moves import WaitingMove, find_waiting_moves
from checkpoints import MAIN, Message, NewMessage, Removal, Store
from checkpoints.rows import message_rows
from checkpoints.values import serde

GO = {"name": "goto", "args": {"position": "msg_0", "message": "Obey."}, "id": "go"}
NOWHERE = {"name": "goto", "args": {"position": "msg_99", "message": "Obey."}, "id": "nowhere"}
CONTEXT = Context(5_000, is_exact=True, message_count=4, left_out_count=0, window=Window(100_000, 10_000))
LOOK = {"name": "look", "args": {}, "id": "look"}


def thread(store: Store, *calls: dict[str, object]) -> str:
    thread_id = store.create_thread().id
    said = (HumanMessage("hello"), AIMessage("hi"), HumanMessage("go"), AIMessage("", tool_calls=list(calls)))
    store.append(thread_id, [NewMessage(serde.to_body(message)) for message in said])
    return thread_id


def find(store: Store, thread_id: str, numbers: NumberStyle = "msg") -> dict[str, WaitingMove]:
    return find_waiting_moves(store, thread_id, lambda: CONTEXT, numbers)


def test_a_move_is_found_with_what_it_removes_also_the_results_of_later_calls(memory_store: Store) -> None:
    found = find(memory_store, thread(memory_store, LOOK, GO, NOWHERE))
    assert {call_id: (each.move.kept_count, each.removal) for call_id, each in found.items()} == {"go": (1, Removal(4, 0))}


def test_a_removal_counts_the_checkpoints_after_the_target(memory_store: Store) -> None:
    thread_id = thread(memory_store, GO)
    memory_store.save(thread_id, name="Late")
    assert find(memory_store, thread_id)["go"].removal == Removal(3, 1)


def test_an_answer_without_moves_has_none(memory_store: Store) -> None:
    assert find(memory_store, thread(memory_store, LOOK)) == {}
    assert find(memory_store, memory_store.create_thread().id) == {}


def test_a_later_move_of_the_same_answer_waits_for_the_first(memory_store: Store) -> None:
    found = find(memory_store, thread(memory_store, GO, {**GO, "id": "again"}))
    assert {call_id: each.removal for call_id, each in found.items()} == {"go": Removal(4, 0)}


def test_the_size_before_a_move_is_that_of_the_whole_request_and_the_rest_of_it_stays(memory_store: Store) -> None:
    tokens = find(memory_store, thread(memory_store, GO))["go"].tokens
    assert tokens.before == CONTEXT.tokens
    assert 4_900 < tokens.after < 5_100  # the instructions and tools stay, the note comes, four short messages leave


def test_calls_that_wait_in_a_long_conversation_are_found_in_its_last_turn(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, build = list[str](), message_rows._row_to_message

    def build_noted(row: Any, parent: str | None) -> Message:
        built.append(row.id)
        return build(row, parent)

    def read(*calls: dict[str, object]) -> int:
        thread_id = memory_store.create_thread().id
        early = [HumanMessage("again"), AIMessage("so")] * 500
        last = [HumanMessage("go"), AIMessage("", tool_calls=list(calls))]
        memory_store.append(thread_id, [NewMessage(serde.to_body(message)) for message in (*early, *last)])
        built.clear()
        assert len(find(memory_store, thread_id)) == len([call for call in calls if call is GO])
        return len(built)

    monkeypatch.setattr(message_rows, "_row_to_message", build_noted)
    assert read(LOOK) <= 3  # the turn, and the message before it
    assert read(LOOK, GO) <= 1_002 + 3  # its agent may move in all of them


REWIND = {"name": "rewind", "args": {"n": 1, "content": "Better."}, "id": "go"}


@pytest.mark.parametrize(
    ("agent", "call"), [(MAIN, GO), (MAIN, {**REWIND, "args": {**REWIND["args"], "agent": "ben"}}), ("ben", GO)]
)
def test_the_note_of_a_move_counts_the_tokens_that_its_card_counted(
    memory_store: Store, agent: str, call: dict[str, object]
) -> None:
    thread_id = memory_store.create_thread().id
    long = "many words " * 200
    said = [(MAIN, HumanMessage("hello")), (MAIN, AIMessage(f"Look. {long}")), ("ben", HumanMessage("Well?"))]
    said += [("ben", AIMessage(long)), ("ben", HumanMessage("And?")), (agent, AIMessage("", tool_calls=[call]))]
    memory_store.append(thread_id, [NewMessage(serde.to_body(message), agent=who) for who, message in said])
    waiting = find(memory_store, thread_id)["go"]
    scope = load_scope(memory_store, thread_id, agent, "msg")
    mark = complete_mark(waiting.move, scope.messages[waiting.move.kept_count :], agent)
    assert mark.before - mark.after == waiting.tokens.before - waiting.tokens.after


def test_without_numbers_a_checkpoint_named_like_one_is_the_target(memory_store: Store) -> None:
    call = {**GO, "args": {"position": "0", "message": "On."}}
    thread_id = memory_store.create_thread().id
    memory_store.append(thread_id, [NewMessage(serde.to_body(each)) for each in (HumanMessage("hello"), AIMessage("hi"))])
    memory_store.save(thread_id, name="0")
    said = (HumanMessage("go"), AIMessage("", tool_calls=[call]))
    memory_store.append(thread_id, [NewMessage(serde.to_body(each)) for each in said])
    targets = [find(memory_store, thread_id, style)["go"].move.target.depth for style in ("msg", "off")]
    assert targets == [0, 1]
