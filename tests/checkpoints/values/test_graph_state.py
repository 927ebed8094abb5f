"""States as shapes and leaves: what is written is read, and takes few bytes."""

import uuid
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base.id import uuid6

from checkpoints.values.applied_references import split_applied
from checkpoints.values.checkpoint_ids import decode_id, encode_id
from checkpoints.values.graph_state import RowValues, join_body, pack_numbers, split_body, unpack_numbers

IDS = st.one_of(st.uuids().map(str), st.text(st.characters(exclude_categories=["Cs"])), st.just("1" * 15), st.just("1" * 16))
NUMBERS = st.integers(-(2**70), 2**70)
NAMES = st.text(max_size=5)
VERSIONS = st.one_of(
    st.dictionaries(NAMES, NUMBERS, max_size=3),
    st.dictionaries(NAMES, st.one_of(NUMBERS, st.floats(allow_nan=False), st.text(max_size=5)), max_size=3),
)
TIMES = st.one_of(st.datetimes(timezones=st.just(None)).map(lambda time: f"{time.isoformat()}+00:00"), st.text(max_size=9))
REFERENCES = st.one_of(
    st.none(), st.integers(), st.text(max_size=5), st.just(["m", None, 0]), st.just(["m", "last", 7]), st.just(["v", 3])
)
METADATA = st.fixed_dictionaries(
    {
        "source": st.just("loop"),
        "parents": st.dictionaries(st.just(""), st.just("above")),
        "step": st.one_of(st.integers(-1, 9), st.none(), st.text(max_size=3)),
    },
    optional={"run_id": st.sampled_from(["run", "other"])},
)


@given(st.lists(NUMBERS), st.binary())
def test_packed_numbers_are_read_again_with_the_bytes_after_them(numbers: list[int], rest: bytes) -> None:
    assert unpack_numbers(pack_numbers(numbers) + rest, len(numbers)) == (numbers, rest)


NAMES = REFERENCES | st.sampled_from(
    [None, ["n", [[-2, -1]], 1], ["n", -1, 0], ["n", [[-90, -1]], 0], ["o", {"b": ["n", -1, 0], "a": "leaf"}]]
)
WRITES = st.lists(st.tuples(st.integers(-4, 9), st.text(max_size=5), NAMES).map(list), max_size=3)
TASK_IDS = st.uuids().map(str) | st.sampled_from(["", "task", "0" * 22])
APPLIED = st.lists(st.tuples(TASK_IDS, st.text(max_size=5), WRITES).map(list), max_size=3)
FURTHER = st.fixed_dictionaries({"resumed": st.booleans(), "begun_at": st.none() | st.text(max_size=5), "applied": APPLIED})


@given(IDS)
def test_an_id_is_read_again(identifier: str) -> None:
    assert decode_id(encode_id(identifier)) == identifier


def test_ids_of_langgraph_take_16_bytes_and_keep_their_order() -> None:
    ids = [str(uuid6(clock_seq=number)) for number in range(50)]
    assert sorted(map(encode_id, ids)) == [encode_id(each) for each in sorted(ids)]
    assert {len(encode_id(each)) for each in ids} == {16}
    assert encode_id(str(uuid.UUID(int=5)).upper()) != encode_id(str(uuid.UUID(int=5)).upper() + "x")


@given(TIMES, st.dictionaries(st.text(max_size=5), REFERENCES, max_size=3), VERSIONS, VERSIONS, METADATA, FURTHER)
def test_a_body_is_read_again(time: str, values: Any, versions: Any, seen: Any, metadata: Any, further: Any) -> None:
    body = {
        "v": 4,
        "ts": time,
        "values": values,
        "versions": versions,
        "seen": {"node": seen, "other": {}},
        "updated": None,
        "metadata": metadata,
        **further,
    }
    for row in (RowValues(str(uuid6()), "run", ("last", 7)), RowValues("no time", "run", None)):
        split = split_body(body, row)
        found = join_body(split.shape, split.write_leaves(split.rest), row)
        expected = body | {"metadata": {name: each for name, each in metadata.items() if (name, each) != ("step", None)}}
        assert found == expected


def test_lists_of_all_messages_have_one_shape_and_a_usual_message_takes_no_more_leaves() -> None:
    def split(places: Any) -> Any:
        return split_applied([["", "task", [[0, "messages", ["n", places, 0]]]]])

    assert split([[-20, -1]])[0] == split([[-22, -1]])[0] == split([[-40, -30], [-1, -1]])[0]
    assert [split(places)[1][1:] for places in (-1, [[-1, -1]], [[-2, -1]])] == [[0]] * 3


def test_the_leaves_of_a_usual_state_take_30_bytes() -> None:
    channels = ["__start__", "branch:to:model", "branch:to:tools", "messages"]
    body = {
        "v": 4,
        "ts": "2026-11-23T14:33:49.100323+00:00",
        "values": {"branch:to:model": None, "messages": ["m", "60204b600e666414fb0c", 74]},
        "versions": dict(zip(channels, [1_103, 1_104, 1_097, 1_104], strict=True)),
        "seen": {"__input__": {}, "__start__": {"__start__": 1_102}, "model": {"branch:to:model": 1_100}},
        "updated": ["messages"],
        "metadata": {"source": "loop", "step": 1_102, "parents": {}, "run_id": "of the row"},
    }
    row = RowValues("1f1e7450-7b2a-66d7-8000-36f9ccd42288", "of the row", ("60204b600e666414fb0c", 74))
    split = split_body(body, row)
    assert len(split.write_leaves(split.rest)) <= 30
