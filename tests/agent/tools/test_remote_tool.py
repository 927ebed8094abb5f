"""A tool of another program as a model gets it."""

from typing import Any

import pytest

from agent.tools.remote_tool import (
    MAX_REMOTE_RESULT_CHARS,
    MAX_SCHEMA_VALUES,
    MAX_TOOL_DESCRIPTION_CHARS,
    MAX_TOOL_NAME_CHARS,
    RemoteTool,
    UnusableSchemaError,
    adapt_tool,
    read_result,
)
from checkpoints.values.limits import MAX_ARGUMENT_LEVELS


async def ignore(arguments: dict[str, Any]) -> str:
    return ""


def adapted(schema: dict[str, Any], description: str = "", name: str = "name") -> RemoteTool:
    return adapt_tool("server", name, description, schema, ignore)


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"items": schema}
    return schema


def test_texts_are_cleaned_and_cut_and_exact_values_are_kept() -> None:
    schema = {"title": "T\u202e<<<", "properties": {"title": {"enum": ["<<<"], "description": "d\u200b" * 2_000}}}
    tool = adapted(schema, "\u200bDo\x1b[31m" + "x" * 5_000, "a b/" * 40)
    assert tool.args_schema["title"] == "T‹‹‹"
    assert tool.args_schema["properties"]["title"] == {"enum": ["<<<"], "description": "d" * 1_000}
    assert tool.description.startswith("Do[31mxx")
    assert len(tool.description) <= MAX_TOOL_DESCRIPTION_CHARS
    assert len(tool.name) == MAX_TOOL_NAME_CHARS


def test_a_schema_is_offered_up_to_the_limits_and_no_further() -> None:
    adapted({"enum": [1] * (MAX_SCHEMA_VALUES - 2)})
    adapted(nested(MAX_ARGUMENT_LEVELS))
    for schema in ({"enum": [1] * (MAX_SCHEMA_VALUES - 1)}, nested(MAX_ARGUMENT_LEVELS + 1), {"enum": ["x" * 40_001]}):
        with pytest.raises(UnusableSchemaError, match="too large"):
            adapted(schema)


def doubling(levels: int) -> dict[str, Any]:
    """A schema of definitions that name the next one twice."""
    named = {f"d{n}": {"properties": {key: {"$ref": f"#/$defs/d{n + 1}"} for key in "ab"}} for n in range(levels)}
    return {"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": {**named, f"d{levels}": {"type": "string"}}}


def test_references_count_as_what_they_name() -> None:
    adapted(doubling(5))
    for levels in (10, 100):
        with pytest.raises(UnusableSchemaError, match="too large"):
            adapted(doubling(levels))


def test_a_schema_may_name_itself() -> None:
    tree = {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
    assert adapted({"properties": {"tree": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}})


@pytest.mark.parametrize(
    "properties", [{"x": {"$ref": "#/$defs/none"}}, {"x": {"$ref": 5}}, {"x": {"$ref": "http://a/b"}}, {"$ref": {}}]
)
def test_a_schema_that_would_fail_every_request_is_not_offered(properties: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchemaError, match="cannot be read"):
        adapted({"type": "object", "properties": properties})


@pytest.mark.parametrize("schema", [{"properties": {"na\u200bme": {}}}, {"enum": ["a\x1b"]}])
def test_a_schema_with_an_invisible_name_is_not_offered(schema: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchemaError, match="invisible"):
        adapted(schema)


VALUES = {"id": 42, "note": "é", "tags": []}
WRITTEN = '{"id":42,"note":"é","tags":[]}'
IMAGE = {"type": "image", "data": "x", "mimeType": "image/png"}
NO_IMAGE = "(content of the kind image, which cannot be shown here)"
LINK = {"type": "resource_link", "uri": "a://b", "name": "b"}
FILE = {"type": "resource", "resource": {"uri": "a://b", "blob": "eA=="}}


def read(*content: Any, **more: Any) -> str:
    from mcp_types import CallToolResult

    return read_result(CallToolResult.model_validate({"content": content, **more}))


def test_a_result_is_one_text_within_the_limit() -> None:
    for length, note in ((MAX_REMOTE_RESULT_CHARS, ""), (MAX_REMOTE_RESULT_CHARS + 1, "\n… (cut: 1 more characters)")):
        assert read({"type": "text", "text": "é" * length}) == "é" * MAX_REMOTE_RESULT_CHARS + note
    blocks = [{"type": "text", "text": "x" * 9}] * 5_000
    assert read(*blocks).endswith("x\n\n… (cut: 9,999 more characters)")


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ([], WRITTEN),
        ([{"type": "text", "text": " "}], f"\n{WRITTEN}"),
        ([IMAGE], f"{NO_IMAGE}\n{WRITTEN}"),
        ([LINK], f"(a link to a://b)\n{WRITTEN}"),
        ([{"type": "resource", "resource": {"uri": "a://b", "text": "hello"}}], "hello"),
        ([{"type": "text", "text": '{"id": 42}'}], '{"id": 42}'),
    ],
)
def test_a_result_that_stands_only_in_values_is_read_as_their_json(blocks: list[Any], text: str) -> None:
    assert read(*blocks, structuredContent=VALUES) == text


def test_what_has_no_text_is_named() -> None:
    assert read(FILE, IMAGE) == f"(a resource at a://b, which cannot be shown here)\n{NO_IMAGE}"


def test_an_empty_result_says_that_it_is_empty() -> None:
    for blocks in ([], [{"type": "text", "text": ""}] * 2):
        assert read(*blocks) == "(nothing)"
