"""Messages go into JSON and come out as they were, or are refused."""

import copy
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
    messages_from_dict,
)

from checkpoints.interchange import waymark
from checkpoints.values import serde
from tests import strategies

BODY = {"type": "human", "data": {"content": "hello"}}


@settings(max_examples=150, deadline=None, database=None)
@given(strategies.messages)
def test_a_message_comes_back_as_it_was(message: BaseMessage) -> None:
    text = json.dumps(serde.to_body(message))
    back = serde.to_message(json.loads(text))
    assert type(back) is type(message)
    assert back.model_dump() == message.model_dump()


@pytest.mark.parametrize("fields", [{"content": None}, {"content": [5]}, {"tool_calls": ["book"]}, {"tool_calls": "book"}])
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_message_that_could_not_be_read_again_is_not_written(fields: dict[str, Any]) -> None:
    message = AIMessage("x")
    for name, value in fields.items():
        setattr(message, name, value)
    with pytest.raises(serde.UnreadableMessageError):
        serde.to_body(message)


@settings(max_examples=50, deadline=None, database=None)
@given(strategies.json_objects)
def test_canonical_is_one_text_for_one_value(value: dict[str, Any]) -> None:
    turned = dict(reversed(list(value.items())))
    assert serde.to_canonical(turned) == serde.to_canonical(value)
    assert serde.to_canonical(json.loads(serde.to_canonical(value))) == serde.to_canonical(value)


def test_canonical_tells_different_values_apart() -> None:
    assert len({serde.to_canonical(value) for value in (1, 1.0, True, "1", None, [1], {"1": 1}, "", "é", "e")}) == 10


def test_fields_at_their_defaults_are_not_stored() -> None:
    assert serde.to_body(HumanMessage("hello")) == BODY


@pytest.mark.parametrize("artifact", [{}, [], "", 0, False], ids=repr)
def test_an_empty_artifact_is_not_none(artifact: Any) -> None:
    message = ToolMessage("done", tool_call_id="1", artifact=artifact)
    assert serde.to_message(serde.to_body(message)).artifact == artifact


def test_a_field_of_the_callers_own_is_kept_even_when_it_is_none() -> None:
    message = AIMessage("done", note=None, status="success", example=False)
    assert serde.to_message(serde.to_body(message)).model_dump() == message.model_dump()


def test_the_hash_changes_when_anything_changes() -> None:
    first = serde.hash_message(BODY, "main", "done", None)
    other = {"type": "human", "data": {"content": "hello "}}
    named = {"type": "human", "data": {"content": "hello", "name": "x"}}
    changed = [
        serde.hash_message(other, "main", "done", None),
        serde.hash_message(named, "main", "done", None),
        serde.hash_message({**BODY, "type": "ai"}, "main", "done", None),
        serde.hash_message(BODY, "judge", "done", None),
        serde.hash_message(BODY, "main", "partial", None),
        serde.hash_message(BODY, "main", "done", first),
    ]
    assert len({first, *changed}) == 7
    assert serde.hash_message(copy.deepcopy(BODY), "main", "done", None) == first


@pytest.mark.parametrize(
    "value", [(1, 2), {1, 2}, {1: "a"}, float("nan"), float("inf"), "\ud800", b"a", object()], ids=lambda v: type(v).__name__
)
def test_what_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        serde.to_body(HumanMessage("hello", additional_kwargs={"value": value}))


def test_a_streamed_message_is_kept_as_the_whole_message_that_it_is() -> None:
    chunk = AIMessageChunk("4", id="a", tool_call_chunks=[{"name": "add", "args": '{"a": 2}', "id": "1", "index": 0}])
    back = serde.to_message(serde.to_body(chunk))
    assert (type(back), back.content, back.tool_calls[0]["args"]) == (AIMessage, "4", {"a": 2})


def test_what_could_not_be_read_again_is_not_written() -> None:
    with pytest.raises(ValueError, match="not a type of message"):
        serde.to_body(RemoveMessage(id="a"))


@settings(max_examples=50, deadline=None, database=None)
@given(strategies.names | st.sampled_from(["constructor", "remove", "AIMessageChunk", "HumanMessage", ""]))
def test_a_type_that_is_not_a_messages_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="not a type of message"):
        serde.to_message({"type": kind, "data": {"content": "x", "id": "1", "role": "x", "name": "x"}})


