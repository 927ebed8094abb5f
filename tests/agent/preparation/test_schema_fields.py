"""Fields of a form from JSON schemas, as Pydantic and people write them."""

import enum
import math
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, create_model

from agent.preparation.schema_fields import MAX_DEFAULT_CHARS, FormField, read_field
from checkpoints.values.limits import MAX_NUMBER


class Mood(enum.Enum):
    CALM = "calm"
    QUICK = "quick"


class Stars(enum.IntEnum):
    ONE = 1
    TWO = 2


def read(kind: Any, default: Any = ..., *, is_filled: bool = True, **wanted: Any) -> FormField:
    """Read the only field of a Pydantic model."""
    model: type[BaseModel] = create_model("Model", it=(kind, Field(default, **wanted)))
    schema = model.model_json_schema()
    is_needed = "it" in schema.get("required", ())
    return read_field("it", schema["properties"]["it"], schema.get("$defs", {}), is_needed=is_needed, is_filled=is_filled)


# A type and its default; then the kind, the default, whether it is required, and whether it is null when it is emptied.
FILLED: list[tuple[Any, Any, str, Any, bool, bool]] = [
    (bool, ..., "boolean", None, True, False),
    (bool, True, "boolean", True, True, False),
    (bool, False, "boolean", False, True, False),
    (bool | None, ..., "choice", None, False, True),
    (bool | None, None, "choice", None, False, False),
    (bool | None, True, "choice", True, False, True),
    (int, ..., "integer", None, True, False),
    (int, 3, "integer", 3, True, False),
    (int | None, None, "integer", None, False, False),
    (int | None, 3, "integer", 3, False, True),
    (float, 1.5, "number", 1.5, True, False),
    (str, ..., "text", None, True, False),
    (str, "Rome", "text", "Rome", False, False),
    (str, "", "text", "", False, False),
    (str | None, "Rome", "text", "Rome", False, True),
    (str | None, "", "text", "", False, False),
    (str | None, None, "text", None, False, False),
    (Annotated[str, Field(min_length=1)], "Rome", "text", "Rome", True, False),
    (Mood, ..., "choice", None, True, False),
    (Mood, Mood.CALM, "choice", "calm", True, False),
    (Mood | None, Mood.CALM, "choice", "calm", False, True),
    (Stars, Stars.TWO, "choice", 2, True, False),
    (Literal[1, 2], 2, "choice", 2, True, False),
    (Literal["one"], "one", "choice", "one", True, False),
    (Literal["s", "m"] | None, None, "choice", None, False, False),
]


@pytest.mark.parametrize(("kind", "default", "shown", "filled", "required", "is_null"), FILLED)
def test_a_field_is_filled_with_its_default_and_emptied_on_purpose(
    kind: Any, default: Any, shown: str, filled: Any, required: bool, is_null: bool
) -> None:
    field = read(kind, default)
    assert (field.kind, field.default, field.required, field.is_null_when_empty) == (shown, filled, required, is_null)
    assert type(field.default) is type(filled)


@pytest.mark.parametrize(("kind", "default"), [(each[0], each[1]) for each in FILLED])
def test_inputs_of_a_graph_are_required_where_it_has_no_default(kind: Any, default: Any) -> None:
    field = read(kind, default, is_filled=False)
    is_nullable = kind is not None and type(None) in getattr(kind, "__args__", ())
    assert (field.required, field.is_null_when_empty) == (default is ... and not is_nullable, default is ... and is_nullable)
    assert field.kind != "boolean"
    assert field.default == read(kind, default).default


def test_choices_keep_the_types_of_their_options() -> None:
    assert read(Stars).options == (1, 2)
    assert read(Literal["a", 1, True, None]).options == ("a", 1, True)
    assert read(bool | None).options == (True, False)
    assert read_field("it", {"enum": ["a", None]}, {}, is_needed=True).is_null_when_empty
    for options in ([], [""], [[1]], [math.inf], ["x" * 201], ["x"] * 201):
        assert read_field("it", {"enum": options}, {}, is_needed=True).kind == "json"


def test_limits_are_those_of_the_input_inside_an_optional_type_too() -> None:
    assert read(int, 3, ge=1, le=14).limits == {"min": 1, "max": 14}
    assert read(int | None, None, gt=0, lt=10).limits == {"min": 1, "max": 9}
    halves = {"type": "integer", "exclusiveMinimum": 0.5, "maximum": 9.5}
    assert read_field("it", halves, {}, is_needed=True).limits == {"min": 1, "max": 9}
    assert read(float, 1.5, gt=0, lt=2).limits == {"min": math.nextafter(0, 1), "max": math.nextafter(2, 0)}
    assert read(str | None, None, min_length=2, max_length=5).limits == {"minLength": 2, "maxLength": 5}
    assert read(float, 1.5, le=math.inf).limits == read(bool, True).limits == {}


def test_the_words_of_an_author_stand_outside_an_optional_type() -> None:
    field = read(int | None, 3, title="Nights", description="How long you stay.", ge=1)
    assert (field.label, field.description, field.default) == ("Nights", "How long you stay.", 3)
    assert read_field("room_size", {"type": "integer"}, {}, is_needed=False).label == "Room size"


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("integer", "3"),
        ("integer", True),
        ("integer", 1.5),
        ("integer", 2**64),
        ("number", MAX_NUMBER + 1),
        ("number", math.inf),
        ("number", math.nan),
        ("boolean", 1),
        ("boolean", "true"),
        ("string", 3),
        ("string", "x" * (MAX_DEFAULT_CHARS + 1)),
        ("array", [math.nan]),
        ("object", {}),
    ],
)
def test_a_default_that_a_field_cannot_hold_is_left_to_the_graph(kind: str, default: Any) -> None:
    field = read_field("it", {"type": kind, "default": default}, {}, is_needed=False, is_filled=True)
    assert (field.default, field.required, field.is_null_when_empty) == (None, False, False)


def test_a_default_that_the_numbers_of_a_browser_cannot_hold_is_its_digits() -> None:
    assert [read(int, default).default for default in (MAX_NUMBER, MAX_NUMBER + 1, -(2**63))] == [
        MAX_NUMBER,
        str(MAX_NUMBER + 1),
        str(-(2**63)),
    ]
    assert read(int, MAX_NUMBER + 2, le=MAX_NUMBER).default is None


def test_a_default_outside_its_limits_is_left_to_the_graph() -> None:
    assert read(int, 0, ge=1).default is read(str, "", min_length=1).default is read(Literal["a"], "b").default is None


def test_the_default_of_a_list_is_shown_as_json() -> None:
    assert read(list[str], ["a"], is_filled=False).default == '["a"]'
    assert read(list[str], [], is_filled=False).default is None
