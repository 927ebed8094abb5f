"""Where a user graph is: the values that name it, and the errors of loading it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from checkpoints import StateError

MESSAGES_CHANNEL = "messages"  # the usual name of the channel that holds them


class GraphLoadError(StateError):
    """A graph that cannot be used. The text is one sentence that names its file, and the line where there is one."""


@dataclass(frozen=True, slots=True)
class GraphDefinition:
    """The address of a graph: a variable or a function of a Python file."""

    name: str  # in the list of models
    path: Path
    variable: str
    description: str = ""
    folders: Sequence[Path] = ()  # beside the file's own, whose modules the file may import
    context: Mapping[str, Any] = field(default_factory=dict)  # `runtime.context` of its runs
    messages_key: str | None = None  # the channel of the messages; None: the one whose type says so
    store_index: Mapping[str, Any] | None = None  # of LangGraph's `Store`, as its langgraph.json has it
    problem: str = ""  # the reason why there is no such file, where it is known already
