"""The stream of a running graph: provisional text, its nodes at work, and lines of its own."""

from collections import deque
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk

from agent.events import GraphProgress
from agent.user_graphs.delegated_work import DelegatedWork
from agent.user_graphs.reporter import Reporter
from checkpoints.values.text import shorten_line

MAX_SHOWN_LINES = 5  # custom values, the newest
MAX_LINE_CHARS = 200
MAX_SHOWN_NODES = 8
STREAM_MODES = ["messages", "tasks", "custom"]


class StreamReader:
    """Reads the parts of one run's stream (LangGraph's version v2: `type`, `ns` and `data`)."""

    def __init__(self, reporter: Reporter, delegated: DelegatedWork) -> None:
        self._reporter = reporter
        self._delegated = delegated
        self._nodes: dict[str, str] = {}  # at work, by task
        self._lines: deque[str] = deque(maxlen=MAX_SHOWN_LINES)

    def read_part(self, part: Mapping[str, Any]) -> None:
        """Report a part. Text of a subgraph is not shown: only the root's messages stay in the conversation."""
        kind, namespace, data = part["type"], part["ns"], part["data"]
        if kind == "messages" and not namespace:
            message, _ = data
            if isinstance(message, AIMessageChunk) and (text := str(message.text)):
                self._reporter.add_text(text)
        elif kind == "tasks":
            self._delegated.note_task(data)
            self._note_task(namespace, data)
        elif kind == "custom":
            self._lines.append(shorten_line(format_line(data), MAX_LINE_CHARS))
            self._show()

    def _note_task(self, namespace: tuple[str, ...], task: Mapping[str, Any]) -> None:
        if "input" in task:
            outer = [each.partition(":")[0] for each in namespace]
            self._nodes[task["id"]] = " › ".join([*outer, task["name"]])
        else:
            self._nodes.pop(task["id"], None)
        self._show()

    def _show(self) -> None:
        nodes = list(dict.fromkeys(self._nodes.values()))[:MAX_SHOWN_NODES]
        self._reporter.show_progress(GraphProgress(tuple(nodes), tuple(self._lines)))


def format_line(value: object) -> str:
    """Return a custom value as a text: it may be any object."""
    if isinstance(value, str):
        return value
    try:
        return ", ".join(f"{key}: {each}" for key, each in value.items()) if isinstance(value, Mapping) else str(value)
    except Exception as error:  # noqa: BLE001  (foreign code)
        return f"({type(value).__name__}, which cannot be shown: {type(error).__name__})"
