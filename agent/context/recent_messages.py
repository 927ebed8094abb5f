"""The ends of conversations that fit a request. Recent ends stay in memory, so a turn reads only new messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from langchain_core.messages import AnyMessage

from agent.context.path_ends import count_message_values, cut_tokens, cut_values, find_end, is_question
from agent.context.request import to_sendable
from agent.context.subagent_memory import recall_messages
from agent.context.tokens import estimate_stored_tokens, estimate_unread_tokens
from checkpoints import MAIN, Message, Store
from checkpoints.values.limits import MAX_READ_VALUES

FIRST_READ_MESSAGES = 400
# If more messages are new since an end was kept, it is read again.
MAX_NEW_MESSAGES = 20
MAX_KEPT_ENDS = 8


def read_recent_messages(
    store: Store, thread_id: str, max_tokens: int, max_messages: int, agent: str = MAIN
) -> list[Message]:
    """Return the end of an agent's memory that fits a request.

    It begins with a message of the user or of the calling agent.
    """
    path, _ = _read_end(store, thread_id, max_tokens, max_messages, agent)
    return _begin_with_question(path, recall_messages(path, agent))


@dataclass(frozen=True, slots=True)
class MeasuredEnd:
    """The end of the main agent's messages for a measurement. The beginning of a huge last turn is only measured."""

    messages: list[Message]
    # Tokens of the last turn's messages before `messages`, and the depth of the first of them all.
    unread_tokens: int
    first_depth: int | None


def read_measured_end(store: Store, thread_id: str, max_tokens: int, max_messages: int) -> MeasuredEnd:
    """Return the same end as `read_recent_messages`, but parse at most MAX_READ_VALUES."""
    path, count = _read_end(store, thread_id, max_tokens, max_messages, MAIN, keeps_turn=False)
    own = _begin_with_question(path, [message for message in path if message.agent == MAIN])
    unread = None
    if path and path[0].depth > 0 and not (own and own[0].type == "human"):
        unread = _measure_turn_before(store, thread_id, path[0].depth, count - len(path))
    depth, tokens = unread or (own[0].depth if own else None, 0)
    return MeasuredEnd(own, tokens, depth)


def _measure_turn_before(store: Store, thread_id: str, depth: int, count: int) -> tuple[int, int] | None:
    """Return the depth of the last question among `count` messages before a depth, and the tokens from there on.

    None means no question, so a request is cut as well.
    """
    tokens = 0
    for size in reversed(store.list_message_sizes(thread_id, last=count, before=depth) if count else []):
        tokens += estimate_unread_tokens(size.byte_count) if size.agent == MAIN else 0
        if size.type == "human" and size.agent == MAIN:
            return size.depth, tokens
    return None


