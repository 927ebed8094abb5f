"""Reading of a file keeps no other thread waiting: it works in pieces, and refuses early."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel, TypeAdapter

from checkpoints import InvalidDocumentError, serde
from checkpoints.interchange import strict_json
from checkpoints.interchange.reading import read_document
from tests.checkpoints import shapes

LINES = [(f"m{number}", f"m{number - 1}" if number else None, HumanMessage("x" * 1_000)) for number in range(100)]


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


def test_a_message_of_very_many_values_is_refused_before_it_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("checkpoints.interchange.document_checks.MAX_ITEM_VALUES", 1_000)
    value, copied = json.loads(written()), []
    value["messages"][3]["message"]["data"]["content"] = [0] * 2_000
    to_canonical = serde.to_canonical
    monkeypatch.setattr(serde, "to_canonical", lambda each: copied.append(each) or to_canonical(each))  # type: ignore[func-returns-value]
    with pytest.raises(InvalidDocumentError, match=r"^messages\[3\] holds more than 1,000 values"):
        read_document(json.dumps(value))
    assert value["messages"][3] not in copied


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
