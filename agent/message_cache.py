"""Values computed once for each message of a request, such as its size or its form for a provider."""

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from langchain_core.messages import AnyMessage, BaseMessage

V = TypeVar("V")


class MessageCache(Generic[V]):
    """Values of messages. Each value lives as long as its message.

    The messages of a request are not changed, and `RecentMessages` keeps the last conversations' messages. A value must
    not refer to its message, or neither would ever be released.
    """

    def __init__(self) -> None:
        # The keys are identities: messages have no hash, and a comparison reads their whole text.
        self._values: dict[int, tuple[weakref.ref[BaseMessage], V]] = {}

    def __len__(self) -> int:
        return len(self._values)

    def find(self, message: BaseMessage) -> V | None:
        known = self._values.get(id(message))
        return known[1] if known is not None and known[0]() is message else None

    def keep(self, message: BaseMessage, value: V) -> V:
        """Keep the value of a message, and return it."""
        key = id(message)
        self._values[key] = weakref.ref(message, lambda _: self._values.pop(key, None)), value
        return value


def cache_by_message(compute: Callable[[AnyMessage], V]) -> Callable[[AnyMessage], V]:
    """Return a function that computes the value of each message once. The value None is not cached."""
    cache: MessageCache[V] = MessageCache()

    def compute_once(message: AnyMessage) -> V:
        known = cache.find(message)
        return cache.keep(message, compute(message)) if known is None else known

    return compute_once
