"""The questions of user graphs as cards: the schemas that people use, and whatever else."""

import json
from typing import Any

import pytest

from agent.preparation.questions import GraphQuestion
from agent.preparation.schema_fields import MAX_LABEL_CHARS
from components.views.question_forms import (
    MAX_SHOWN_CHARS,
    MAX_SHOWN_QUESTIONS,
    QuestionView,
    describe_questions,
)
from extensions.graphs.interrupts import to_plain


def describe(value: Any, schema: dict[str, Any] | None = None) -> QuestionView:
    (view,) = describe_questions([GraphQuestion("1", value, schema)], is_waiting=True)
    return view


def test_the_middleware_asks_about_calls_with_the_decisions_that_it_allows() -> None:
    review = {"action_name": "send", "allowed_decisions": ["approve", "reject"]}
    requests = [{"name": "send", "args": {"to": "Ada"}, "description": "A letter"}, {"name": "burn", "args": {}}]
    view = describe({"action_requests": requests, "review_configs": [review]})
    assert (view["style"], view["text"]) == ("middleware", "")
    assert [(each["name"], each["description"], each["decisions"]) for each in view["actions"]] == [
        ("send", "A letter", ["approve", "reject"]),
        ("burn", "", ["approve", "edit", "reject"]),
    ]
    assert view["actions"][0]["arguments"] == '{\n  "to": "Ada"\n}'


@pytest.mark.parametrize("in_list", [True, False])
def test_agent_inbox_asks_about_one_action(in_list: bool) -> None:
    request = {
        "action_request": {"action": "send", "args": {"to": "Ada"}},
        "config": {"allow_ignore": True, "allow_respond": True, "allow_edit": False, "allow_accept": True},
        "description": "A letter",
    }
    view = describe([request] if in_list else request)
    assert view["style"] == "inbox"
    assert view["actions"][0]["decisions"] == ["approve", "respond", "reject"]


def test_a_flat_schema_is_a_form() -> None:
    properties = {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer"},
        "size": {"enum": ["S", "L"]},
        "sure": {"type": "boolean"},
    }
    view = describe("Who?", {"type": "object", "properties": properties, "required": ["name"]})
    assert view["style"] == "form"
    assert [(each["label"], each["kind"], each["options"], each["required"]) for each in view["fields"]] == [
        ("Your name", "text", (), True),
        ("Age", "integer", (), False),
        ("Size", "choice", ("S", "L"), False),
        ("Sure", "choice", (True, False), False),
    ]


def test_a_field_that_may_be_null_is_of_its_other_type_and_not_required() -> None:
    nothing = {"type": "null"}
    properties = {
        "age": {"anyOf": [{"type": "integer"}, nothing], "title": "Your age"},
        "size": {"anyOf": [{"enum": ["S", "L"], "type": "string"}, nothing]},
        "name": {"type": ["string", "null"]},
        "room": {"anyOf": [{"type": "integer"}, nothing]},
    }
    view = describe("Who?", {"type": "object", "properties": properties, "required": ["age", "size", "name"]})
    assert [(each["label"], each["kind"], each["options"], each["required"]) for each in view["fields"]] == [
        ("Your age", "integer", (), False),
        ("Size", "choice", ("S", "L"), False),
        ("Name", "text", (), False),
        ("Room", "integer", (), False),
    ]
    assert [each["is_null_when_empty"] for each in view["fields"]] == [True, True, True, False]
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}, nothing]}
    assert describe("Who?", {"properties": {"name": either}})["fields"] == []


