"""A reading of a path takes no more values than it is told, counted in JSON and not in the characters of texts."""

import pytest
from langchain_core.messages import HumanMessage

from checkpoints import NewMessage, Store
from checkpoints.rows import message_rows
from checkpoints.values import serde

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


def test_a_comparison_reads_the_first_messages_of_each_side(store: Store, thread_id: str) -> None:
    last = store.list_messages(thread_id)[-1].id
    found = store.compare_paths(thread_id, None, last, max_values=50)
    assert ([message.depth for message in found.right], found.lengths) == ([0, 1], (0, 5))


def test_sizes_are_those_of_the_stored_json(store: Store, thread_id: str) -> None:
    stored = [(m.depth, m.agent, m.type, len(serde.to_canonical(m.body).encode())) for m in store.list_messages(thread_id)]
    found = [(s.depth, s.agent, s.type, s.byte_count) for s in store.list_message_sizes(thread_id, last=2, before=4)]
    assert found == stored[2:4]
