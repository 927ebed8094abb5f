"""Reading of a file: what is refused, in which words, and at what cost."""

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
from checkpoints.interchange import document_checks, strict_json, waymark
from checkpoints.interchange.reading import read_document
from checkpoints.values import serde
from checkpoints.values.limits import MAX_DOCUMENT_VALUES, MAX_PART_VALUES, count_values, has_more_separators
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


@pytest.mark.parametrize(
    ("made", "product"),
    [
        ([{"title": "Sums", "mapping": {}, "current_node": "a"}], "ChatGPT"),
        ([{"uuid": "a", "name": "Sums", "chat_messages": []}], "Claude"),
        ({"conversationId": "a", "title": "Sums", "messages": []}, "LibreChat"),
    ],
)
def test_an_export_of_another_product_is_refused_by_its_name(made: Any, product: str) -> None:
    with pytest.raises(InvalidDocumentError) as refusal:
        read_document(json.dumps(made))
    can_read = "Waymark reads its own files (waymark/1) and exports of Open WebUI."
    assert str(refusal.value) == f"This is an export of {product}. {can_read}"


@pytest.mark.parametrize("text", ["", "# Sums", "null", "[]", "{}", '{"a":1}', '[{"a":1}]', '{"format":"waymark/2"}'])
def test_any_other_file_is_refused_with_the_names_of_what_can_be_read(text: str) -> None:
    with pytest.raises(InvalidDocumentError) as refusal:
        read_document(text)
    neither = "Waymark reads its own files (waymark/1) and exports of Open WebUI. This file is neither."
    assert str(refusal.value) == neither