def test_a_definition_that_names_itself_is_answered_as_text() -> None:
    definitions = {"A": {"$ref": "#/$defs/B"}, "B": {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}}
    assert describe("Who?", {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": definitions})["style"] == "text"


def test_questions_of_one_id_have_keys_of_their_own_that_every_process_finds() -> None:
    assert describe("City?")["key"] == describe("City?")["key"] != describe("Street in Rome?")["key"]
    assert describe({"a": 1, "b": 2})["key"] == describe({"b": 2, "a": 1})["key"]
    assert to_plain({"names": {"b", "a", "c"}}) == {"names": ["a", "b", "c"]}


def test_a_question_that_is_a_flat_schema_itself_is_a_form_with_its_words() -> None:
    schema = {"type": "object", "properties": {"row": {"type": "integer"}}, "required": ["row"]}
    view = describe(schema | {"title": "Seat", "description": "Where do you sit?"})
    assert (view["style"], view["text"]) == ("form", "Seat\n\nWhere do you sit?")
    assert [(each["name"], each["kind"], each["required"]) for each in view["fields"]] == [("row", "integer", True)]
    assert describe(schema)["text"] == ""
    of_answer = {"properties": {"name": {"type": "string"}}}
    assert [each["name"] for each in describe(schema, of_answer)["fields"]] == ["name"]


@pytest.mark.parametrize(
    ("value", "schema", "style", "text"),
    [
        ("Your name?", None, "text", "Your name?"),
        ({"options": [1]}, None, "json", '{\n  "options": [\n    1\n  ]\n}'),
        (None, None, "json", "null"),
        ({"action_requests": "all"}, None, "json", '{\n  "action_requests": "all"\n}'),
        ([{"action_request": 1}], None, "json", None),
        ({}, {"properties": {"list": {"type": "array"}}}, "json", "{}"),
        ("Who?", {"properties": {"name": True}}, "text", "Who?"),
        ({"type": "object", "properties": {"list": {"type": "array"}}}, None, "json", None),
        ({"properties": {"name": {"type": "string"}}}, None, "json", None),  # it may be any value of that form
    ],
)
def test_anything_else_is_answered_as_text_or_json(
    value: Any, schema: dict[str, Any] | None, style: str, text: str | None
) -> None:
    view = describe(value, schema)
    assert view["style"] == style
    assert text in (None, view["text"])


NODE = {"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"tags": {"type": "array"}}},
        {"type": "object", "properties": {}},
        {"type": "boolean"},
        {"type": ["integer", "null"]},
        {"enum": [1, "one"]},
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
    ],
    ids=str,
)
def test_an_answer_that_is_neither_flat_nor_text_is_json_beside_its_schema(schema: dict[str, Any]) -> None:
    view = describe("Which tags?", schema)
    assert (view["style"], view["text"], view["is_code"]) == ("json", "Which tags?", False)
    assert json.loads(view["answer_schema"]) == schema


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string", "maxLength": 3},
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"$ref": "#/$defs/City", "$defs": {"City": {"enum": ["Rome"], "type": "string"}}},
        {"type": None, "anyOf": 7},
    ],
    ids=str,
)
def test_an_answer_that_may_be_a_string_is_text(schema: dict[str, Any]) -> None:
    assert (describe("City?", schema)["style"], describe("City?", schema)["text"]) == ("text", "City?")


def test_a_graph_that_stops_without_a_question_is_let_go_on() -> None:
    assert [view["style"] for view in describe_questions([], is_waiting=True)] == ["continue"]
    assert describe_questions([], is_waiting=False) == []


def _describe_form(options: list[str]) -> QuestionView:
    schema = {"properties": {"size": {"enum": options}}}
    return describe_questions([GraphQuestion("q", {}, schema)], is_waiting=True)[0]


def test_long_and_many_questions_are_cut() -> None:
    assert len(describe("x" * 100_000)["text"]) == MAX_SHOWN_CHARS + 1
    (action,) = describe({"action_requests": [{"name": "n" * 1000, "args": {"text": "x" * 100_000}}]})["actions"]
    assert (len(action["name"]), len(action["arguments"])) == (MAX_LABEL_CHARS, MAX_SHOWN_CHARS + 1)
    assert action["decisions"] == ["approve", "reject"]
    calls = describe({"action_requests": [{"name": "send"}] * 51})
    assert (calls["style"], calls["actions"]) == ("json", [])
    for options in (["x"] * 201, ["x" * 201]):
        assert _describe_form(options)["style"] == "json"
    assert _describe_form(["x" * 200] * 200)["style"] == "form"
    many = [GraphQuestion(str(n), "?") for n in range(100)]
    assert len(describe_questions(many, is_waiting=True)) == MAX_SHOWN_QUESTIONS


