"""Independent copies of LangChain messages, and their comparison by value, because nodes may change messages in place."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage

M = TypeVar("M", bound=BaseMessage)
# Values of these types cannot change.
ATOMS = frozenset({str, int, float, bool, bytes, type(None)})
# Pydantic's own setter takes ten times as long.
_set_attribute = object.__setattr__


def duplicate_message(message: M) -> M:
    """Return a deep copy, in two fifths of the time of `deepcopy`."""
    copied, extra, private = object.__new__(type(message)), message.__pydantic_extra__, message.__pydantic_private__
    _set_attribute(copied, "__dict__", _copy_value(message.__dict__))
    _set_attribute(copied, "__pydantic_fields_set__", message.__pydantic_fields_set__.copy())
    _set_attribute(copied, "__pydantic_extra__", extra if extra is None else _copy_value(extra))
    _set_attribute(copied, "__pydantic_private__", private if private is None else deepcopy(private))
    return copied


def _copy_value(value: Any) -> Any:
    if type(value) is dict:
        return {name: each if type(each) in ATOMS else _copy_value(each) for name, each in value.items()}
    if type(value) is list:
        return [each if type(each) in ATOMS else _copy_value(each) for each in value]
    return deepcopy(value)


def count_equal(known: Sequence[BaseMessage], values: Sequence[object]) -> int:
    """Count the leading values that equal the known messages in all fields."""
    count = 0
    for message, value in zip(known, values, strict=False):
        # Pydantic's == takes 50 times as long.
        if type(value) is not type(message) or value.__dict__ != message.__dict__:
            break
        if value.__pydantic_extra__ != message.__pydantic_extra__:
            break
        count += 1
    return count
