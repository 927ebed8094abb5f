"""Reading of a file keeps no other thread waiting: it works in pieces, and refuses early."""

import json
import re
import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, TypeAdapter

from checkpoints import InvalidDocumentError
from checkpoints.interchange import document_checks, long_texts, member_reader, strict_json, waymark
from checkpoints.interchange.long_texts import MIN_LONG_BYTES, LongTexts
from checkpoints.interchange.member_reader import MemberReader
from checkpoints.interchange.reading import read_document
from checkpoints.values import serde
from checkpoints.values.limits import MAX_DOCUMENT_OBJECTS, MAX_DOCUMENT_VALUES, MAX_PART_VALUES, count_values
from tests.checkpoints import shapes
from tests.checkpoints.interchange.test_transfer import resealed
from tests.rounds import given_examples

LINES = [(f"m{number}", f"m{number - 1}" if number else None, HumanMessage("x" * 1_000)) for number in range(100)]
SEPARATORS = st.text('"\\[{,\n')
JSON_OF_SEPARATORS = st.recursive(SEPARATORS, lambda below: st.lists(below) | st.dictionaries(SEPARATORS, below))


def written() -> str:
    return shapes.written(LINES, ["m99"], [("m99", "End")])


def test_a_byte_order_mark_before_a_file_is_read_over() -> None:
    assert read_document(written().encode("utf-8-sig")) == read_document("\ufeff" + written()) == read_document(written())


def test_no_piece_that_is_validated_holds_the_body_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def record(validate: Callable[..., Any]) -> Callable[..., Any]:
        def record_and_validate(self: Any, text: str, *rest: Any) -> Any:
            sizes.append(len(text))
            return validate(self, text, *rest)

        return record_and_validate

    monkeypatch.setattr(TypeAdapter, "validate_json", record(TypeAdapter.validate_json))
    whole = classmethod(record(BaseModel.model_validate_json.__func__))  # type: ignore[attr-defined]
    monkeypatch.setattr(BaseModel, "model_validate_json", whole)
    assert len(read_document(written()).messages) == 100
    assert len(sizes) >= 100
    assert max(sizes) < 1_000


@pytest.mark.parametrize("value", [b"0", b'""'])
def test_a_file_of_more_values_than_the_limit_is_refused_before_it_is_parsed(
    monkeypatch: pytest.MonkeyPatch, value: bytes
) -> None:
    parsed, loads = [], json.loads
    monkeypatch.setattr(json, "loads", lambda text, **hooks: parsed.append(len(text)) or loads(text, **hooks))  # type: ignore[func-returns-value]
    parts = MAX_DOCUMENT_VALUES // 10
    at_limit = b"[" + b",".join([b'{"a":[%b]}' % b",".join([value] * 8)] * parts) + b"]"
    assert len(strict_json.parse_strictly(at_limit)) == parts
    assert len(parsed) == 1
    for beyond in (at_limit[:-1] + b",0]", b"[" + b"0," * 3_000_000 + b"0]"):
        with pytest.raises(InvalidDocumentError, match="more than 1,000,000 values"):
            strict_json.parse_strictly(beyond)
    assert len(parsed) == 1


def test_a_file_of_more_objects_than_the_limit_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    at_limit = b"[" + b",".join([b"{}"] * (MAX_DOCUMENT_OBJECTS - 1)) + b"]"
    assert len(strict_json.parse_strictly(at_limit)) == MAX_DOCUMENT_OBJECTS - 1
    monkeypatch.setattr(json, "loads", None)
    with pytest.raises(InvalidDocumentError, match="more than 250,000 objects and lists"):
        strict_json.parse_strictly(at_limit[:-1] + b",[]]")


LONG_TEXTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "title": lambda text: {"thread": {"title": text}},
    "unknown field": lambda text: {text: 1},
    "id": lambda text: {"messages": [{**json.loads(written())["messages"][0], "id": text}]},
    "name": lambda text: {"branches": [{"id": "b0", "name": text, "head": None}]},
}