def _read_end(
    store: Store, thread_id: str, max_tokens: int, max_messages: int, agent: str, *, keeps_turn: bool = True
) -> tuple[list[Message], int]:
    """Return the end of a path with `max_tokens`, and its maximum number of messages."""
    count = min(FIRST_READ_MESSAGES, max_messages)
    while True:
        path = _read_values(store, thread_id, count, agent, keeps_turn=keeps_turn)
        if len(path) < count or count == max_messages:
            return path, count
        tokens = sum(map(estimate_stored_tokens, recall_messages(path, agent)))
        if tokens >= max_tokens:
            return path, count
        # The number of missing messages if earlier messages have the same size.
        missing = count * (max_tokens - tokens) // max(1, tokens)
        count = min(max_messages, count + missing * 5 // 4 + 1)


def _read_values(store: Store, thread_id: str, count: int, agent: str, *, keeps_turn: bool) -> list[Message]:
    """Return the last messages of a path, cut by the rule of `cut_values`. Older messages are not even parsed.

    Without `keeps_turn`, the last turn is cut as well.
    """
    path = store.list_messages(thread_id, last=count, max_values=MAX_READ_VALUES)
    if (
        not keeps_turn
        or not path
        or path[0].depth == 0
        or len(path) == count
        or any(is_question(message, agent) for message in path)
    ):
        return path
    return cut_values(store.list_messages(thread_id, last=count), agent)


def _begin_with_question(path: Sequence[Message], agent_messages: list[Message]) -> list[Message]:
    if not path or path[0].depth == 0:
        return agent_messages
    return agent_messages[next((index for index, message in enumerate(agent_messages) if message.type == "human"), 0) :]


@dataclass(frozen=True, slots=True)
class _End:
    """The last messages of a path, with their request messages by id."""

    path: list[Message]
    # Tokens of each message in the main agent's request, and values of its JSON.
    tokens: list[int]
    values: list[int]
    sendable: dict[str, AnyMessage | None]

    def measure(self, path: Sequence[Message]) -> tuple[list[int], list[int]]:
        """Return the tokens and the values of each message of another end. This end's messages need no estimate."""
        count = len(self.path)
        if self.path and len(path) >= count and path[0] is self.path[0] and path[count - 1] is self.path[-1]:
            # The other end continues this end, as each turn does.
            new = path[count:]
            return (
                [*self.tokens, *map(_estimate_main_tokens, new)],
                [*self.values, *map(count_message_values, new)],
            )
        tokens, values = (
            {m.id: size for m, size in zip(self.path, sizes, strict=True)} for sizes in (self.tokens, self.values)
        )
        return (
            [tokens[m.id] if m.id in tokens else _estimate_main_tokens(m) for m in path],
            [values[m.id] if m.id in values else count_message_values(m) for m in path],
        )

    def find_continuation(self, tail: Sequence[Message]) -> list[Message] | None:
        """Return the path up to the end of `tail`, its current last messages, or None if it does not continue this end."""
        last_ids = [message.id for message in tail]
        if self.path[-1].id not in last_ids:
            return None
        return [*self.path, *tail[last_ids.index(self.path[-1].id) + 1 :]]


_NO_END = _End([], [], [], {})


class RecentMessages:
    """Reads the main agent's recent messages of a store's conversations, and caches the last conversations.

    A message never changes, and neither does the path before it. The hash of a cached message is not checked again.
    """

    def __init__(self, store: Store, max_messages: int) -> None:
        self._store = store
        self._max_messages = max_messages
        # The last used end is the last item.
        self._ends: dict[str, _End] = {}
        self._lock = Lock()

    def load(self, thread_id: str, max_tokens: int) -> list[Message]:
        """Return the end of a path for a request, as `read_recent_messages` does."""
        with self._store.database.begin_read():
            path = self._continue_path(thread_id, max_tokens)
            if path is None:
                path, _ = _read_end(self._store, thread_id, max_tokens, self._max_messages, MAIN)
        path = self._keep(thread_id, path, max_tokens)
        return _begin_with_question(path, [message for message in path if message.agent == MAIN])

    def convert(self, message: Message) -> AnyMessage | None:
        """Return a message of `load` for a request, or None if no request can hold it. It must not be changed."""
        end = self._ends.get(message.thread_id)
        if end is None:
            return to_sendable(message)
        if message.id not in end.sendable:
            end.sendable[message.id] = to_sendable(message)
        return end.sendable[message.id]

    def _continue_path(self, thread_id: str, max_tokens: int) -> list[Message] | None:
        """Return the current end of the path from the cached end, or None if it is too short."""
        end = self._ends.get(thread_id)
        if end is None:
            return None
        # This counts the new messages and the last cached message.
        count = self._store.count_messages(thread_id) - end.path[-1].depth
        if not 0 < count <= MAX_NEW_MESSAGES:
            return None
        path = end.find_continuation(self._store.list_messages(thread_id, last=count))
        if path is None:
            return None
        is_enough = path[0].depth == 0 or len(path) >= self._max_messages or sum(end.tokens) >= max_tokens
        return path[-self._max_messages :] if is_enough else None

    def _keep(self, thread_id: str, path: list[Message], max_tokens: int) -> list[Message]:
        """Cache the end of a path with `max_tokens`, and drop the least recently used conversation.

        Return the end for a request.
        """
        with self._lock:
            known = self._ends.pop(thread_id, None)
            if not path:
                return path
            tokens, values = (known or _NO_END).measure(path)
            first = find_end(path, values, MAX_READ_VALUES, MAIN)
            path, values, tokens = path[first:], values[first:], tokens[first:]
            start = min(_find_start(tokens, max_tokens), max(0, len(path) - FIRST_READ_MESSAGES))
            sendable = {m.id: known.sendable[m.id] for m in path[start:] if m.id in known.sendable} if known else {}
            self._ends[thread_id] = _End(path[start:], tokens[start:], values[start:], sendable)
            if len(self._ends) > MAX_KEPT_ENDS:
                del self._ends[next(iter(self._ends))]
            return cut_tokens(path, tokens, max_tokens)


def _estimate_main_tokens(message: Message) -> int:
    return estimate_stored_tokens(message) if message.agent == MAIN else 0


def _find_start(tokens: Sequence[int], max_tokens: int) -> int:
    """Return the start of the shortest end with `max_tokens`, or 0 if the path has fewer."""
    found = 0
    for index in range(len(tokens) - 1, -1, -1):
        found += tokens[index]
        if found >= max_tokens:
            return index
    return 0
