"""Independent copies of LangChain's messages, and their comparison by value: nodes may change messages in place."""

from collections.abc import Sequence
from copy import deepcopy
from itertools import takewhile
from typing import Any, TypeVar

from langchain_core.messages import BaseMessage

M = TypeVar("M", bound=BaseMessage)


def duplicate_message(message: M) -> M:
    """Return a deep copy, in a fifth of the time of `deepcopy`."""
    copied, fields = object.__new__(type(message)), message.__dict__.copy()
    for name, value in fields.items():
        if type(value) is not str and value is not None:  # most of them
            fields[name] = _copy_value(value)
    object.__setattr__(copied, "__dict__", fields)
    object.__setattr__(copied, "__pydantic_fields_set__", set(message.__pydantic_fields_set__))
    object.__setattr__(copied, "__pydantic_extra__", _copy_value(message.__pydantic_extra__))
    object.__setattr__(copied, "__pydantic_private__", deepcopy(message.__pydantic_private__))
    return copied


def _copy_value(value: Any) -> Any:
    kind = type(value)
    if kind is str or value is None or kind is bool or kind is int or kind is float:
        return value
    if kind is dict:
        return {key: _copy_value(each) for key, each in value.items()}
    return [_copy_value(each) for each in value] if kind is list else deepcopy(value)


def count_equal(known: Sequence[BaseMessage], messages: Sequence[BaseMessage]) -> int:
    """Count the first messages that are equal in all fields."""
    pairs = zip(known, messages, strict=False)
    return sum(1 for _ in takewhile(_are_equal, pairs))


def _are_equal(pair: tuple[BaseMessage, BaseMessage]) -> bool:
    one, other = pair
    # pydantic's == takes 50 times as long
    return type(one) is type(other) and one.__dict__ == other.__dict__ and one.__pydantic_extra__ == other.__pydantic_extra__
