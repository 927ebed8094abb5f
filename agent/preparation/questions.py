"""Questions of user graphs to a person, as values: a graph waits until each has an answer."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question (LangGraph: an interrupt). `value` is any JSON of the graph's author, in whatever schema."""

    id: str
    value: Any
    response_schema: dict[str, Any] | None = None  # of the answer, as JSON schema
