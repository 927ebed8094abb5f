"""A tool of another program as a model gets it: its name, description and schema cleaned and limited."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from agent.fence import clean_text
from checkpoints.limits import MAX_ARGUMENT_LEVELS, has_more_values, is_deeper

MAX_TOOL_NAME_CHARS = 64  # the providers' limit
MAX_TOOL_DESCRIPTION_CHARS = 2_000
MAX_SCHEMA_VALUES = 2_000  # of one tool; more is not offered, because a request carries every schema
MAX_SCHEMA_CHARS = 40_000  # of its texts together
_TEXTS = ("title", "description", "$comment")
_FOREIGN_SIGNS = re.compile(r"[^A-Za-z0-9_-]")


class RemoteTool(BaseTool):
    """A tool whose arguments arrive as they are.

    LangChain's own call keeps `config`, `run_manager` and `callbacks` for itself, refuses `self`, and reads
    `{"type": "tool_call"}` as a call around the arguments.
    """

    args_schema: dict[str, Any]
    call: Callable[[dict[str, Any]], Awaitable[str]]

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return await self.call(dict(input))

    def _run(self, *args: Any, **kwargs: Any) -> str:
        raise NotImplementedError("A remote tool is only called asynchronously.")


class UnusableSchemaError(ValueError):
    """A tool cannot be offered to a model; the text says why."""


def adapt_tool(
    server: str, name: str, description: str, schema: dict[str, Any], call: Callable[[dict[str, Any]], Awaitable[str]]
) -> RemoteTool:
    """Return the tool under a name of the providers' alphabet. Raises UnusableSchemaError."""
    if is_deeper(schema, MAX_ARGUMENT_LEVELS) or has_more_values(schema, MAX_SCHEMA_VALUES):
        raise UnusableSchemaError("its schema is too large")
    cleaned = _clean_schema(schema)
    if len(str(cleaned)) > MAX_SCHEMA_CHARS:
        raise UnusableSchemaError("its schema is too large")
    return RemoteTool(
        name=_FOREIGN_SIGNS.sub("_", f"{server}__{name}")[:MAX_TOOL_NAME_CHARS],
        description=clean_text(description[:MAX_TOOL_DESCRIPTION_CHARS]),
        args_schema=cleaned,
        call=call,
    )


def _clean_schema(schema: Any) -> Any:
    """Return the schema with clean texts for the model; a name or a value in it must be clean, because it is exact."""
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
