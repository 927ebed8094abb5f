"""Values that LangGraph's serializer cannot store, or gives back as another kind: they are named with their channel."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from itertools import zip_longest
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from pydantic import BaseModel

from agent.run.outcome import OwnCodeError, locate_error
from checkpoints.langgraph.channel_values import unwrap_value
from checkpoints.values.sentence import sentence

_PLAIN = (dict, list, tuple, str, int, float, bool, bytes, type(None))


class UnstorableValueError(OwnCodeError):
    """A graph wrote a value that LangGraph's serializer refuses."""

    def __init__(self, channel: str, node: str | None, error: Exception) -> None:
        reason = f"{type(error).__name__}: {str(error).rstrip('.')}"
        text = (
            sentence("The channel {channel} has a value that cannot be stored. {reason}.", channel=channel, reason=reason)
            if node is None
            else sentence(
                "The channel {channel}, which the node {node} wrote, has a value that cannot be stored. {reason}.",
                node=node,
                channel=channel,
                reason=reason,
            )
        )
        place = f"channel {channel}" if node is None else f"node {node}, channel {channel}"
        super().__init__(text, f"{locate_error(error)}, {place}")


def require_storable(serde: SerializerProtocol, values: Iterable[tuple[str, Any]], nodes: Mapping[str, str | None]) -> None:
    """Raise `UnstorableValueError` for the first value that the serializer refuses.

    `nodes` are those that wrote last, by channel.
    """
    for channel, value in values:
        try:
            serde.dumps_typed(value)
        except Exception as refused:  # also an error in the author's class
            raise UnstorableValueError(channel, nodes.get(channel), refused) from refused


@dataclass
class LostKinds:
    """The kinds that the serializer does not keep, by channel, in the states of a graph or a subgraph.

    A tuple, which comes back as a list, is not named.
    """

    kinds: Mapping[str, str] = field(default_factory=dict)  # of the last state
    _lists: dict[str, list[Any]] = field(default_factory=dict)  # of the last state, whose items were all kept

    def note_state(self, serde: SerializerProtocol, values: Mapping[str, Any], changed: Collection[str]) -> dict[str, str]:
        """Look at the changed channels of the next state, and return the kinds that were not known of them."""
        kept = {name: kind for name, kind in self.kinds.items() if name in values and name not in changed}
        found = {name: kind for name in changed if name in values and (kind := self._find_kind(serde, name, values[name]))}
        new = {name: kind for name, kind in found.items() if self.kinds.get(name) != kind}
        self.kinds = {**kept, **found}
        return new

    def _find_kind(self, serde: SerializerProtocol, channel: str, value: Any) -> str | None:
        content = unwrap_value(value)
        known, before = self.kinds.get(channel), self._lists.pop(channel, [])
        is_list = type(content) is list
        try:
            if _is_plain(content):
                return None
            if known is not None and (is_list or known == type(content).__qualname__):
                return known
            # Items of the list before are the same objects, where a step has only added some.
            looked = [each for each, old in zip_longest(content, before) if each is not old] if is_list else content
            kind = _find_lost_kind(looked, serde.loads_typed(serde.dumps_typed(looked)))
        except Exception:  # noqa: BLE001  (the author's class; what cannot be stored is told elsewhere)
            return None
        if is_list and kind is None:
            self._lists[channel] = content
        return kind


def _is_plain(value: Any) -> bool:
    if isinstance(value, BaseMessage) or (isinstance(value, list) and value and isinstance(value[0], BaseMessage)):
        return True
    children = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return type(value) in _PLAIN and all(map(_is_plain, children))


def _find_lost_kind(value: Any, kept: Any) -> str | None:
    """Return the kind of the first part of a value that has come back as another one."""
    if isinstance(value, deque) and isinstance(kept, deque) and value.maxlen != kept.maxlen:
        return f"deque(maxlen={value.maxlen})"
    if type(value) is not type(kept):
        return None if type(value) is tuple and type(kept) is list else type(value).__qualname__
    parts, others = _list_parts(value), _list_parts(kept)
    found = (_find_lost_kind(part, others[name]) for name, part in parts.items() if name in others)
    return next(filter(None, found), None)


def _list_parts(value: Any) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list | tuple | deque):
        return dict(enumerate(value))
    return getattr(value, "__dict__", {}) if isinstance(value, BaseModel) or is_dataclass(value) else {}
