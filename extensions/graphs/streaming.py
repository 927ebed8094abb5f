"""The stream of a running graph: provisional text, its nodes at work, and lines of its own."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage

from agent.events import GraphProgress
from checkpoints.langgraph.open_subgraphs import list_path
from checkpoints.values.text import shorten_line
from extensions.graphs.delegated_work import DelegatedWork
from extensions.graphs.reporter import MessageText, Reporter

MAX_SHOWN_LINES = 5  # custom values, the newest
MAX_LINE_CHARS = 200
MAX_SHOWN_NODES = 8
AGENT_SEPARATOR = " › "  # of the names of nodes
STREAM_MODES = ["messages", "tasks", "custom"]


class StreamReader:
    """Reads the parts of one run's stream (LangGraph's version v2: `type`, `ns` and `data`)."""

    def __init__(self, reporter: Reporter, delegated: DelegatedWork) -> None:
        self._reporter = reporter
        self._delegated = delegated
        self._nodes: dict[str, str] = {}  # at work, by task
        self._texts: defaultdict[str, dict[str | None, MessageText]] = defaultdict(dict)  # by task and message
        self._lines: deque[str] = deque(maxlen=MAX_SHOWN_LINES)

    def read_part(self, part: Mapping[str, Any]) -> None:
        """Report a part."""
        kind, namespace, data = part["type"], part["ns"], part["data"]
        if kind == "messages":
            self._note_text(namespace, *data)
        elif kind == "tasks":
            self._delegated.note_task(data)
            self._note_task(namespace, data)
        elif kind == "custom":
            self._lines.append(shorten_line(format_line(data), MAX_LINE_CHARS))
            self._show()

    def _note_text(self, namespace: Sequence[str], message: BaseMessage, metadata: Mapping[str, Any]) -> None:
        """Report text of the graph, and of subgraphs that are nodes. A tool's sub-agent is folded below its call."""
        if not isinstance(message, AIMessageChunk) or self._delegated.is_below_call(namespace):
            return
        texts = self._texts[metadata["langgraph_checkpoint_ns"].rpartition(":")[2]]
        text = texts.setdefault(message.id, MessageText(_join_names(namespace)))
        if piece := str(message.text):
            self._reporter.add_text(text, piece)
        if message.chunk_position == "last":
            self._reporter.end_texts([text], are_saved=False)

    def _note_task(self, namespace: Sequence[str], task: Mapping[str, Any]) -> None:
        if "input" in task:
            self._nodes[task["id"]] = _join_names([*namespace, f"{task['name']}:"])
        else:
            self._nodes.pop(task["id"], None)
            texts = self._texts.pop(task["id"], {}).values()
            self._reporter.end_texts(texts, are_saved=bool(namespace) and not task["interrupts"])
        self._show()

    def _show(self) -> None:
        nodes = list(dict.fromkeys(self._nodes.values()))[:MAX_SHOWN_NODES]
        self._reporter.show_progress(GraphProgress(tuple(nodes), tuple(self._lines)))


def _join_names(namespace: Sequence[str]) -> str:
    """Return the names of the nodes of a namespace."""
    return AGENT_SEPARATOR.join(list_path("|".join(namespace)))


def format_line(value: object) -> str:
    """Return a custom value as a text: it may be any object."""
    if isinstance(value, str):
        return value
    try:
        return ", ".join(f"{key}: {each}" for key, each in value.items()) if isinstance(value, Mapping) else str(value)
    except Exception as error:  # noqa: BLE001  (foreign code)
        return f"({type(value).__name__}, which cannot be shown: {type(error).__name__})"
