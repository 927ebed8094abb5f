"""The moves that wait for a person, and what each would remove."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agent.context.measurement import Context
from agent.context.numbering import NumberStyle
from agent.context.path_tokens import sum_path_tokens
from agent.context.tokens import sum_stored_tokens
from agent.context.window import Window
from agent.time_travel import move_paths, moves, waiting_moves
from agent.time_travel.made_moves import complete_mark
from agent.time_travel.move_paths import StoredPath
from agent.time_travel.moves import MoveRefused
from agent.time_travel.scopes import load_scope
from agent.time_travel.waiting_moves import WaitingMove, find_waiting_moves
from checkpoints import MAIN, Message, NewMessage, Removal, Store
from checkpoints.rows import message_rows, path_rows
from checkpoints.values import serde
from tests.statements import record_statements

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


def write_long_thread(store: Store, messages: int, *calls: dict[str, object], agent: str = MAIN) -> str:
    """Write a conversation of so many messages, with results among them, that ends with calls of an agent."""
    thread_id = store.create_thread().id
    look = [HumanMessage("look"), AIMessage("", tool_calls=[LOOK]), ToolMessage("x", tool_call_id="look", name="web_search")]
    early = [*look, AIMessage("Found."), *[HumanMessage("again"), AIMessage("so")] * (messages // 2)]
    said = [(MAIN, message) for message in (*early, HumanMessage("go"))]
    said += [("ben", HumanMessage("Well?")), ("ben", AIMessage("Well.")), ("ben", HumanMessage("And?"))]
    said += [(agent, AIMessage("", tool_calls=list(calls)))]
    store.append(thread_id, [NewMessage(serde.to_body(message), agent=who, run_id="r") for who, message in said])
    return thread_id


@contextmanager
def counting_rows() -> Iterator[list[int]]:
    """Count the rows of messages that are read."""
    found, select, build = [0], path_rows.select_path, message_rows._row_to_message

    def select_counted(*given: Any) -> Iterator[Any]:
        for row in select(*given):
            found[0] += 1
            yield row

    def build_counted(row: Any, parent: str | None) -> Message:
        found[0] += 1
        return build(row, parent)

    with (
        patch.object(path_rows, "select_path", select_counted),
        patch.object(message_rows, "_row_to_message", build_counted),
    ):
        yield found


BACK = {"name": "rewind", "args": {"n": -1, "content": "Better."}, "id": "go"}
FORTH = {"name": "rewind", "args": {"n": 1, "content": "Better."}, "id": "go"}
KEEPING = {"name": "rewind", "args": {"n": -1, "content": "Better.", "keep_independent": True}, "id": "go"}
FAR: list[tuple[bool, dict[str, Any]]] = [(False, GO), (True, KEEPING)]


@pytest.mark.parametrize(
    ("agent", "calls", "most"),
    [
        (MAIN, [LOOK], 220),  # rows of messages: a portion of sizes, in which the last question is
        (MAIN, [LOOK, GO], 700),  # of those before and after the target, and of all, some are read for their tokens
        (MAIN, [BACK], 700),
        (MAIN, [FORTH], 700),
        (MAIN, [KEEPING], 700),
        ("ben", [GO], 300),
    ],
    ids=str,
)
def test_a_move_that_waits_costs_the_same_in_a_conversation_of_any_length(
    memory_store: Store, agent: str, calls: list[dict[str, object]], most: int
) -> None:
    rows, statements = [], []
    for messages in (600, 6_000):
        thread_id = write_long_thread(memory_store, messages, *calls, agent=agent)
        with counting_rows() as count, record_statements(memory_store.database) as sent:
            found = find(memory_store, thread_id)
        assert len(found) == len([call for call in calls if call is not LOOK])
        assert all(each.move.mark.sources == ("web_search",) for each in found.values() if each.agent == MAIN)
        rows.append(count[0])
        statements.append(len(sent))
    assert rows[0] == rows[1] <= most
    assert statements[0] == statements[1]


def test_of_a_long_turn_as_many_messages_are_read_as_a_view_reads(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_moves, "MAX_READ_VALUES", 1_000)
    rows = []
    for messages in (1_000, 3_000):
        thread_id = write_thread_with_work(memory_store, messages, ends=False, call=LOOK)
        with counting_rows() as count:
            assert find(memory_store, thread_id) == {}
        rows.append(count[0] - messages // 100)  # sizes of messages, in which the question is looked for, are no reading
    assert max(rows) < 1_000
    thread_id = write_thread_with_work(memory_store, 1_000, ends=False, call=GO)
    assert list(find(memory_store, thread_id)) == ["go"]


def test_a_move_that_is_made_reads_the_same_in_a_conversation_of_any_length(memory_store: Store) -> None:
    rows = []
    for messages in (600, 6_000):
        thread_id = write_long_thread(memory_store, messages, GO)
        waiting = find(memory_store, thread_id)["go"]
        with counting_rows() as count:
            mark = complete_mark(waiting.move, StoredPath(memory_store, thread_id))
        assert mark.before == pytest.approx(4.5 * messages, rel=0.05)  # “again” has 5, “so” has 4
        assert waiting.removal.messages == mark.removed
        rows.append(count[0])
    assert rows[0] == rows[1]


def test_an_answer_too_far_back_is_not_replaced_between_those_that_stay(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {**KEEPING, "args": {**KEEPING["args"], "n": 2}}  # type: ignore[dict-item]
    thread_id = write_long_thread(memory_store, 40, call)
    after = memory_store.count_messages(thread_id) - find(memory_store, thread_id)["go"].move.target.depth
    monkeypatch.setattr(moves, "MAX_KEPT_AFTER", after)
    assert find(memory_store, thread_id)
    monkeypatch.setattr(moves, "MAX_KEPT_AFTER", after - 1)
    assert find(memory_store, thread_id) == {}
    with pytest.raises(MoveRefused, match=f"More than {after - 1} messages follow"):
        moves.plan_move(call, load_scope(memory_store, thread_id, MAIN, "msg"))  # type: ignore[arg-type]


def write_thread_with_work(store: Store, messages: int, *, ends: bool, call: dict[str, Any]) -> str:
    """Write a conversation in which a sub-agent wrote so many messages before an answer, or before the answer that calls."""
    thread_id = store.create_thread().id
    said: list[tuple[str, BaseMessage]] = [(MAIN, HumanMessage("go")), (MAIN, AIMessage("I look."))]
    said += [("ben", HumanMessage("Well?")), ("ben", AIMessage("Well."))] * (messages // 2)
    said += [(MAIN, AIMessage("Done.")), (MAIN, HumanMessage("And?"))] if ends else []
    said += [(MAIN, AIMessage("", tool_calls=[call]))]
    store.append(thread_id, [NewMessage(serde.to_body(message), agent=who) for who, message in said])
    return thread_id


def test_a_question_far_before_is_found_without_the_messages_between(memory_store: Store) -> None:
    costs = []
    for messages in (600, 6_000):
        goes, keeps = [write_thread_with_work(memory_store, messages, ends=ends, call=call) for ends, call in FAR]
        with counting_rows() as rows, record_statements(memory_store.database) as sent:
            move = moves.plan_move(GO, load_scope(memory_store, goes, MAIN, "msg"))  # type: ignore[arg-type]
        assert move.target.depth == 0
        costs.append((rows[0], len(sent)))
    assert costs[0] == costs[1]
    with (
        counting_rows() as rows,
        record_statements(memory_store.database) as sent,
        pytest.raises(MoveRefused, match="More than 1,000 messages come before this answer since its question"),
    ):
        moves.plan_move(KEEPING, load_scope(memory_store, keeps, MAIN, "msg"))  # type: ignore[arg-type]
    assert (rows[0] < 150, len(sent) < 30) == (True, True)  # a portion of messages, each row of which is counted twice


def test_an_answer_as_far_from_its_question_as_allowed_is_replaced(
    memory_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_id = write_thread_with_work(memory_store, 40, ends=True, call=KEEPING)
    target = find(memory_store, thread_id)["go"].move.target
    monkeypatch.setattr(moves, "MAX_KEPT_BEFORE", target.depth)
    assert find(memory_store, thread_id)
    monkeypatch.setattr(moves, "MAX_KEPT_BEFORE", target.depth - 1)
    assert find(memory_store, thread_id) == {}


@pytest.mark.parametrize("is_before", [True, False])
def test_the_tokens_of_a_path_that_ends_with_a_sub_agents_messages_are_those_of_the_main_agent(
    memory_store: Store, is_before: bool
) -> None:
    texts = ["many words " * 20, "so it is"] * 300
    said: list[tuple[str, BaseMessage]] = [(MAIN, AIMessage(text, id=f"run--{at}")) for at, text in enumerate(texts)]
    said += (
        [(MAIN, HumanMessage("go"))] * is_before + [("ben", AIMessage("x"))] * 120 + [(MAIN, HumanMessage("go"))] * is_before
    )
    thread_id = memory_store.create_thread().id
    memory_store.append(thread_id, [NewMessage(serde.to_body(message), agent=who) for who, message in said])
    whole = sum_stored_tokens(memory_store.list_messages(thread_id), MAIN)
    assert sum_path_tokens(memory_store, thread_id, MAIN, 0, len(said)) == pytest.approx(whole, rel=0.05)
    assert sum_path_tokens(memory_store, thread_id, MAIN, len(said) - 110, len(said) - 5) == 0


def test_what_was_not_looked_through_is_named_as_a_source(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    thread_id = write_long_thread(memory_store, 4, GO)
    for limit, sources in ((1, ("web_search",)), (0, ("earlier messages",))):
        monkeypatch.setattr(move_paths, "MAX_OUTSIDE_MESSAGES", limit)
        assert find(memory_store, thread_id)["go"].move.mark.sources == sources


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
    mark = complete_mark(waiting.move, scope.path, agent)
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
