"""A tool of another program for a model: its name, description, schema and results, cleaned and limited."""

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic_core import to_json

from agent.fence import clean_text
from checkpoints.values.limits import MAX_ARGUMENT_LEVELS, has_more_values, is_deeper, to_label
from checkpoints.values.text import shorten_for_model

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock

# The providers' limit.
MAX_TOOL_NAME_CHARS = 64
MAX_TOOL_DESCRIPTION_CHARS = 2_000
# Limits of one tool's schema, and of all its texts. A larger tool is not offered, because a request carries every schema.
MAX_SCHEMA_VALUES = 2_000
MAX_SCHEMA_CHARS = 40_000
MAX_REMOTE_RESULT_CHARS = 40_000
_TEXTS = ("title", "description", "$comment")
_FOREIGN_SIGNS = re.compile(r"[^A-Za-z0-9_-]")


class RemoteTool(BaseTool):
    """A tool that receives its arguments unchanged.

    LangChain's own call keeps `config`, `run_manager` and `callbacks` for itself, refuses `self`, and reads `{"type":
    "tool_call"}` as a call around the arguments.
    """

    args_schema: dict[str, Any]
    call: Callable[[dict[str, Any]], Awaitable[str]]

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return await self.call(dict(input))

    def _run(self, *args: Any, **kwargs: Any) -> str:
        raise NotImplementedError("A remote tool is only called asynchronously.")


class UnusableSchemaError(ValueError):
    """A tool cannot be offered to a model. The text says why."""


def adapt_tool(
    server: str, name: str, description: str, schema: dict[str, Any], call: Callable[[dict[str, Any]], Awaitable[str]]
) -> RemoteTool:
    """Return the tool under a name in the providers' alphabet. Raises UnusableSchemaError."""
    if is_deeper(schema, MAX_ARGUMENT_LEVELS) or has_more_values(schema, MAX_SCHEMA_VALUES) or _has_large_references(schema):
        raise UnusableSchemaError("its schema is too large")
    cleaned = _clean_schema(schema)
    tool = RemoteTool(
        name=_FOREIGN_SIGNS.sub("_", f"{server}__{name}")[:MAX_TOOL_NAME_CHARS],
        description=clean_text(description[:MAX_TOOL_DESCRIPTION_CHARS]),
        args_schema=cleaned,
        call=call,
    )
    if max(len(str(cleaned)), len(_describe_to_model(tool))) > MAX_SCHEMA_CHARS:
        raise UnusableSchemaError("its schema is too large")
    return tool


def _describe_to_model(tool: RemoteTool) -> str:
    """Return the tool as a request has it. A tool without a description would fail every request."""
    try:
        return str(convert_to_openai_tool(tool))
    # LangChain resolves references, and they may be anything.
    except Exception as error:
        raise UnusableSchemaError("its schema cannot be read") from error


def _has_large_references(schema: dict[str, Any]) -> bool:
    """Return whether the schema has too many values with resolved references, since each may name others twice."""
    whole = {name: value for name, value in schema.items() if name not in ("$defs", "definitions")}
    waiting: list[tuple[Any, frozenset[str]]] = [(whole, frozenset())]
    count = 0
    while waiting:
        value, known = waiting.pop()
        below = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        name = value.get("$ref") if isinstance(value, dict) else None
        waiting += [(each, known) for each in below]
        if isinstance(name, str) and name not in known:
            waiting.append((_find_reference(schema, name), known | {name}))
        count += 1
        if count + len(waiting) > MAX_SCHEMA_VALUES:
            return True
    return False


def _find_reference(schema: dict[str, Any], name: str) -> Any:
    value: Any = schema
    for part in name.split("/")[1:]:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _clean_schema(schema: Any) -> Any:
    """Return the schema with clean texts for the model. Names and values must already be clean, because they are exact."""
    if isinstance(schema, list):
        return [_clean_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return _check_exact_text(schema)
    return {
        _check_exact_text(key): clean_text(each[:MAX_TOOL_DESCRIPTION_CHARS])
        if key in _TEXTS and isinstance(each, str)
        else _clean_schema(each)
        for key, each in schema.items()
    }


def _check_exact_text(value: Any) -> Any:
    if isinstance(value, str) and not all(each.isprintable() or each in "\t\n" for each in value):
        raise UnusableSchemaError("its schema holds invisible characters")
    return value


def read_result(result: "CallToolResult") -> str:
    """Return the texts of a result, within the limit. Its values replace blocks without text."""
    texts = list(map(_describe_block, result.content))
    if result.structured_content is not None and not any(map(_find_text, result.content)):
        texts.append(to_json(result.structured_content).decode())
    joined = "\n".join(texts)
    return shorten_for_model(joined if joined.strip() else "(nothing)", MAX_REMOTE_RESULT_CHARS)


def _find_text(block: "ContentBlock") -> str:
    """Return the text of a block, or of the resource in it; empty if there is none."""
    text: str = getattr(block.resource if block.type == "resource" else block, "text", "")
    return text if text.strip() else ""


def _describe_block(block: "ContentBlock") -> str:
    """Return the text of a block, or a note about its kind."""
    if (text := _find_text(block)) or block.type == "text":
        return text
    if block.type == "resource":
        return f"(a resource at {to_label(block.resource.uri)}, which cannot be shown here)"
    if block.type == "resource_link":
        return f"(a link to {to_label(block.uri)})"
    return f"(content of the kind {block.type}, which cannot be shown here)"
