"""The interrupts of a state that no answer has followed yet: they are on disk, whichever process or page shows them.

`components.views.question_forms` makes forms of them.
"""

import json
from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import PendingWrite
from langgraph.types import Interrupt

from agent.preparation.questions import GraphQuestion

_CHANNEL = "__interrupt__"
_UNFINISHED = (_CHANNEL, "__resume__", "__error__", "__error_source_node__")  # other writes are a task's results


def collect_questions(written: Sequence[PendingWrite]) -> list[GraphQuestion]:
    """Return the questions of tasks, from their writes. An interrupt of a subgraph is its node's as well."""
    done = {task_id for task_id, channel, _ in written if channel not in _UNFINISHED}
    written = [each for each in written if each[0] not in done]
    found = (each for _, channel, value in written if channel == _CHANNEL for each in _list_interrupts(value))
    questions = (GraphQuestion(each.id, to_plain(each.value), _read_schema(each)) for each in found)
    return list({question.id: question for question in questions}.values())


def to_plain(value: Any) -> Any:
    """Return a value as JSON. An object of the author's is shown as Python prints it."""
    return json.loads(json.dumps(value, default=_dump_object, skipkeys=True))


def _list_interrupts(value: Any) -> list[Interrupt]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, Interrupt)]


def _read_schema(interrupt: Interrupt) -> dict[str, Any] | None:
    schema = getattr(interrupt, "response_schema", None)
    return to_plain(schema) if isinstance(schema, dict) else None


def _dump_object(value: object) -> Any:
    dump = getattr(value, "model_dump", None)  # of pydantic
    return dump(mode="json") if callable(dump) else str(value)
