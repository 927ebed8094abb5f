"""The authors of human messages in a graph's states: a person, or the graph itself.

A message written by a node is marked in the conversation. The graph reads its messages without the mark.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.types import INTERRUPT, RESUME

from ..rows import message_rows, write_rows
from ..rows.write_rows import StateKey
from ..values.errors import MessageNotFoundError
from ..values.graph_author import BY_GRAPH_KEY
from ..values.model import Message, Node

# LangGraph's task id for writes by a program's `Command`.
NULL_TASK_ID = "00000000-0000-0000-0000-000000000000"
_MAX_STATES = 1_000


def read_for_graph(stored: Message) -> BaseMessage:
    """Return a message in the graph's form. A message written by Waymark gets its node's id.

    Without an id, LangGraph would assign a different id in each run.
    """
    message = stored.langchain
    message.id = message.id or stored.id
    if stored.is_by_graph:
        message.additional_kwargs.pop(BY_GRAPH_KEY)
    return message


class GivenAnswers:
    """Answers to states' questions, as handed over by the runs of this process.

    A state has them only until the next state is written.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[StateKey, dict[str, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def note_writes(self, config: RunnableConfig, task_id: str, writes: Sequence[tuple[str, Any]]) -> None:
        """Record an answer among a task's writes. A subgraph's answer is recorded for the graph's own state."""
        given = [value for channel, value in writes if channel == RESUME]
        if not given:
            return
        at = config["configurable"]
        root_id = (
            at.get("checkpoint_map", {}).get("", at["checkpoint_id"]) if at.get("checkpoint_ns") else at["checkpoint_id"]
        )
        key = StateKey(str(at["thread_id"]), "", root_id)
        with self._lock:
            self._answers.setdefault(key, {})[task_id] = given
            self._answers.move_to_end(key)
            while len(self._answers) > _MAX_STATES:
                self._answers.popitem(last=False)

    def find_texts(self, key: StateKey) -> Collection[str]:
        """Return the texts of the answers, including texts nested in them."""
        with self._lock:
            return set(_list_texts(list(self._answers.get(key, {}).values())))


@dataclass(frozen=True, slots=True)
class RunBeginning:
    """The state where a run began whose nodes have written a step, and the texts of the answers given there.

    `is_first` marks the run's first step, which a program's `Command` may have written.
    """

    state: StateKey
    is_first: bool
    answers: Collection[str]


def find_graph_messages(
    connection: sa.Connection, beginning: RunBeginning, nodes: Mapping[str | None, Node], messages: Sequence[BaseMessage]
) -> Collection[int]:
    """Return the places of human messages written by nodes and not by a person, in a run with this beginning.

    A person's message that a node changed, moved or repeated keeps its author: `nodes` maps LangGraph's ids to the state's
    messages. So does the text of an answer to a question. If the answers are unknown, all messages count as the person's.
    """
    key = beginning.state
    written = write_rows.select_writes(connection, key.thread_id, key.namespace, [key.checkpoint_id])
    writes = written.get(key.checkpoint_id, ())
    has_asked = any(each.channel == INTERRUPT for each in writes)
    is_commanded = any(each.task_id == NULL_TASK_ID and each.channel != RESUME for each in writes)
    if (has_asked and not beginning.answers) or (beginning.is_first and (is_commanded or not has_asked)):
        return []
    places = [place for place, each in enumerate(messages) if each.type == "human"]
    return [
        place
        for place in places
        if str(messages[place].text).strip() not in beginning.answers
        and not _is_of_person(connection, key.thread_id, nodes, messages[place].id)
    ]


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from _list_texts(each)
    else:
        yield str(value).strip()


def _is_of_person(
    connection: sa.Connection, thread_id: str, nodes: Mapping[str | None, Node], message_id: str | None
) -> bool:
    node = nodes.get(message_id)
    stored_id = node.id if node else message_id
    try:
        return stored_id is not None and not message_rows.select_message(connection, stored_id, thread_id).is_by_graph
    except MessageNotFoundError:
        return False