@pytest.mark.parametrize("letter", ["x", "\U0001f600"])
@pytest.mark.parametrize("field", LONG_TEXTS)
def test_a_refused_text_of_megabytes_is_copied_nowhere(monkeypatch: pytest.MonkeyPatch, field: str, letter: str) -> None:
    made = {**json.loads(written()), **LONG_TEXTS[field]("x" * 3_000_000 + letter)}
    raw, converted, validate = json.dumps(made, ensure_ascii=False).encode(), list[int](), TypeAdapter.validate_json
    monkeypatch.setattr(TypeAdapter, "validate_json", lambda *each: converted.append(len(each[1])) or validate(*each))  # type: ignore[func-returns-value]
    tracemalloc.start()
    with pytest.raises(InvalidDocumentError) as caught:
        read_document(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert max(converted) < 50_000
    assert peak < 2.5 * len(raw)  # a text with an emoji has four bytes for each of its characters
    assert len(str(caught.value)) < 200


def _measure_peak(raw: bytes, reason: str | None) -> float:
    """Read a file, and return the most memory in lengths of the file."""
    tracemalloc.start()
    with nullcontext() if reason is None else pytest.raises(InvalidDocumentError, match=f"^{re.escape(reason)}$"):
        read_document(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / len(raw)


DAMAGED = "does not fit the message: the file is damaged or was edited"
UNKNOWN = "holds something other than text, which cannot be imported"


@pytest.mark.parametrize("is_escaped", [True, False])
def test_a_message_of_megabytes_is_refused_as_bytes(is_escaped: bool) -> None:
    text = "x" * 3_000_000 + "\U0001f600"
    whole = json.loads(shapes.following([HumanMessage(text)]))
    unknown = json.loads(shapes.following([HumanMessage([{"type": "image_url", "image_url": text}])]))
    damaged = json.loads(json.dumps(whole))
    damaged["messages"][0]["hash"] = "sha256:0"
    refused = {f"messages[0].hash {DAMAGED}": damaged, f"messages[0].message.data.content {UNKNOWN}": unknown}
    for reason, made in refused.items():
        assert _measure_peak(json.dumps(made, ensure_ascii=is_escaped).encode(), reason) < 2.5
    assert _measure_peak(json.dumps(whole, ensure_ascii=is_escaped).encode(), None) < 8  # the text alone takes four


@pytest.mark.slow
def test_small_messages_are_kept_as_bytes_until_all_are_checked() -> None:
    lines = [(f"m{number}", f"m{number - 1}" if number else None, HumanMessage("x")) for number in range(2_000)]
    whole = json.loads(shapes.written(lines, ["m1999"]))
    damaged = json.loads(json.dumps(whole))
    damaged["messages"][-1]["hash"] = "sha256:0"
    unlinked = json.loads(resealed({**whole, "active": "b9"}))
    refused = {f"messages[1999].hash {DAMAGED}": damaged, "active names a branch that is not in the file": unlinked}
    for reason, made in refused.items():
        assert _measure_peak(json.dumps(made).encode(), reason) < 2.9
    assert _measure_peak(json.dumps(whole).encode(), None) < 4


MAX_REFUSAL_BYTES = 30 * 2**20  # of memory beside the file, to refuse one of 9 MB
HOSTILE: dict[str, Callable[[], str]] = {
    "one message": lambda: shapes.following([HumanMessage("x" * 9_000_000 + "\U0001f600")]),
    "small messages": lambda: shapes.following([HumanMessage("x")] * 33_500),
}


@pytest.mark.slow
@pytest.mark.parametrize("is_resealed", [True, False])
@pytest.mark.parametrize("kind", ["one message", pytest.param("small messages", marks=pytest.mark.long)])
def test_a_damaged_file_of_9_mb_is_refused_within_30_mib(kind: str, is_resealed: bool) -> None:
    made = json.loads(HOSTILE[kind]())
    raw = (resealed({**made, "active": "b9"}) if is_resealed else json.dumps({**made, "sha256": "sha256:0"})).encode()
    reason = "active names a branch that is not in the file" if is_resealed else None
    del made
    tracemalloc.start()
    with pytest.raises(InvalidDocumentError, match=reason):
        read_document(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MAX_REFUSAL_BYTES


@given_examples(
    *(30, 300),
    st.recursive(st.text('"\\x\n\0\u00e9\U0001f600'), lambda below: st.lists(below) | st.dictionaries(SEPARATORS, below)),
    st.booleans(),
)
def test_long_texts_are_put_back_wherever_they_were(value: Any, is_escaped: bool) -> None:
    raw = json.dumps(value, ensure_ascii=is_escaped).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_texts, "MIN_LONG_BYTES", 4)
        patch.setattr(long_texts, "_WINDOW_BYTES", 2)
        patch.setattr(long_texts, "_PIECE_BYTES", 13)
        texts = LongTexts(raw)
        assert "".join(texts.iterate_canonical(json.loads(texts.rest))) == serde.to_canonical(value)
        assert texts.put_back(json.loads(texts.rest)) == value


NUMBERS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(NUMBERS | SEPARATORS, lambda below: st.lists(below) | st.dictionaries(SEPARATORS, below), max_leaves=8)


@given_examples(
    30, 300, st.dictionaries(SEPARATORS, JSON, max_size=4), st.booleans(), st.sampled_from([None, 1, 3]), st.integers(4, 40)
)
def test_members_are_read_as_python_reads_them(made: Any, is_escaped: bool, indent: int | None, window: int) -> None:
    raw = json.dumps(made, ensure_ascii=is_escaped, indent=indent).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(member_reader, "WINDOW_BYTES", window)
        assert _read_members(raw) == made
        assert json.dumps(_read_members(raw)) == json.dumps(made)  # the kinds of numbers too


def _read_members(raw: bytes) -> dict[str, Any]:
    reader = MemberReader(raw)
    found = {
        name: list(reader.iterate_items()) if reader.is_at("[") else reader.read_value() for name in reader.iterate_names()
    }
    reader.require_end()
    return found


BROKEN = (
    b'{"a": [1, {"b": "\xc3\xa9"}],\n "c": tru',
    b'{"a": [1 2]}',
    b'{"a": 1,}',
    b'{"a": [1,]}',
    b'{"a": 1,\n }\n',
    b'{"a": {"b": [1, ]}}',
    b'{"a"\n"\xc3\xa9"}',
    b'{"a": 1} 2',
    b"{1: 2}",
    b'{"a": ',
    b"{",
    b'{"a": "\x01"}',
    b'{"a": "\\x"}',
    b'{"a": "\xff"}',
    b'{"a": {"b": 1, "b": 1}}',
    b'{"a": 1, "a": [1]}',
    b'{"a": NaN}',
    b'{"a": [1e999]}',
    b'{"a": 1%b}' % (b"0" * 5_000),
    b'{"a": %b}' % (b"[" * 100_000),
    b'{"a": "\\ud83d"}',
    b'{"\\ud83d": 1}',
    b'{"a": %b%b}' % (b"[" * 100, b"]" * 100),
)


@pytest.mark.parametrize("raw", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("window", [4, 262_144])
def test_a_file_that_is_read_in_pieces_is_refused_as_a_whole_one_is(
    monkeypatch: pytest.MonkeyPatch, raw: bytes, window: int
) -> None:
    monkeypatch.setattr(member_reader, "WINDOW_BYTES", window)
    with pytest.raises(InvalidDocumentError) as whole:
        strict_json.parse_strictly(raw)
    with pytest.raises(InvalidDocumentError, match=f"^{re.escape(str(whole.value))}$"):
        read_document(raw)


@pytest.mark.parametrize(("raw", "place"), [(b'{"a": [1,]}', "1, column 9"), (b'{"a":\n1, }', "2, column 2")])
def test_a_comma_too_many_is_named_at_its_place_on_every_python(raw: bytes, place: str) -> None:
    with pytest.raises(InvalidDocumentError, match=place):
        strict_json.parse_strictly(raw)


@pytest.mark.parametrize(
    ("text", "reason"),
    [(b"\\ud83d", "half of a surrogate pair"), (b"\\x", "not JSON"), (b"\n", "not JSON"), (b"\xff", "not UTF-8")],
)
def test_a_long_text_is_as_strict_as_every_other(text: bytes, reason: str) -> None:
    raw = shapes.following([HumanMessage("here")]).encode()
    long = b'"\xf0\x9f\x98\x80%b%b"' % (b"x" * MIN_LONG_BYTES, text)
    with pytest.raises(InvalidDocumentError, match=reason):
        read_document(raw.replace(b'"here"', long))


@pytest.mark.parametrize("field", ["messages[99].hash", "sha256"])
def test_a_wrong_hash_is_refused_before_any_message_is_built(monkeypatch: pytest.MonkeyPatch, field: str) -> None:
    made = json.loads(written())
    (made if field == "sha256" else made["messages"][99])[field.rpartition(".")[2]] = "sha256:0"
    monkeypatch.setattr(serde, "_construct_message", lambda *_: pytest.fail("a message was built"))
    with pytest.raises(InvalidDocumentError, match=re.escape(f"{field} does not fit")):
        read_document(json.dumps(made))


def test_a_file_with_a_wrong_hash_is_refused_without_a_look_at_each_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its first messages are searched for the one that was damaged."""
    checked: list[str] = []
    parse = document_checks._parse_item
    monkeypatch.setattr(document_checks, "MAX_SEARCHED_MESSAGES", 30)
    monkeypatch.setattr(document_checks, "_parse_item", lambda name, *rest: checked.append(name) or parse(name, *rest))
    made = json.loads(written())
    for damaged, reason in ((29, "messages[29].hash does not fit the message"), (30, "sha256 does not fit")):
        messages = [part | {"hash": "sha256:0"} if at == damaged else part for at, part in enumerate(made["messages"])]
        with pytest.raises(InvalidDocumentError, match=re.escape(reason)):
            read_document(json.dumps({**made, "messages": messages}))
    assert checked.count("messages") == 60


def test_long_texts_are_imported_where_they_may_be() -> None:
    long = "x" * MIN_LONG_BYTES + "\U0001f600\n"
    made = json.loads(shapes.following([HumanMessage(long, additional_kwargs={long: [long]})]))
    made["thread"]["settings"] = {"instructions": long}
    made["checkpoints"] = json.loads(shapes.marked(["a"]))["checkpoints"]
    made["checkpoints"][0] |= {"message_id": "1-m0", "message_count": 1, "extra": {"state": long}}
    document = read_document(waymark.write_document(json.loads(resealed(made))).text)
    assert document.messages[0].message["data"] == {"content": long, "additional_kwargs": {long: [long]}}
    assert (document.thread.settings, document.checkpoints[0].extra) == ({"instructions": long}, {"state": long})


@given_examples(30, 300, JSON_OF_SEPARATORS, st.integers(2, 9))
def test_brackets_and_commas_in_texts_are_no_values(value: Any, piece_bytes: int) -> None:
    written, values = json.dumps(value), json.dumps(_blank_texts(value))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_json, "_PIECE_BYTES", piece_bytes)
        found = b"".join(strict_json._iterate_separators(written.encode()))
    assert found.decode() == "".join(each for each in values if each in "[{,}")


ROWS = [
    b"[" + b",".join([b"0"] * 40_001) + b"]",
    b"[" + b",".join([b"[]"] * 20_001) + b"]",
    b"[" + b",".join([b'"}"'] * 40_001) + b"]",
    b"{" + b",".join(b'"%d":0' % number for number in range(40_001)) + b"}",
    b'[{},{"a":' + b"[" * 20_000 + b'"}","' + b" " * 100_000 + b'}"' + b",0" * 20_001 + b"]",
]


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_values_in_a_row_that_would_keep_the_lock_are_refused_before_they_are_parsed(
    monkeypatch: pytest.MonkeyPatch, row: bytes
) -> None:
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("the file was parsed"))
    with pytest.raises(InvalidDocumentError, match="One part of the file holds more than 20,000 values"):
        strict_json.parse_strictly(row)


def write_part(place: str, values: int) -> str:
    """A document with a part of so many values."""
    made = json.loads(shapes.marked(["x"]))
    row = [0] * (values - 20)
    match place:
        case "thread":
            made[place]["settings"] = {"row": row}
        case "messages":
            made[place][0]["message"]["data"]["additional_kwargs"] = {"row": row}
        case "checkpoints":
            made[place][0]["extra"] = {"row": row}
        case _:
            made[place] = row
    part = made[place] if isinstance(made[place], dict) or place == "zz" else made[place][0]
    row += [0] * (values - count_values(part, 10**6))
    return resealed(made)


@pytest.mark.parametrize(
    ("place", "field"), [(name, f"{name}[0]") for name in ("messages", "checkpoints")] + [("thread",) * 2]
)
def test_a_part_has_a_limit_of_values(place: str, field: str) -> None:
    assert read_document(write_part(place, MAX_PART_VALUES)).messages
    with pytest.raises(InvalidDocumentError, match=re.escape(f"{field} holds more than 20,000 values")):
        read_document(write_part(place, MAX_PART_VALUES + 1))


def test_the_digits_of_a_part_have_the_same_limit() -> None:
    asked = [{"name": "x", "args": {"row": [10**400] * 4_000}, "id": "call_1"}]
    with pytest.raises(InvalidDocumentError, match="holds more than 20,000 values"):
        read_document(shapes.following([AIMessage("", tool_calls=asked)]))


@pytest.mark.parametrize("place", ["messages", "checkpoints", "thread", "zz"])
def test_nothing_converts_more_than_a_part_in_one_call(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    converted, dumps = list[int](), serde.to_canonical
    text = write_part(place, 2 * MAX_PART_VALUES - 100)
    monkeypatch.setattr(serde, "to_canonical", lambda value: converted.append(count_values(value, 10**6)) or dumps(value))  # type: ignore[func-returns-value]
    with pytest.raises(InvalidDocumentError, match="more than 20,000 values"):
        read_document(text)
    assert max(converted, default=0) <= MAX_PART_VALUES


def _blank_texts(value: Any) -> Any:
    """Return JSON of the same shape without texts."""
    if isinstance(value, dict):
        return {str(number): _blank_texts(each) for number, each in enumerate(value.values())}
    return [_blank_texts(each) for each in value] if isinstance(value, list) else 0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (rb'["\ud83d"]', "half of a surrogate pair"),
        (rb'["\UD83D"]'.replace(rb"\U", rb"\u"), "half of a surrogate pair"),
        (rb'{"\ude00": 1}', "half of a surrogate pair"),
        (rb'{"a": "\ude00"}', "half of a surrogate pair"),
        (b"[1e999]", "a number that is too large"),
        (b"[-1e999]", "a number that is too large"),
    ],
)
def test_half_a_character_and_an_endless_number_are_refused(text: bytes, reason: str) -> None:
    with pytest.raises(InvalidDocumentError, match=reason):
        strict_json.parse_strictly(text)


def test_whole_characters_in_escapes_and_numbers_with_a_point_are_read() -> None:
    assert strict_json.parse_strictly(rb'["\ud83d\ude00", 1.5, -2e3]') == ["😀", 1.5, -2000.0]
