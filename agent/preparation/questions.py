"""Questions of user graphs to a person, as values: a graph waits until each has an answer."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class GraphQuestion:
    """A question (LangGraph: an interrupt). `value` is any JSON of the graph's author, in whatever schema."""

    id: str
    value: Any
    response_schema: dict[str, Any] | None = None  # of the answer, as JSON schema

    @property
    def key(self) -> str:
        """Return what tells this question from another of the same id, such as one that followed another answer."""
        content = json.dumps([self.id, self.value, self.response_schema], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class GraphDraft:
    """A text that a subgraph has written and the graph does not have yet. `agent` are the names of the nodes around it."""

    agent: str
    text: str
    question_ids: frozenset[str]  # of its questions; none where other subgraphs ask


@dataclass(frozen=True, slots=True)
class GraphRest:
    """What a user graph waits for where its conversation stands, as one reading."""

    questions: list[GraphQuestion] = field(default_factory=list)
    move_ids: list[str] = field(default_factory=list)  # of the calls whose moves through time wait for a person
    drafts: list[GraphDraft] = field(default_factory=list)
