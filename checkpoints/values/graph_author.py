"""The mark of a human message that a user graph wrote, and no person: an entry of its `additional_kwargs`."""

from collections.abc import Mapping
from typing import Any

BY_GRAPH_KEY = "waymark_by_graph"


def is_by_graph(body: Mapping[str, Any]) -> bool:
    """Return whether the JSON of a message has the mark. It may be damaged."""
    data = body.get("data")
    kwargs = data.get("additional_kwargs") if isinstance(data, dict) else None
    return body.get("type") == "human" and isinstance(kwargs, dict) and kwargs.get(BY_GRAPH_KEY) is True


def mark_as_graphs(body: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a message with the mark."""
    data = body["data"]
    return {**body, "data": {**data, "additional_kwargs": {**data.get("additional_kwargs", {}), BY_GRAPH_KEY: True}}}
