"""A reading of a path takes no more values than it is told, counted in JSON and not in the characters of texts."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from checkpoints import NewMessage, Store
from checkpoints.rows import message_rows, path_rows
from checkpoints.values import serde
from tests.statements import record_statements

ROWS = [0, 30, 10, 50, 20]  # values in the further fields of each message


@pytest.fixture
def thread_id(store: Store) -> str:
    thread_id = store.create_thread().id
    messages = [HumanMessage("a, [b], {c}" * 100, additional_kwargs={"row": [0] * count}) for count in ROWS]
    store.append(thread_id, [NewMessage(serde.to_body(message)) for message in messages])
    return thread_id


@pytest.mark.parametrize(
    ("max_values", "depths"),
    [
        (1, [4]),
        (26, [4]),
        (81, [4]),
        (82, [3, 4]),
        (97, [3, 4]),
        (98, [2, 3, 4]),
        (10_000, [0, 1, 2, 3, 4]),
    ],
)
def test_the_newest_messages_are_read_until_they_have_so_many_values(
    store: Store, thread_id: str, max_values: int, depths: list[int]
) -> None:
    found = store.list_messages(thread_id, last=10, max_values=max_values)
    assert [(message.depth, message.damaged) for message in found] == [(depth, False) for depth in depths]


def test_what_is_cut_off_is_not_parsed(store: Store, thread_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = serde.parse_canonical
    monkeypatch.setattr(message_rows.serde, "parse_canonical", lambda text: parsed.append(text) or parse(text))  # type: ignore[attr-defined,func-returns-value]
    store.list_messages(thread_id, max_values=82)
    assert len(parsed) == 3  # the third one shows that it is one too many


def write_wide_thread(store: Store, length: int, agent: str) -> str:
    thread_id = store.create_thread().id
    body = serde.to_body(HumanMessage("a", additional_kwargs={"row": [0] * 100}))
    store.append(thread_id, [NewMessage(body, agent=agent) for _ in range(length)])
    return thread_id


def test_no_row_is_read_beyond_the_portion_that_fills_the_values(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges, select = list[int](), path_rows.select_path

    def select_recorded(*given: Any) -> Iterator[Any]:
        ranges.append(given[-1] - given[-2])
        return select(*given)

    monkeypatch.setattr(path_rows, "select_path", select_recorded)
    for length in (600, 3_000):
        found = store.list_messages(write_wide_thread(store, length, "main"), max_values=5_000)
        assert (len(found), found[-1].depth) == (47, length - 1)
    assert ranges == [message_rows._FIRST_PORTION_MESSAGES + 1] * 2


def test_of_an_agent_the_database_returns_a_portion_of_its_own_messages(store: Store) -> None:
    for length in (600, 3_000):
        thread_id = write_wide_thread(store, length, "ben")
        with record_statements(store.database) as sent:
            found = store.list_messages(thread_id, agent="ben", max_values=5_000)
        assert (len(found), found[-1].depth) == (47, length - 1)
        assert sum("message.body" in statement for statement in sent) == 1
        assert all("LIMIT" in statement for statement in sent if "message.body" in statement)


def test_portions_join_without_a_gap(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    thread_id = store.create_thread().id
    agents = ["main", "ben", "ben"] * 14
    store.append(thread_id, [NewMessage(serde.to_body(HumanMessage("a")), agent=agent) for agent in agents])
    every = store.list_messages(thread_id)
    monkeypatch.setattr(message_rows, "_FIRST_PORTION_MESSAGES", 3)
    for last, before in ((42, 42), (7, 30), (1, 1), (42, 3)):
        wanted = every[max(0, before - last) : before]
        assert store.list_messages(thread_id, last=last, before=before, max_values=10**6) == wanted
        own = store.list_messages(thread_id, last=last, before=before, agent="ben", max_values=10**6)
        assert own == [message for message in wanted if message.agent == "ben"]
    assert list(store.compare_paths(thread_id, None, every[-1].id, max_values=10**6).right) == every


def test_a_comparison_reads_the_first_messages_of_each_side(store: Store, thread_id: str) -> None:
    last = store.list_messages(thread_id)[-1].id
    found = store.compare_paths(thread_id, None, last, max_values=50)
    assert ([message.depth for message in found.right], found.lengths) == ([0, 1], (0, 5))


def test_sizes_are_those_of_the_stored_json(store: Store, thread_id: str) -> None:
    stored = [(m.depth, m.agent, m.type, len(serde.to_canonical(m.body).encode())) for m in store.list_messages(thread_id)]
    found = [(s.depth, s.agent, s.type, s.byte_count) for s in store.list_message_sizes(thread_id, last=2, before=4)]
    assert found == stored[2:4]


def test_in_one_view_each_message_is_read_once_and_the_values_count_as_in_one_reading(
    store: Store, thread_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = [(last, most) for last in (1, 2, 3, 5, 10) for most in (1, 26, 81, 82, 97, 98, 10_000, None)]
    expected = {each: store.list_messages(thread_id, last=each[0], max_values=each[1]) for each in readings}
    for first in readings:
        for then in readings:
            with store.database.begin_read():
                assert [store.list_messages(thread_id, last=last, max_values=most) for last, most in (first, then)] == [
                    expected[first],
                    expected[then],
                ]
    parsed: list[str] = []
    parse = serde.parse_canonical
    monkeypatch.setattr(message_rows.serde, "parse_canonical", lambda text: parsed.append(text) or parse(text))  # type: ignore[attr-defined,func-returns-value]
    with store.database.begin_read():
        for last in range(1, len(ROWS) + 1):
            store.list_messages(thread_id, last=last, max_values=10_000)
    assert len(parsed) == len(ROWS)
