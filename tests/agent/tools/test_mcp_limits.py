"""Messages of other programs: each of them, and all of a minute, have limits."""

import json

import pytest

from agent.tools import mcp_limits
from agent.tools.mcp_limits import MAX_MESSAGE_BYTES, MAX_MESSAGE_VALUES, MESSAGE_COST_BYTES, Allowance, MessageReader


def read(*pieces: bytes, end: bytes = b"\n") -> list[bytes | None]:
    reader = MessageReader(end, Allowance())
    return [message for piece in pieces for message in reader.feed(piece)]


def test_messages_are_split_wherever_the_pieces_end() -> None:
    assert read(b"a", b"b\nc\r\n\nd", b"\n", b"rest") == [b"ab\n", b"c\n", b"\n", b"d\n"]
    assert read(b"a\nb\r\n\r", b"\nc", end=b"\n\n") == [b"a\nb\n\n"]


def test_a_message_that_is_too_long_costs_no_other() -> None:
    half = b"x" * (MAX_MESSAGE_BYTES // 2 + 1)
    assert read(b"a\n" + half, half, half, half + b"\nb\n") == [b"a\n", None, b"b\n"]
    assert read(half + half + b"\nb\n") == [None, b"b\n"]


def test_a_body_without_an_end_is_a_message() -> None:
    reader = MessageReader(b"\0", Allowance())
    assert (list(reader.feed(b"a\n\n")), list(reader.feed(b"b")), reader.finish()) == ([], [], b"a\n\nb")


@pytest.mark.parametrize("block", ["[],", "{},", '"",', "0,", '{"type":"text","text":"a"},'])
def test_a_message_of_too_many_values_is_beyond_a_limit(block: str) -> None:
    def is_read(blocks: int) -> bool:
        return read(f'{{"result":{{"content":[{block * blocks}0]}}}}\n'.encode()) != [None]

    assert is_read(MAX_MESSAGE_VALUES // 5)
    assert not is_read(4 * MAX_MESSAGE_VALUES)


def test_half_of_an_emoji_costs_no_result() -> None:
    """Programs in JavaScript cut a text by UTF-16 units, and write the half as an escape."""
    whole = json.dumps(["\\ud83d \U0001f600 \ud83d"]).encode() + b"\n"
    assert b'\\ud83d"' in whole
    [message] = read(whole)
    assert message is not None
    assert json.loads(message) == ["\\ud83d \U0001f600 \ufffd"]


def test_the_messages_of_a_minute_and_their_bytes_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_limits, "MAX_MINUTE_BYTES", 2 * MESSAGE_COST_BYTES + 100)
    now = 0.0
    monkeypatch.setattr(mcp_limits, "monotonic", lambda: now)
    reader = MessageReader(b"\n", Allowance())

    assert list(reader.feed(b"a\nb\n")) == [b"a\n", b"b\n"]
    assert list(reader.feed(b"c\n")) == [None]
    now = 60.0
    assert list(reader.feed(b"the end of what is lost\nd\n")) == [b"d\n"]
    assert list(reader.feed(b"x" * (2 * MESSAGE_COST_BYTES))) == [None]
