"""Choose the graph states needed for a part of a conversation, for a copy of a path or an export."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StateChoice:
    """The chosen states of the graph itself, by number.

    `messages` maps the states found by restores to the ids of their messages. `numbers` are these and the named
    states, with all states above.
    """

    messages: Mapping[int, str]
    numbers: Collection[int]


def choose_states(outline: Sequence[Any], message_ids: Collection[str], named: Collection[int]) -> StateChoice:
    """Choose the states of messages, and the `named` states. `outline` is from `state_rows.select_outline`.

    A copy knows no runs, so each message gets the single state a restore finds.
    """
    chosen: dict[str, Any] = {}
    for row in outline:
        if row.message_id in message_ids and (row.is_own or not getattr(chosen.get(row.message_id), "is_own", 0)):
            chosen[row.message_id] = row
    messages = {row.number: message_id for message_id, row in chosen.items()}
    return StateChoice(messages, _add_parents({*messages, *named}, {row.number: row.parent for row in outline}))


def _add_parents(numbers: Collection[int], parents: Mapping[int, int | None]) -> set[int]:
    def iterate_above(number: int | None) -> Iterator[int]:
        while number is not None and number not in found:
            yield number
            number = parents.get(number)

    found: set[int] = set()
    for each in numbers:
        found.update([*iterate_above(each)])
    return found
