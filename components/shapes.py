"""The shapes of the values from a page: the same check for actions, for readings of panels, and for callbacks.

A shape is a type, either a typed dictionary or a callback parameter's type. Unknown keys are dropped.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache
from inspect import Parameter, signature
from typing import Annotated, Any, TypeVar, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

from checkpoints.values.limits import MAX_SELECTED_THREADS, MAX_TOKENS
from words import _

Count = Annotated[int, Field(ge=0, le=MAX_TOKENS)]
# The page sends UUIDs.
RequestId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
T = TypeVar("T")
# Unused parameters have these names.
_UNUSED_NAMES = ("_", "__", "___")


class MalformedRequestError(Exception):
    """A request never sent by a page: a value is missing or has another shape. The answer is 400."""


def check_shape(shape: Any, value: Any, name: str) -> Any:
    """Return a value in its shape. Raises `MalformedRequestError` with the name, or with the unfit field."""
    try:
        return _make_adapter(shape).validate_python(value, strict=True)
    except ValidationError as error:
        place = error.errors(include_url=False, include_input=False, include_context=False)[0]["loc"]
        raise MalformedRequestError(place[0] if place else name) from None


def parse_body(shape: type[T], body: bytes) -> T:
    """Parse and check the JSON body of a request. Raises `MalformedRequestError`."""
    try:
        given: Any = json.loads(body)
    except (ValueError, RecursionError):
        raise MalformedRequestError("body") from None
    checked: T = check_shape(shape, given, "body")
    return checked


def check_selection(thread_ids: Sequence[object]) -> None:
    """Raise `MalformedRequestError` with a sentence if there are more conversations than an action may name."""
    if len(thread_ids) > MAX_SELECTED_THREADS:
        raise MalformedRequestError(_("At most {limit:,} conversations can be named at once.", limit=MAX_SELECTED_THREADS))


def check_arguments(function: Callable[..., Any]) -> Callable[[Sequence[Any]], list[Any]]:
    """Return a check of a function's positional values, by the types of its parameters."""
    hints = get_type_hints(function, include_extras=True)
    parameters = [each for each in signature(function).parameters.values() if each.kind is not Parameter.VAR_POSITIONAL]

    def check(values: Sequence[Any]) -> list[Any]:
        named = zip(parameters, values, strict=False)
        checked = [
            value if each.name in _UNUSED_NAMES else check_shape(hints[each.name], value, each.name) for each, value in named
        ]
        return [*checked, *values[len(checked) :]]

    return check


@cache
def _make_adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)
