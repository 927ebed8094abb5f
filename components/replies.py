"""The JSON of replies to the page. It travels as application/json with `nosniff`, and never inside HTML.

Plotly's encoder in Dash escapes each `<` as six characters, so a script tag can hold its JSON. Replies with HTML became
several times too large. Only figures need that encoder, and the page has none.
"""

import json
from typing import Any

from dash import Patch
from dash.development.base_component import Component


def to_json(value: Any) -> bytes:
    """Serialize components and plain values. Raises `TypeError` or `ValueError` if JSON cannot represent a value."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_convert_component)
    return text.encode()


def to_plain(value: Any) -> Any:
    """Return a callback's values with components as plain objects.

    Dash's encoder looks for NumPy when it meets a component, and importing NumPy blocked the event loop for 70 ms.
    """
    if isinstance(value, Component | Patch):
        return to_plain(value.to_plotly_json())  # type: ignore[no-untyped-call]
    if isinstance(value, dict):
        return {key: to_plain(each) for key, each in value.items()}
    return type(value)(map(to_plain, value)) if type(value) in (list, tuple) else value


def _convert_component(value: Any) -> Any:
    if not isinstance(value, Component):
        raise TypeError(f"{type(value).__name__} is neither plain JSON nor a component")
    return value.to_plotly_json()  # type: ignore[no-untyped-call]
