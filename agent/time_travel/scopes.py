"""The messages that an agent may move in, as the store has them now. Everything here blocks."""

from agent.context.memory import find_memory_checkpoints, find_memory_move, number_messages, recall_messages
from agent.context.numbering import NumberStyle
from agent.time_travel.moves import MoveScope
from checkpoints import MAIN, Message, OperationKind, Store

ORIGIN_LABELS = {OperationKind.IMPORT: "an import", OperationKind.FORK: "another conversation"}


def load_scope(store: Store, thread_id: str, agent: str, numbers: NumberStyle) -> MoveScope:
    """Return the scope of an agent: the path for the main agent, its own memory for a sub-agent."""
    origins = [ORIGIN_LABELS[kind] for kind in sorted(store.list_origins(thread_id))]
    if agent == MAIN:
        return MoveScope(agent, store.list_messages(thread_id), store.map_checkpoint_depths(thread_id), origins, numbers)
    memory = load_memory(store, thread_id, agent)
    positions = {name: position for name, (position, _) in find_memory_checkpoints(memory).items()}
    return MoveScope(agent, memory, positions, origins, numbers)


def load_memory(store: Store, thread_id: str, agent: str) -> list[Message]:
    """Return the whole memory of a sub-agent, each message at its position there."""
    return number_messages(recall_messages(store.list_messages(thread_id), agent))


def count_memory_moves(store: Store, thread_id: str, agent: str) -> int:
    """Return the number of a sub-agent's moves since the last question to it."""
    count = 0
    for message in store.list_messages(thread_id):
        if message.agent == agent:
            count = 0 if message.type == "human" else count + (find_memory_move(message) is not None)
    return count
