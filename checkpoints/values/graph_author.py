"""The mark, in `additional_kwargs`, of a human message written by a user graph and not by a person."""

from collections.abc import Mapping
from typing import Any

BY_GRAPH_KEY = "waymark_by_graph"


def is_by_graph(body: Mapping[str, Any]) -> bool:
    """Return whether a message's JSON, which may be damaged, has the mark."""
    data = body.get("data")
    kwargs = data.get("additional_kwargs") if isinstance(data, dict) else None
    return body.get("type") == "human" and isinstance(kwargs, dict) and kwargs.get(BY_GRAPH_KEY) is True


def mark_as_graphs(body: dict[str, Any]) -> dict[str, Any]:
    data = body["data"]
    return {**body, "data": {**data, "additional_kwargs": {**data.get("additional_kwargs", {}), BY_GRAPH_KEY: True}}}
