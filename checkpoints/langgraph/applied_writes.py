"""The writes of a step as kept by the next state for LangGraph's history. Values in the state are only named."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..rows import value_rows
from ..rows.value_rows import Value
from ..rows.write_rows import Write
from ..values.applied_references import Applied
from ..values.graph_state import INPUT_CHANNEL, Reference, join_runs
from .channel_values import is_inline, list_numbers
from .message_copies import count_equal

# A step appends to a list's end. Longer lists are searched in as many items as they have.
_MIN_SEARCHED = 50
_LOST: Any = object()
# The path, task id and position of an input, which belongs to no task.
INPUT_PLACE = ("", "", 0)


@dataclass(frozen=True, slots=True)
class StepNames:
    """Names the values of a step by the values of the next state.

    `messages` are the state's messages, if they are the conversation's and the step changed them.
    """

    connection: sa.Connection
    thread_id: str
    serde: SerializerProtocol
    values: Mapping[str, Reference]
    messages_channel: str
    messages: Sequence[BaseMessage]

    def name_writes(self, writes: Sequence[Write]) -> Applied:
        """Return references to the values of writes. Values missing in the state are stored."""
        ordered = sorted(writes, key=lambda each: each.place)
        return [
            (task_id, task_path, [(each.position, each.channel, self._name_write(each)) for each in of_task])
            for (task_path, task_id), of_task in groupby(ordered, key=lambda each: each.place[:2])
        ]

    def name_input(self, kind: str, data: bytes) -> Applied:
        """Return references to the fields of a run's input, or nothing if the input has more than the state."""
        given = self.serde.loads_typed((kind, data))
        if type(given) is not dict:
            return []
        fields = {name: self._find(name, value, *self.serde.dumps_typed(value)) for name, value in given.items()}
        return [] if _LOST in fields.values() else [("", "", [(0, INPUT_CHANNEL, ["o", fields])])]

    def _name_write(self, write: Write) -> Reference:
        value = self.serde.loads_typed((write.type, write.data))
        found = self._find(write.channel, value, write.type, write.data)
        if found is not _LOST:
            return found
        stored = Value.of(write.type, write.data)
        return ["v", value_rows.insert_values(self.connection, [stored], self.thread_id)[0]]

    def _find(self, channel: str, value: Any, kind: str, data: bytes) -> Reference:
        if is_inline(value):
            return value
        if channel == self.messages_channel and (places := self._find_messages(value)):
            return places
        count = max(_MIN_SEARCHED, len(value) if type(value) is list else 1)
        last = list_numbers(self.values.get(channel))[-count:]
        numbers = value_rows.select_hashes(self.connection, last, self.thread_id)
        if (whole := numbers.get(value_rows.hash_value(kind, data))) is not None:
            return ["v", whole]
        if not numbers or type(value) is not list:
            return _LOST
        items = [numbers.get(value_rows.hash_value(*self.serde.dumps_typed(item))) for item in value]
        return _LOST if None in items else ["r", join_runs(number for number in items if number is not None)]

    def _find_messages(self, value: Any) -> Reference:
        """Return the places of messages among the state's messages, or None if any of them is missing or differs."""
        listed = value if type(value) is list else [value]
        given = [each for each in listed if isinstance(each, BaseMessage)]
        if not given or len(given) < len(listed):
            return None
        without_ids = given[0].id is None
        known = self._list_places(max(_MIN_SEARCHED, len(given)), without_ids)
        places = [next((n for n in known[_name(each, without_ids)] if self._is_at(n, each)), None) for each in given]
        if None in places or any((each.id is None) != without_ids for each in given):
            return None
        named = places[0] if listed is not value else join_runs(place for place in places if place is not None)
        return ["n", named, int(without_ids)]

    def _list_places(self, count: int, without_ids: bool) -> Mapping[Any, Sequence[int]]:
        """Map the last messages' names to their places."""
        known: defaultdict[Any, list[int]] = defaultdict(list)
        for place in range(-1, -1 - min(count, len(self.messages)), -1):
            known[_name(self.messages[place], without_ids)].append(place)
        return known

    def _is_at(self, place: int, message: BaseMessage) -> bool:
        known = self.messages[place]
        return bool(
            count_equal([known], [message if message.id is not None else message.model_copy(update={"id": known.id})])
        )


def _name(message: BaseMessage, without_ids: bool) -> Any:
    return str(message.content) if without_ids else message.id
