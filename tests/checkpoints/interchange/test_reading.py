"""Reading of a file keeps no other thread waiting: it works in pieces, and refuses early."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from pydantic import BaseModel, TypeAdapter

from checkpoints import InvalidDocumentError
from checkpoints.interchange import strict_json
from checkpoints.interchange.reading import read_document
from checkpoints.limits import MAX_DOCUMENT_VALUES
from tests.checkpoints import shapes

LINES = [(f"m{number}", f"m{number - 1}" if number else None, HumanMessage("x" * 1_000)) for number in range(100)]
SEPARATORS = st.text('"\\[{,\n')
JSON_OF_SEPARATORS = st.recursive(SEPARATORS, lambda below: st.lists(below) | st.dictionaries(SEPARATORS, below))


def written() -> str:
    return shapes.written(LINES, ["m99"], [("m99", "End")])


def test_no_piece_that_is_validated_holds_more_than_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert max(sizes) < 2_000


@pytest.mark.parametrize("value", [b"0", b'""'])
def test_a_file_of_more_values_than_the_limit_is_refused_before_it_is_parsed(
    monkeypatch: pytest.MonkeyPatch, value: bytes
) -> None:
    parsed, loads = [], json.loads
    monkeypatch.setattr(json, "loads", lambda text, **hooks: parsed.append(len(text)) or loads(text, **hooks))  # type: ignore[func-returns-value]
    at_limit = b"[" + b",".join([value] * MAX_DOCUMENT_VALUES) + b"]"
    assert len(strict_json.parse_strictly(at_limit)) == MAX_DOCUMENT_VALUES
    assert len(parsed) == 1
    for beyond in (at_limit[:-1] + b",0]", b"[" + b"[]," * 3_000_000 + b"0]"):
        with pytest.raises(InvalidDocumentError, match="more than 1,000,000 values"):
            strict_json.parse_strictly(beyond)
    assert len(parsed) == 1


@given(JSON_OF_SEPARATORS, st.integers(2, 9))
def test_brackets_and_commas_in_texts_are_no_values(value: Any, piece_bytes: int) -> None:
    written, values = json.dumps(value), json.dumps(_blank_texts(value))
    count = sum(map(values.count, "[{,"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strict_json, "_PIECE_BYTES", piece_bytes)
        assert not strict_json._has_more_values(written.encode(), count)
        assert count == 0 or strict_json._has_more_values(written.encode(), count - 1)


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
