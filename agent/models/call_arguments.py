"""The arguments of tool calls, parsed at a cost that grows with their length alone.

LangChain parses the arguments of each piece of an answer, and of the pieces joined. Where they are not JSON, its parser
drops the last character and parses again, until the rest can be read: 16 kB with one unescaped quote took a second of the
event loop, and four times as long for each doubling. See decision 108.
"""

import json
from typing import Any

from langchain_core.messages import ai

from agent.models.cut_json import parse_cut_json
from checkpoints.values.limits import MAX_PART_VALUES, has_too_many_separators

_REPLACED = "parse_partial_json"


class TooManyValuesError(ValueError):
    """Arguments hold more values than are parsed."""


def bound_argument_parsing() -> None:
    """Let LangChain's pieces of answers parse arguments with `parse_arguments`, in the whole process.

    Raises `AttributeError` for a version of LangChain that parses them elsewhere.
    """
    getattr(ai, _REPLACED)  # see above
    setattr(ai, _REPLACED, parse_arguments)


def parse_arguments(text: str) -> Any:
    """Parse JSON as `parse_partial_json` does, in a few passes. Raises `ValueError`, also for too many values."""
    if has_too_many_separators(text.encode(errors="ignore"), MAX_PART_VALUES):
        raise TooManyValuesError
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        return parse_cut_json(text)