@pytest.mark.parametrize("calls", ["x", ["x"], [{"name": 1}], [{}], {"a": 1}], ids=repr)
def test_tool_calls_of_no_known_shape_are_a_value_error(calls: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (pydantic's own text)
        serde.to_message({"type": "ai", "data": {"content": "", "tool_calls": calls}})


_KEYS = ["content", "id", "name", "additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls", "role"]
_KEYS += ["usage_metadata", "tool_call_id", "artifact", "status", "type", "content_blocks", "self", "args", "data", "own"]
_calls = st.lists(st.fixed_dictionaries({"name": strategies.names, "args": strategies.json_objects, "id": strategies.names}))
_counts = st.dictionaries(st.sampled_from(["input_tokens", "output_tokens", "total_tokens", "audio"]), st.integers())
_values = strategies.contents | strategies.json_values | _calls | _counts | st.fixed_dictionaries({"tool_calls": _calls})
_FUNCTION = {"name": "add", "arguments": '{"a": 1}'}
_hostile_data = st.dictionaries(st.sampled_from(_KEYS), _values, max_size=6)
_plain_data = st.fixed_dictionaries(
    {"content": strategies.contents, "role": strategies.names, "tool_call_id": strategies.names}
)
_data = st.builds(lambda plain, hostile: {**plain, **hostile}, _plain_data, _hostile_data) | _hostile_data
_bodies = st.fixed_dictionaries(
    {"type": st.sampled_from(["human", "ai", "system", "tool", "function", "chat"]), "data": _data}
)


def construct_message(body: dict[str, Any]) -> BaseMessage:
    """Build a message with LangChain's constructor alone."""
    data = json.loads(json.dumps(body["data"]))
    try:
        return messages_from_dict([{"type": body["type"], "data": data}])[0]
    except ValueError:
        if "usage_metadata" not in data:
            raise
        return construct_message({"type": body["type"], "data": {k: v for k, v in data.items() if k != "usage_metadata"}})
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError from error


def describe_message(build: Callable[[], BaseMessage]) -> Any:
    """Return everything that a message consists of, in order; None where it cannot be built."""
    try:
        found = build()
    except ValueError:
        return None
    fields = [(name, type(value), repr(value)) for name, value in found.__dict__.items()]
    return type(found), fields, found.model_fields_set, found.__pydantic_extra__, found.__pydantic_private__


@settings(max_examples=200, deadline=None, database=None)
@given(_bodies | st.builds(serde.to_body, strategies.messages))
@example({"type": "ai", "data": {"content": "a", "content_blocks": [{"type": "text", "text": "b"}]}})
@example({"type": "human", "data": {"content": "a", "self": 1}})
@example({"type": "human", "data": {"id": "a"}})
@example({"type": "tool", "data": {"content": 1, "tool_call_id": 2}})
@example({"type": "ai", "data": {"content": "", "usage_metadata": {"input_tokens": "many"}, "own": None}})
@example({"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": [{"id": "1", "function": _FUNCTION}]}}})
def test_a_message_is_what_its_constructor_makes_or_is_refused_as_well(body: dict[str, Any]) -> None:
    expected = describe_message(lambda: construct_message(json.loads(serde.to_canonical(body))))
    assert describe_message(lambda: serde.parse_message(serde.to_canonical(body))) == expected
    assert describe_message(lambda: serde.to_message(json.loads(serde.to_canonical(body)))) == expected


@settings(max_examples=200, deadline=None, database=None)
@given(strategies.json_values)
def test_canonical_json_is_parsed_as_by_pythons_parser(value: Any) -> None:
    text = serde.to_canonical(value)
    assert repr(serde.parse_canonical(text)) == repr(json.loads(text))


@pytest.mark.parametrize("levels", [150, 600])
def test_a_message_that_is_nested_deeply_comes_back(levels: int) -> None:
    value: Any = "end"
    for level in range(levels):
        value = {"in": value} if level % 2 else [value]
    body = {"type": "ai", "data": {"content": "", "additional_kwargs": {"value": value}}}
    for message in (serde.to_message(body), serde.parse_message(serde.to_canonical(body))):
        assert message.additional_kwargs == {"value": value}
        assert message.additional_kwargs["value"] is not value


def test_a_rebuilt_message_shares_nothing_with_its_body() -> None:
    body = serde.to_body(AIMessage("", tool_calls=[{"name": "add", "args": {"a": [1]}, "id": "1"}]))
    before = copy.deepcopy(body)
    serde.to_message(body).tool_calls[0]["args"]["a"].append(2)
    assert body == before


@given(st.dictionaries(strategies.texts, strategies.json_values | st.lists(strategies.json_values, max_size=4), max_size=4))
def test_the_pieces_of_a_document_are_its_canonical_json(document: dict[str, Any]) -> None:
    assert "".join(serde.iterate_canonical(document)) == serde.to_canonical(document)
    written = waymark.write_document(document)
    hashed = {name: value for name, value in document.items() if name not in waymark.UNHASHED}
    assert json.loads(written.text) == {**document, "sha256": serde.hash_document(hashed)}
    assert serde.parse_canonical(written.text) == json.loads(written.text)


def test_no_piece_of_a_document_holds_more_than_one_message() -> None:
    document = {"messages": ["x" * 1_000] * 50, "format": "waymark/1"}
    assert max(map(len, serde.iterate_canonical(document))) < 1_010


def test_no_call_that_hashes_releases_the_lock_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[bytes] = []
    monkeypatch.setattr(serde.hashlib, "sha256", lambda: _Recorder(hashed))
    serde.hash_canonical_body("é" * 5_000, "main", "complete", None)
    assert max(map(len, hashed)) < 2_048  # HASHLIB_GIL_MINSIZE in CPython
    assert "é" * 5_000 in b"".join(hashed).decode()


class _Recorder:
    def __init__(self, hashed: list[bytes]) -> None:
        self.update = hashed.append

    def hexdigest(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("\ud83d\ude00 \ud83d", "\U0001f600 \ufffd"),
        ("é\0", "é\ufffd"),
        ("\ud800" * serde.MAX_SURROGATES, "\ufffd" * serde.MAX_SURROGATES),
        ("é" + "\ud800" * (serde.MAX_SURROGATES + 1) + "\0", "é\ufffd"),
    ],
    ids=["pairs", "zero", "many", "too many"],
)
def test_halves_of_pairs_are_joined_or_replaced_and_left_out_where_they_are_too_many(text: str, clean: str) -> None:
    assert serde.sanitize_text(text) == clean


def test_a_text_of_nothing_but_halves_is_clean_in_a_moment() -> None:
    start = time.thread_time()
    assert serde.sanitize_text("\udc00" * 500_000) == ""
    assert time.thread_time() - start < 0.05  # 2 ms; replacing each takes 0.2 s
