"""The authors of the human messages in a graph's states: a person, or the graph itself.

A message that a node wrote is marked in the conversation. The graph reads its messages without the mark.
"""

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.types import INTERRUPT

from ..rows import message_rows, write_rows
from ..rows.write_rows import StateKey
from ..values.errors import MessageNotFoundError
from ..values.graph_author import BY_GRAPH_KEY
from ..values.model import Message, Node


def read_for_graph(stored: Message) -> BaseMessage:
    """Return a message as its graph has it. One that Waymark wrote has the id of its node.

    Without an id, LangGraph would give it another one in each run.
    """
    message = stored.langchain
    message.id = message.id or stored.id
    if stored.is_by_graph:
        message.additional_kwargs.pop(BY_GRAPH_KEY)
    return message


def find_graph_messages(
    connection: sa.Connection, beginning: StateKey, nodes: Mapping[str | None, Node], messages: Sequence[BaseMessage]
) -> Collection[int]:
    """Return the places of the human messages that nodes wrote, in a run that began at this state, and no person.

    A person's message that a node changed, moved or repeated keeps its author: `nodes` are those of the state's messages by
    LangGraph's ids. In a run that began at a question to a person, a human message is the answer.
    """
    if _has_asked(connection, beginning):
        return []
    places = [place for place, each in enumerate(messages) if each.type == "human"]
    return [place for place in places if not _is_of_person(connection, beginning.thread_id, nodes, messages[place].id)]


def _has_asked(connection: sa.Connection, state: StateKey) -> bool:
    writes = write_rows.select_writes(connection, state.thread_id, state.namespace, [state.checkpoint_id])
    return any(each.channel == INTERRUPT for each in writes.get(state.checkpoint_id, ()))


def _is_of_person(
    connection: sa.Connection, thread_id: str, nodes: Mapping[str | None, Node], message_id: str | None
) -> bool:
    node = nodes.get(message_id)
    stored_id = node.id if node else message_id
    try:
        return stored_id is not None and not message_rows.select_message(connection, stored_id, thread_id).is_by_graph
    except MessageNotFoundError:
        return False
