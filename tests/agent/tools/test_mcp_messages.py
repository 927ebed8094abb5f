"""Messages of other programs: of any size and shape, small values come of them."""

import json
from typing import Any

import pytest

from agent.tools import mcp_messages
from agent.tools.mcp_messages import (
    MAX_MESSAGE_BYTES,
    MAX_MESSAGE_VALUES,
    MAX_REMOTE_RESULT_CHARS,
    UNREADABLE_CODE,
    BoundedBytes,
    Budget,
    EndlessMessageError,
    LineSplitter,
    UnreadableMessageError,
    read_message,
)


def bounded(*pieces: bytes) -> BoundedBytes:
    found = BoundedBytes()
    for piece in pieces:
        found.add(piece)
    return found


def answer(*content: Any, **more: Any) -> bytes:
    return json.dumps({"result": {"content": content, **more}, "jsonrpc": "2.0", "id": 7}).encode()


def text(message: dict[str, Any]) -> str:
    return str(message["result"]["content"][0]["text"])


def test_a_result_is_one_text_within_the_limit() -> None:
    for length, note in ((MAX_REMOTE_RESULT_CHARS, ""), (MAX_REMOTE_RESULT_CHARS + 1, "\n… (cut: 1 more characters)")):
        found = read_message(bounded(answer({"type": "text", "text": "é" * length})))
        assert text(found) == "é" * MAX_REMOTE_RESULT_CHARS + note
    assert text(read_message(bounded(answer()))) == "(nothing)"
    assert text(read_message(bounded(answer(1, {"type": "image", "data": "x"})))).count("cannot be shown here") == 2


def test_a_cut_result_keeps_its_beginning_and_names_its_call_by_its_end() -> None:
    data = answer({"type": "text", "text": "x" * MAX_MESSAGE_BYTES}, isError=True)
    found = read_message(bounded(*(data[start : start + 65_536] for start in range(0, len(data), 65_536))))
    assert found["id"] == 7
    assert found["result"]["isError"] is True
    assert text(found).startswith("x" * MAX_REMOTE_RESULT_CHARS)
    assert f"the whole result has {len(data):,} bytes" in text(found)


VALUES = {"id": 42, "note": "é", "tags": []}
WRITTEN = '{"id":42,"note":"é","tags":[]}'
IMAGE = {"type": "image", "data": "x"}


@pytest.mark.parametrize(
    ("blocks", "read"),
    [
        ([], WRITTEN),
        ([{"type": "text", "text": " "}], f"\n{WRITTEN}"),
        ([IMAGE], f"(content of the kind image, which cannot be shown here)\n{WRITTEN}"),
        ([{"type": "resource_link", "uri": "a://b"}], f"(a link to a://b)\n{WRITTEN}"),
        ([{"type": "resource", "resource": {"uri": "a://b", "text": "hello"}}], "hello"),
        ([{"type": "text", "text": '{"id": 42}'}], '{"id": 42}'),
    ],
)
def test_a_result_that_stands_only_in_values_is_read_as_their_json(blocks: list[Any], read: str) -> None:
    assert text(read_message(bounded(answer(*blocks, structuredContent=VALUES)))) == read


def test_a_result_of_values_needs_no_blocks_and_can_be_a_failure() -> None:
    data = json.dumps({"jsonrpc": "2.0", "id": 7, "result": {"structuredContent": {"result": None}, "isError": True}})
    found = read_message(bounded(data.encode()))
    assert (text(found), found["result"]["isError"]) == ('{"result":null}', True)