WRONG_VALUES: list[Any] = [1, 1.5, True, "x", {}, {"a": 1}, [], [1], [["a"]], None]


@pytest.mark.parametrize("wrong", WRONG_VALUES)
def test_a_question_in_half_of_a_known_schema_is_shown(wrong: Any) -> None:
    """An error here would lock the conversation: the question is on disk, and comes with each view."""
    review = {"action_name": "s", "allowed_decisions": wrong}
    for value in (
        {"action_requests": [{"name": "s", "args": {}}], "review_configs": [review]},
        {"action_requests": [{"name": wrong, "args": wrong, "description": wrong}], "review_configs": wrong},
        {"action_request": {"action": wrong, "args": wrong}, "config": wrong, "description": wrong},
        {"action_requests": wrong, "action_request": wrong},
    ):
        view = describe(value)
        assert view["text"] or all(each["decisions"] for each in view["actions"])
    field = {"type": "string", "enum": wrong, "title": wrong, "description": wrong, "default": wrong, "minLength": wrong}
    assert describe("Who?", {"properties": {"name": field}, "required": wrong})["text"] == "Who?"
    for kind in ("integer", "number"):
        field = {"type": kind, "default": wrong, **dict.fromkeys(("minimum", "exclusiveMinimum", "maximum"), wrong)}
        assert describe("Who?", {"properties": {"name": field}})["style"] == "form"
    of_wrong = {"properties": {"name": {"$ref": "#/$defs/Name"}}, "$defs": wrong}
    assert describe("Who?", of_wrong)["style"] == "text"
    for schema in ({"properties": {"name": {"type": wrong}}}, {"properties": {"name": wrong}}, {"properties": wrong}):
        assert describe("Who?", schema)["text"] == "Who?"


@pytest.mark.parametrize(
    "value",
    [
        {
            "action_request": {"action": "send"},
            "config": dict.fromkeys(("allow_accept", "allow_edit", "allow_respond", "allow_ignore"), False),
        },
        {"action_requests": [{"name": "s"}], "review_configs": [{"action_name": "s", "allowed_decisions": ["later"]}]},
        {
            "action_requests": [{"name": "s", "args": "y" * MAX_SHOWN_CHARS}],
            "review_configs": [{"action_name": "s", "allowed_decisions": ["edit"]}],
        },
    ],
)
def test_a_call_about_which_nothing_can_be_decided_is_answered_as_json(value: Any) -> None:
    view = describe(value)
    assert (view["style"], view["actions"]) == ("json", [])
    assert view["text"]


def test_the_calls_and_fields_of_questions_are_limited_together() -> None:
    large = {"name": "n" * 1_000, "args": "y" * MAX_SHOWN_CHARS, "description": "z" * MAX_SHOWN_CHARS}
    calls = {"action_requests": [large] * 50}
    schema = {"properties": {f"{name}" * 100_000: {"enum": ["o" * MAX_LABEL_CHARS] * 200} for name in range(10)}}
    questions = [GraphQuestion(str(place), calls, schema) for place in range(MAX_SHOWN_QUESTIONS)]
    views = describe_questions(questions, is_waiting=True)
    assert [view["style"] for view in views] == ["json"] * MAX_SHOWN_QUESTIONS
    assert len(json.dumps(views)) < 2 * MAX_SHOWN_QUESTIONS * MAX_SHOWN_CHARS
    (one,) = describe({"action_requests": [large]})["actions"]
    assert one["decisions"] == ["approve", "reject"]  # a name that is cut would not come back as it was
