"""Properties of components: set beside an answer, by Dash within its callbacks, else with the reply of a request."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from dash import ctx, set_props

from components.replies import to_plain

# Properties are grouped by the component's id.
Properties = dict[str, dict[str, Any]]

_collected: ContextVar[Properties | None] = ContextVar("collected", default=None)


def set_properties(identifier: str, values: Mapping[str, Any]) -> None:
    """Set properties of a component. Call it within a callback or `collect_properties`."""
    collected = _collected.get()
    if collected is None:
        set_props(identifier, to_plain(dict(values)))
    else:
        collected.setdefault(identifier, {}).update(values)


@contextmanager
def collect_properties() -> Iterator[Properties]:
    """Collect the properties set until the block ends, in their order."""
    collected: Properties = {}
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def find_triggered_value() -> Any:
    """Return the value of the row's part that has triggered the callback. Dash's own has none beyond ASCII."""
    parts = [part for group in ctx.inputs_list or () if isinstance(group, list) for part in group]
    return next((part.get("value") for part in parts if part["id"] == ctx.triggered_id), None)