def test_long_numbers_in_a_result_of_values_are_an_error_of_their_call_and_never_written() -> None:
    values = {"n": [10**4_000] * (MAX_MESSAGE_BYTES // 4_100)}
    assert "result" in read_message(bounded(answer(structuredContent=values)))
    values = {"n": [10**4_000] * 100, "more": [0] * (MAX_MESSAGE_VALUES - 3_000)}
    assert read_message(bounded(answer(structuredContent=values))) == mcp_messages.make_error(7, UNREADABLE_CODE)


def test_a_cut_result_of_values_keeps_their_beginning() -> None:
    found = read_message(bounded(answer(structuredContent={"rows": ["x" * 90] * (MAX_MESSAGE_BYTES // 90)})))
    assert text(found).startswith('{"rows":["xxx')
    assert "the whole result has" in text(found)


@pytest.mark.parametrize("blocks", [[{"type": "text", "text": ""}] * 2, [{"type": "text"}]])
def test_an_empty_result_says_that_it_is_empty(blocks: list[Any]) -> None:
    assert text(read_message(bounded(answer(*blocks)))) == "(nothing)"


def test_a_resource_without_text_is_named() -> None:
    for holder in ({"uri": "a://b", "blob": "eA=="}, {"uri": "a://b", "text": ""}):
        found = read_message(bounded(answer({"type": "resource", "resource": holder})))
        assert text(found) == "(a resource at a://b, which cannot be shown here)"


def test_a_message_of_many_small_values_is_an_error_of_its_call() -> None:
    def listed(count: int) -> dict[str, Any]:
        return read_message(bounded(json.dumps({"jsonrpc": "2.0", "id": 3, "result": {"tools": [[]] * count}}).encode()))

    assert "result" in listed(MAX_MESSAGE_VALUES - 5)
    assert listed(MAX_MESSAGE_VALUES - 4)["error"]["code"] == UNREADABLE_CODE


@pytest.mark.parametrize("block", ["[],", "{},", '"",', "0,", '{"type":"text","text":"a"},'])
@pytest.mark.parametrize("form", ['{"jsonrpc":"2.0","id":3,"result":%s}', '{"result":%s,"jsonrpc":"2.0","id":3}'])
def test_a_result_of_too_many_values_is_an_error_of_its_call_and_never_parsed(
    block: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(blocks: int) -> dict[str, Any]:
        return read_message(bounded((form % f'{{"content":[{block * blocks}0]}}').encode()))

    assert read(MAX_MESSAGE_VALUES // 5)["result"]["isError"] is False
    monkeypatch.setattr(mcp_messages, "from_json", lambda *_, **__: pytest.fail("parsed"))
    for blocks in (2 * MAX_MESSAGE_VALUES, MAX_MESSAGE_BYTES):  # whole, and cut
        assert read(blocks) == mcp_messages.make_error(3, UNREADABLE_CODE)


def test_a_result_is_joined_up_to_the_limit_and_the_rest_is_counted() -> None:
    blocks = [{"type": "text", "text": "x" * 9}] * (MAX_MESSAGE_VALUES // 4)
    assert text(read_message(bounded(answer(*blocks)))).endswith("x\n\n… (cut: 9,999 more characters)")


@pytest.mark.parametrize("value", [[[]] * 100, 10**4_000, {"a": 1}, None])
def test_a_block_whose_text_is_none_is_named_and_its_value_never_written(value: Any) -> None:
    blocks = {"type": "text", "text": value}, {"type": value}, {"type": "resource_link", "uri": value}
    note = "(content of the kind {}, which cannot be shown here)"
    assert text(read_message(bounded(answer(*blocks)))).splitlines() == [
        note.format("text"),
        note.format("unknown"),
        "(a link to )",
    ]


def test_half_of_an_emoji_costs_no_result() -> None:
    """Programs in JavaScript cut a text by UTF-16 units, and write the half as an escape."""
    whole = answer({"type": "text", "text": "\\ud83d \U0001f600 \ud83d"})
    assert b'\\ud83d"' in whole
    assert text(read_message(bounded(whole))) == "\\ud83d \U0001f600 \ufffd"


@pytest.mark.parametrize(
    "data", [b"\0\\ud83d", b"hello", b"[1]", b"\xff", b'{"id": NaN}', b"[" * 1000, b"x" * (MAX_MESSAGE_BYTES + 1)]
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableMessageError):
        read_message(bounded(data))


def test_lines_are_split_wherever_the_pieces_end() -> None:
    splitter = LineSplitter(Budget(10))
    pieces = (b"a", b"b\nc\n\nd", b"\n", b"rest")
    assert [line.start for piece in pieces for line in splitter.feed(piece)] == [b"ab", b"c", b"", b"d"]


def test_the_lines_of_a_minute_and_their_bytes_have_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_messages, "MAX_KEPT_BYTES", 100)
    clock = iter([0.0, 1.0, 2.0, 60.0, 61.0, 62.0, 63.0, 64.0])
    monkeypatch.setattr(mcp_messages, "monotonic", lambda: next(clock))
    splitter = LineSplitter(Budget(2))
    assert len(list(splitter.feed(b"a\nb\n"))) == 2
    assert len(list(splitter.feed(b"c\nd\n"))) == 2  # of the next minute
    with pytest.raises(EndlessMessageError):
        list(splitter.feed(b"e\n"))
    with pytest.raises(EndlessMessageError):
        Budget(2).take(bounded(b"x" * 101))
