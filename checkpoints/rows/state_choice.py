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


def choose_states(
    outline: Sequence[Any], message_ids: Collection[str], named: Collection[int], undone: Collection[str] | None = None
) -> StateChoice:
    """Choose the states of messages, and the `named` states. `outline` is from `state_rows.select_outline`.

    A copy knows no runs, so each message gets the single state a restore finds. With `undone` runs, it gets a state that
    leads to a named one, or else one that none of these runs has written.
    """
    parents = {row.number: row.parent for row in outline}
    leading = _add_parents(named, parents)
    ranks: dict[str, tuple[bool, bool]] = {}
    chosen: dict[str, int] = {}
    for row in outline:
        rank = (undone is not None and row.number in leading, bool(row.is_own))
        is_wanted = row.message_id in message_ids and (rank[0] or row.run_id not in (undone or ()))
        if is_wanted and rank >= ranks.get(row.message_id, rank):
            ranks[row.message_id], chosen[row.message_id] = rank, row.number
    messages = {number: message_id for message_id, number in chosen.items()}
    return StateChoice(messages, _add_parents({*messages, *named}, parents))


def _add_parents(numbers: Collection[int], parents: Mapping[int, int | None]) -> set[int]:
    def iterate_above(number: int | None) -> Iterator[int]:
        while number is not None and number not in found:
            yield number
            number = parents.get(number)

    found: set[int] = set()
    for each in numbers:
        found.update([*iterate_above(each)])
    return found