def test_a_damaged_file_of_waymark_is_refused_with_its_fault() -> None:
    for text, fault in (
        ('{"format":"waymark/1"}', "exported_at is missing"),
        (written()[:-9], "The file is not JSON (line 1"),
    ):
        with pytest.raises(InvalidDocumentError, match=re.escape(fault)):
            read_document(text)


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
    at_limit = b"[" + b",".join([b'{"a":[%b]}' % b",".join([value] * 8)] * (MAX_DOCUMENT_VALUES // 10)) + b"]"
    assert len(strict_json.parse_strictly(at_limit)) == MAX_DOCUMENT_VALUES // 10
    monkeypatch.setattr(strict_json, "_DECODER", None)
    for beyond in (at_limit[:-1] + b",0]", b"[" + b"0," * 3_000_000 + b"0]", b"[" + b"[]," * MAX_DOCUMENT_VALUES + b"0]"):
        with pytest.raises(InvalidDocumentError, match="more than 500,000 values"):
            strict_json.parse_strictly(beyond)


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
    with pytest.raises(InvalidDocumentError) as caught:
        read_document(raw)
    assert max(converted) < 50_000
    assert len(str(caught.value)) < 200


MAX_READING_BYTES = 300 * 2**20  # of memory beside the file
DEAR: dict[str, Callable[[], str]] = {
    "one message": lambda: shapes.following([HumanMessage("x" * 9_500_000 + "\U0001f600")]),
    "small messages": lambda: shapes.following([HumanMessage("x")] * 33_000),
    "many values": lambda: shapes.following([HumanMessage("", additional_kwargs={"a": [{"b": ""}] * 9_900})] * 25),
}


@pytest.mark.slow
@pytest.mark.parametrize("is_resealed", [True, False])
@pytest.mark.parametrize(
    "kind", [each if each == "one message" else pytest.param(each, marks=pytest.mark.long) for each in DEAR]
)
def test_a_file_at_the_limits_is_read_or_refused_within_300_mib(kind: str, is_resealed: bool) -> None:
    text = DEAR[kind]()
    raw = text.encode() if is_resealed else json.dumps({**json.loads(text), "sha256": ""}, ensure_ascii=False).encode()
    del text
    tracemalloc.start()
    with nullcontext() if is_resealed else pytest.raises(InvalidDocumentError, match="sha256 does not fit"):
        read_document(raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MAX_READING_BYTES


NUMBERS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(NUMBERS | SEPARATORS, lambda below: st.lists(below) | st.dictionaries(SEPARATORS, below), max_leaves=8)


@given_examples(30, 300, JSON, st.booleans(), st.sampled_from([None, 1, 3]))
def test_json_is_read_as_python_reads_it(made: Any, is_escaped: bool, indent: int | None) -> None:
    found = strict_json.parse_strictly(json.dumps(made, ensure_ascii=is_escaped, indent=indent).encode())
    assert found == made
    assert json.dumps(found) == json.dumps(made)  # the kinds of numbers too


BROKEN = {
    b'{"a": [1, {"b": "\xc3\xa9"}],\n "c": tru': "The file is not JSON (line 2, column 7).",
    b'{"a": [1 2]}': "The file is not JSON (line 1, column 10).",
    b'{"a": 1,}': "The file is not JSON (line 1, column 8).",
    b'{"a": [1,]}': "The file is not JSON (line 1, column 9).",
    b'{"a": 1,\n }\n': "The file is not JSON (line 1, column 8).",
    b'{"a": {"b": [1, ]}}': "The file is not JSON (line 1, column 15).",
    b'{"a"\n"\xc3\xa9"}': "The file is not JSON (line 2, column 1).",
    b'{"a": 1} 2': "The file is not JSON (line 1, column 10).",
    b"{1: 2}": "The file is not JSON (line 1, column 2).",
    b'{"a": ': "The file is not JSON (line 1, column 7).",
    b"{": "The file is not JSON (line 1, column 2).",
    b'{"\xc3\xa9": "\x01"}': "The file is not JSON (line 1, column 8).",
    b'{"a": "\\x"}': "The file is not JSON (line 1, column 8).",
    b'{"a": "\xff"}': "The file is not UTF-8 text.",
    b'{"a": {"b": 1, "b": 1}}': "b appears twice in one object",
    b'{"a": 1, "a": [1]}': "a appears twice in one object",
    b'{"a": NaN}': "The file holds NaN, which is not a JSON number.",
    b'{"a": [1e999]}': "The file holds a number that is too large.",
    b'{"a": 1%b}' % (b"0" * 5_000): "The file holds a number that is too long.",
    b'{"a": %b}' % (b"[" * 100_000): "The file is nested deeper than 100 levels.",
    b'{"a": %b%b}' % (b"[" * 100, b"]" * 100): "The file is nested deeper than 100 levels.",
    b'{"a": "\\ud83d"}': "The file holds half of a surrogate pair, which is not text.",
    b'{"\\ud83d": 1}': "The file holds half of a surrogate pair, which is not text.",
}


@pytest.mark.parametrize("raw", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_file_is_refused_with_its_place_or_its_reason(raw: bytes) -> None:
    with pytest.raises(InvalidDocumentError, match=f"^{re.escape(BROKEN[raw])}$"):
        read_document(raw)


@pytest.mark.parametrize(("raw", "place"), [(b'{"a": [1,]}', "1, column 9"), (b'{"a":\n1, }', "2, column 2")])
def test_a_comma_too_many_is_named_at_its_place_on_every_python(raw: bytes, place: str) -> None:
    with pytest.raises(InvalidDocumentError, match=place):
        strict_json.parse_strictly(raw)


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
    long = "x" * 100_000 + "\U0001f600\n"
    made = json.loads(shapes.following([HumanMessage(long, additional_kwargs={long: [long]})]))
    made["thread"]["settings"] = {"instructions": long}
    made["checkpoints"] = json.loads(shapes.marked(["a"]))["checkpoints"]
    made["checkpoints"][0] |= {"message_id": "1-m0", "message_count": 1, "extra": {"state": long}}
    document = read_document(waymark.write_document(json.loads(resealed(made))).text)
    assert document.messages[0].message["data"] == {"content": long, "additional_kwargs": {long: [long]}}
    assert (document.thread.settings, document.checkpoints[0].extra) == ({"instructions": long}, {"state": long})


@given_examples(30, 300, JSON_OF_SEPARATORS, st.integers(-1, 1))
def test_brackets_and_commas_in_texts_are_no_values(value: Any, more: int) -> None:
    written, count = json.dumps([value]).encode(), sum(map(json.dumps([_blank_texts(value)]).count, "[{,"))
    assert has_more_separators(written, count + more) is (more < 0)


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
        (rb'["\ud83d\\\ude00"]', "half of a surrogate pair"),
        (rb'["\ud83d\ud83d\ude00"]', "half of a surrogate pair"),
        (b"[1e999]", "a number that is too large"),
        (b"[-1e999]", "a number that is too large"),
    ],
)
def test_half_a_character_and_an_endless_number_are_refused(text: bytes, reason: str) -> None:
    with pytest.raises(InvalidDocumentError, match=reason):
        strict_json.parse_strictly(text)


def test_whole_characters_in_escapes_and_numbers_with_a_point_are_read() -> None:
    raw = rb'["\ud83d\ude00", "\\ud83d", 1.5, -2e3]'
    assert strict_json.parse_strictly(raw) == ["😀", r"\ud83d", 1.5, -2000.0]
