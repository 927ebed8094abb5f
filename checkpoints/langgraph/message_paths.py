"""A graph's messages as a path of the conversation's tree. Messages shared by two states are stored once."""

import bisect
import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from langchain_core.messages import BaseMessage, BaseMessageChunk, RemoveMessage

from ..changes.transaction import Transaction
from ..rows import message_rows, thread_rows
from ..values import serde
from ..values.errors import TooManyAlternativesError, UnfitMessageError
from ..values.graph_author import mark_as_graphs
from ..values.history import Path
from ..values.limits import describe_excess
from ..values.model import MAIN, NewMessage, Node
from ..values.sentence import sentence
from .message_authors import RunBeginning, find_graph_messages, read_for_graph
from .message_copies import count_equal, duplicate_message

# The limit counts the messages of all conversations together.
_MAX_KNOWN_MESSAGES = 50_000


@dataclass(frozen=True, slots=True)
class MessagePath:
    """The main agent's messages of a path, with their places. They are shared with no other code.

    The path may contain messages of sub-agents in between, hidden from the graph.
    """

    nodes: Sequence[Node] = ()
    messages: Sequence[BaseMessage] = ()

    @property
    def end(self) -> Node | None:
        return self.nodes[-1] if self.nodes else None

    @property
    def length(self) -> int:
        """The number of messages up to the last, including messages of sub-agents."""
        return self.nodes[-1].depth + 1 if self.nodes else 0

    def count_up_to(self, length: int) -> int:
        """Count these messages among the first `length` messages of the path."""
        return bisect.bisect_left(self.nodes, length, key=lambda node: node.depth)

    def cut_after(self, length: int) -> "MessagePath":
        return self if length == len(self.nodes) else MessagePath(self.nodes[:length], self.messages[:length])

    def extend(self, nodes: Sequence[Node], messages: Sequence[BaseMessage]) -> "MessagePath":
        return MessagePath([*self.nodes, *nodes], [*self.messages, *messages])


class KnownPaths:
    """The last path read or written of each conversation. Messages never change, so nothing here goes stale."""

    def __init__(self) -> None:
        self._paths: OrderedDict[str, MessagePath] = OrderedDict()
        self._count = 0
        self._lock = threading.Lock()

    def get_path(self, thread_id: str) -> MessagePath:
        with self._lock:
            return self._paths.get(thread_id, MessagePath())

    def keep_path(self, thread_id: str, path: MessagePath) -> None:
        with self._lock:
            self._count += len(path.nodes) - len(self._paths.pop(thread_id, MessagePath()).nodes)
            self._paths[thread_id] = path
            while self._count > _MAX_KNOWN_MESSAGES and len(self._paths) > 1:
                self._count -= len(self._paths.popitem(last=False)[1].nodes)

    def load_path(self, connection: sa.Connection, thread_id: str, message_id: str | None, length: int) -> MessagePath:
        """Return the path to a message, reading only unknown messages. Raises `DamagedMessageError`."""
        known = self.get_path(thread_id)
        if message_id is None:
            return MessagePath()
        count = known.count_up_to(length)
        if count and known.nodes[count - 1].id == message_id:
            return known.cut_after(count)
        node = thread_rows.select_node(connection, message_id, thread_id)
        path = thread_rows.load_path(connection, thread_id, message_id)
        assert node is not None
        shared = bisect.bisect_left(known.nodes, True, key=lambda each: each not in path)
        common = known.cut_after(shared)
        found = common.extend(*read_messages(connection, path, common.length))
        self.keep_path(thread_id, found)
        return found


def read_messages(connection: sa.Connection, path: Path, start: int) -> tuple[list[Node], list[BaseMessage]]:
    """Return the main agent's messages of a path from depth `start`, with their places."""
    nodes, messages = [], []
    for message in message_rows.select_messages(connection, path, last=path.length - start, agent=MAIN):
        nodes.append(Node(message.id, message.segment, message.depth))
        messages.append(read_for_graph(message))
    return nodes, messages


def place_messages(
    change: Transaction,
    old: MessagePath,
    value: Sequence[object],
    run_id: str,
    *,
    by_nodes_since: RunBeginning | None = None,
) -> MessagePath:
    """Write the messages missing both in the former path and in the conversation at this place. The head is not moved.

    Nodes wrote the messages in a run that began at `by_nodes_since`. If it is None, a person may have written them.
    Raises `UnfitMessageError` for a message JSON cannot carry exactly, or too large for an export.
    """
    shared = count_equal(old.messages, value)
    messages = [_require_storable(each) for each in value[shared:]]
    path = old.cut_after(shared)
    parent = path.end
    if shared == len(old.nodes) and messages:
        path, parent = _find_standing(change, path, messages)
    messages = messages[len(path.nodes) - shared :]
    try:
        new = _make_new_messages(change, old, messages, by_nodes_since)
        if excess := next(filter(None, (describe_excess(each.body) for each in new)), None):
            raise UnfitMessageError(excess)
        nodes = change.add_messages(parent, new, run_id=run_id)
    except serde.UnreadableMessageError as error:
        raise UnfitMessageError(sentence("has fields that LangChain cannot read")) from error
    except (TypeError, ValueError) as error:
        raise UnfitMessageError(sentence("has values that JSON cannot carry")) from error
    except TooManyAlternativesError as error:
        raise UnfitMessageError(sentence("would be one alternative too many")) from error
    return path.extend(nodes, [duplicate_message(message) for message in messages]) if nodes else path


def _make_new_messages(
    change: Transaction, old: MessagePath, messages: Sequence[BaseMessage], by_nodes_since: RunBeginning | None
) -> list[NewMessage]:
    bodies = [serde.to_body(message) for message in messages]
    by_graph: Collection[int] = ()
    if by_nodes_since is not None and any(each.type == "human" for each in messages):
        known = {each.id: node for each, node in zip(old.messages, old.nodes, strict=True)}
        by_graph = find_graph_messages(change.connection, by_nodes_since, known, messages)
    return [NewMessage(mark_as_graphs(each) if n in by_graph else each) for n, each in enumerate(bodies)]


def _require_storable(message: object) -> BaseMessage:
    kind = type(message)
    if isinstance(message, RemoveMessage):
        raise UnfitMessageError(sentence("is a RemoveMessage, which only the reducer add_messages carries out"))
    if not isinstance(message, BaseMessage):
        raise UnfitMessageError(
            sentence("is of the type {type}, which only the reducer add_messages makes a message of", type=kind.__name__)
        )
    if kind is serde.find_message_class(message.type) or (
        isinstance(message, BaseMessageChunk) and kind.__module__.startswith("langchain_core.")
    ):
        return message
    raise UnfitMessageError(sentence("is of no class of LangChain's own"))


def _find_standing(
    change: Transaction, path: MessagePath, messages: Sequence[BaseMessage]
) -> tuple[MessagePath, Node | None]:
    """Extend a path by messages already stored after it: the page writes a user's message before its run.

    Return it with the parent of the next message: the conversation's head, unless the paths part before.
    """
    end = path.end
    if change.head is None or change.head == end:
        return path, end
    standing = change.trace_current_path()
    if end is not None and end not in standing:
        return path, end
    nodes, stored = read_messages(change.connection, standing, path.length)
    count = count_equal(stored, messages)
    path = path.extend(nodes[:count], stored[:count])
    return path, change.head if count == len(stored) else path.end
