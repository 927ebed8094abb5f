"""Parses arguments of tool calls at a cost bounded by their length.

LangChain parses the arguments of each chunk, and of the merged chunks. If they are not JSON, its parser drops the last
character and parses again until the rest is valid. 16 kB with one unescaped quote took a second of the event loop, and
each doubling takes four times as long. See decision 108.
"""

import json
from typing import Any

from jiter import from_json
from langchain_core.messages import ai
from langchain_core.utils.json import parse_partial_json

from checkpoints.values.limits import MAX_PART_VALUES, has_too_many_separators

MAX_REPAIRED_CHARS = 2_000
_REPLACED = "parse_partial_json"


class NoObjectError(ValueError):
    """Arguments are not a JSON object, as in most chunks."""


class TooManyValuesError(ValueError):
    """Arguments hold more values than `MAX_PART_VALUES`."""


def bound_argument_parsing() -> None:
    """Make LangChain's chunks parse arguments with `parse_arguments`, in the whole process.

    Raises `AttributeError` if this version of LangChain parses them elsewhere.
    """
    # The attribute must be there, since a version without it would not be bounded.
    getattr(ai, _REPLACED)
    setattr(ai, _REPLACED, parse_arguments)


def parse_arguments(text: str) -> Any:
    """Parse a JSON object as `parse_partial_json` does. Raises `ValueError` for other text, and for too many values.

    Invalid text longer than `MAX_REPAIRED_CHARS` is parsed only if just its end is missing.
    """
    if not text.lstrip().startswith("{"):
        raise NoObjectError
    if has_too_many_separators(text.encode(errors="ignore"), MAX_PART_VALUES):
        raise TooManyValuesError
    if len(text) <= MAX_REPAIRED_CHARS:
        return parse_partial_json(text)
    try:
        return json.loads(text, strict=False)
    except json.JSONDecodeError:
        return from_json(text.encode(errors="replace"), partial_mode="trailing-strings")
