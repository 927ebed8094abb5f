"""The messages in which an agent may move, in their current state. Everything here blocks."""

from collections.abc import Sequence
from functools import partial

from agent.context.numbering import NumberStyle
from agent.context.subagent_memory import find_memory_checkpoints, find_memory_move, number_messages, recall_messages
from agent.time_travel.move_paths import ListedPath, StoredPath
from agent.time_travel.moves import MoveRefused, MoveScope
from checkpoints import MAIN, Message, OperationKind, Store
from checkpoints.values.limits import MAX_MEMORY_MESSAGES, MAX_READ_VALUES

TOO_LARGE_TEXT = "Your memory is too large to move in: go on from here."
ORIGIN_LABELS = {OperationKind.IMPORT: "an import", OperationKind.FORK: "another conversation"}


def load_scope(store: Store, thread_id: str, agent: str, numbers: NumberStyle) -> MoveScope:
    """Return an agent's scope: the path for the main agent, its own memory for a sub-agent. Raises `MoveRefused`."""
    origins = [ORIGIN_LABELS[kind] for kind in sorted(store.list_origins(thread_id))]
    if agent == MAIN:
        path = StoredPath(store, thread_id)
        return MoveScope(agent, path, partial(store.map_checkpoint_depths, thread_id), origins, numbers)
    memory = load_memory(store, thread_id, agent)
    return MoveScope(agent, ListedPath(memory), partial(_map_checkpoints, memory), origins, numbers)


def _map_checkpoints(memory: Sequence[Message]) -> dict[str, int]:
    return {name: position for name, (position, _) in find_memory_checkpoints(memory).items()}


def load_memory(store: Store, thread_id: str, agent: str) -> list[Message]:
    """Return the whole memory of a sub-agent, each message at its position there.

    Raises `MoveRefused` for more than MAX_MEMORY_MESSAGES, or more than MAX_READ_VALUES: positions count from the
    beginning.
    """
    with store.database.begin_read():
        size = store.measure_messages(thread_id, agent, first=0, before=store.count_messages(thread_id))
        if size.count > MAX_MEMORY_MESSAGES:
            raise MoveRefused(TOO_LARGE_TEXT)
        messages = store.list_messages(thread_id, agent=agent, max_values=MAX_READ_VALUES)
        if len(messages) < size.count:
            raise MoveRefused(TOO_LARGE_TEXT)
    return number_messages(recall_messages(messages, agent))


def count_memory_moves(store: Store, thread_id: str, agent: str) -> int:
    """Return the number of a sub-agent's moves since the last question to it."""
    length = store.count_messages(thread_id)
    question = store.find_question(thread_id, agent, before=length) or 0
    since = store.list_messages(thread_id, last=length - question, agent=agent, max_values=MAX_READ_VALUES)
    return sum(find_memory_move(message) is not None for message in since)
