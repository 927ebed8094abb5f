"""The states of a graph that a part of a conversation needs: in a copy of a path, and in an export."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StateChoice:
    """The graph's own states that are chosen, by number."""

    messages: Mapping[int, str]  # of the states that restores to these messages find: the ids of the messages
    numbers: Collection[int]  # these states and the named ones, with all above them


def choose_states(outline: Sequence[Any], message_ids: Collection[str], named: Collection[int]) -> StateChoice:
    """Choose the states of messages, and these. `outline` is of `state_rows.select_outline`.

    A copy knows no runs: of each message, it gets the one state that a restore finds.
    """
    chosen: dict[str, Any] = {}
    for row in outline:
        if row.message_id in message_ids and (row.is_own or not getattr(chosen.get(row.message_id), "is_own", 0)):
            chosen[row.message_id] = row
    messages = {row.number: message_id for message_id, row in chosen.items()}
    return StateChoice(messages, _add_parents({*messages, *named}, {row.number: row.parent for row in outline}))


def _add_parents(numbers: Collection[int], parents: Mapping[int, int | None]) -> set[int]:
    """Return these states and all above them."""

    def iterate_above(number: int | None) -> Iterator[int]:
        while number is not None and number not in found:
            yield number
            number = parents.get(number)

    found: set[int] = set()
    for each in numbers:
        found.update([*iterate_above(each)])
    return found
