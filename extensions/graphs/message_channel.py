"""The channel of a graph's messages. Its type or its reducer tells it, not its name."""

import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Union, get_args, get_origin, get_type_hints

from langchain_core.messages import BaseMessage
from langgraph.graph import StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.pregel import Pregel

from extensions.graphs.definitions import MESSAGES_CHANNEL, GraphLoadError

_REDUCERS = (add_messages, _messages_delta_reducer)
MAX_NAMED_CHANNELS = 10  # in an error


@dataclass(frozen=True, slots=True)
class MessagesChannel:
    """A channel that holds messages.

    `is_input`: the user's message goes there, so its list is the conversation. To any other the graph only adds messages.
    """

    name: str
    is_input: bool


def find_messages_channel(graph: Any, key: str | None = None) -> MessagesChannel | None:
    """Return the channel of the messages of a graph, compiled or not; None for a graph without one.

    A channel of the input is preferred, and then the name `messages`. `key` is the author's own choice. Raises
    `GraphLoadError` where there is no such channel.
    """
    builder = graph if isinstance(graph, StateGraph) else getattr(graph, "builder", None)
    inputs = _list_inputs(graph, builder)
    if key is not None:
        if key not in graph.channels:
            raise GraphLoadError(f"Its messages_key {key!r} is no channel of the graph.{_suggest_channels(graph)}")
        return MessagesChannel(key, key in inputs)
    hints = _read_hints(builder)
    found = [name for name, channel in graph.channels.items() if _holds_messages(name, channel, hints)]
    for is_input in (True, False):
        names = [name for name in found if (name in inputs) is is_input]
        if names:
            return MessagesChannel(MESSAGES_CHANNEL if MESSAGES_CHANNEL in names else names[0], is_input)
    return None


def list_messages(values: Any) -> list[Any]:
    """Return the list of messages among the values of a state, whatever the name of its channel."""
    if not isinstance(values, Mapping):
        return []
    lists = [values.get(MESSAGES_CHANNEL), *values.values()]
    return next((each for each in lists if isinstance(each, list) and each and isinstance(each[-1], BaseMessage)), [])


def _list_inputs(graph: Any, builder: Any) -> Sequence[str]:
    if isinstance(builder, StateGraph):
        return list(builder.schemas.get(builder.input_schema, ()))
    names = graph.input_channels if isinstance(graph, Pregel) else ()
    return [names] if isinstance(names, str) else list(names)


def _read_hints(builder: Any) -> Mapping[str, Any]:
    """Return the types of the channels as their author wrote them."""
    hints: dict[str, Any] = {}
    for schema in builder.schemas if isinstance(builder, StateGraph) else ():
        try:
            hints |= get_type_hints(schema)
        except Exception:  # noqa: BLE001, S112  (the author's types)
            continue
    return hints


def _holds_messages(name: str, channel: Any, hints: Mapping[str, Any]) -> bool:
    reducer = getattr(channel, "operator", None) or getattr(channel, "reducer", None)
    if (reducer.func if isinstance(reducer, partial) else reducer) in _REDUCERS:
        return True
    is_named = name == MESSAGES_CHANNEL
    hint = hints.get(name, getattr(channel, "typ", Any))
    return any(_is_message_list(each, is_named=is_named) for each in _list_kinds(hint))


def _is_message_list(kind: Any, *, is_named: bool) -> bool:
    """Return whether a type is a list of messages. One that says nothing of its items is, where it is named so."""
    if kind is Any:
        return is_named
    origin = get_origin(kind) or kind
    if not isinstance(origin, type) or not issubclass(origin, Sequence) or issubclass(origin, str | bytes):
        return False
    items = [each for item in get_args(kind)[:1] for each in _list_kinds(item)]
    if not items or Any in items:
        return is_named
    return any(isinstance(each, type) and issubclass(each, BaseMessage) for each in items)


def _list_kinds(hint: Any) -> Sequence[Any]:
    """Return the types of a union, or the type itself."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else [hint]


def _suggest_channels(graph: Any) -> str:
    names = [name for name in graph.channels if ":" not in name and not name.startswith("__")]
    return f" It has {', '.join(names[:MAX_NAMED_CHANNELS])}." if names else ""
