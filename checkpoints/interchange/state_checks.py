"""Checks of the states of a graph in a document: all that they name is there, and no state is larger than one may be."""

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from ..values.errors import InvalidDocumentError
from ..values.graph_state import ENTRYPOINT_CHANNELS, INPUT_CHANNEL, TASKS_CHANNEL, Reference, read_kind, unwrap_snapshot
from ..values.limits import (
    MAX_DOCUMENT_STATES,
    MAX_STATE_CHARS,
    MAX_STATE_ITEMS,
    MAX_STATES_ITEMS,
    MAX_STATES_VALUES,
)
from ..values.sentence import sentence
from . import state_values, typed_values
from .waymark import Document, StatePart, WritePart

MAX_INLINE_CHARS = 64
OWN_PREFIX = "__"  # of the channels in which LangGraph keeps what runs next
NOTE_PREFIX = "waymark:"  # of notes that Waymark keeps among the writes of tasks
NOTE_TASK = "import"  # whose write an import adds
# To these, the tasks of a step may write.
WAITING_CHANNELS = (*ENTRYPOINT_CHANNELS, TASKS_CHANNEL, "__interrupt__", "__resume__", "__no_writes__", "__return__")


def check_document_states(document: Document) -> None:
    """Check the references of the states, and the references to them. Raises `InvalidDocumentError`."""
    known: dict[tuple[str, str], str] = {}  # by namespace and id: the field
    messages = {part.id for part in document.messages}
    for index, part in enumerate(document.states):
        field = f"states[{index}]"
        if (part.namespace, part.id) in known:
            raise InvalidDocumentError(sentence("is the id of another state in this file"), f"{field}.id")
        if part.message is not None and part.message not in messages:
            raise InvalidDocumentError(sentence("names a message that is not in the file"), f"{field}.message")
        for name, reference in part.values.items():
            _check_reference(name, reference, f"{field}.values.{name[:80]}", len(document.state_values), messages)
        known[part.namespace, part.id] = field
    _check_parents(document.states)
    holders = [(f"branches[{index}].state", part.state) for index, part in enumerate(document.branches)]
    holders += [(f"checkpoints[{index}].state", part.state) for index, part in enumerate(document.checkpoints)]
    for field, state in holders:
        if state is not None and ("", state) not in known:
            raise InvalidDocumentError(sentence("names a state that is not in the file"), field)
    check_state_sizes([part.values for part in document.states], [part.json for part in document.state_values])
    for index, part in enumerate(document.states):
        _check_tasks(part.values.get(TASKS_CHANNEL), f"states[{index}].values.{TASKS_CHANNEL}", document)
    _check_inputs(document.states)
    _check_writes(document.state_writes, known)
    _check_value_texts(document)


def _check_writes(writes: Sequence[WritePart], states: Container[tuple[str, str]]) -> None:
    places = set[tuple[str, str, str, int]]()
    for index, write in enumerate(writes):
        field = f"state_writes[{index}]"
        if (write.namespace, write.state) not in states:
            raise InvalidDocumentError(sentence("names a state that is not in the file"), f"{field}.state")
        is_own = write.channel.startswith((OWN_PREFIX, NOTE_PREFIX))
        has_tasks = write.channel != TASKS_CHANNEL or typed_values.read_tasks(write.json) is not None
        if (is_own and write.channel not in WAITING_CHANNELS) or not has_tasks:
            raise InvalidDocumentError(sentence("names something that is not in the file"), f"{field}.channel")
        place = (write.namespace, write.state, write.task, write.position)
        if place in places or write.task == NOTE_TASK:
            raise InvalidDocumentError(sentence("is the place of another write in this file"), f"{field}.position")
        places.add(place)


def _check_parents(states: Sequence[StatePart]) -> None:
    """Refuse a state before its parent. A parent may be missing: it had nothing that a file carries."""
    left = {(part.namespace, part.id) for part in states}
    for index, part in enumerate(states):
        if part.parent is not None and (part.namespace, part.parent) in left:
            raise InvalidDocumentError(sentence("names a state that does not come before it"), f"states[{index}].parent")
        left.discard((part.namespace, part.id))


def _check_reference(name: str, reference: Reference, field: str, count: int, messages: set[str]) -> None:
    """Check a reference of a channel. Raises `InvalidDocumentError`."""
    match reference[1] if isinstance(reference, list) and len(reference) == 2 and reference[0] == "d" else reference:
        case None | bool() | int() | float():
            is_known = True
        case str() as text:
            is_known = len(text) <= MAX_INLINE_CHARS
        case ["v", int() as number] if type(number) is int:
            is_known = 0 <= number < count
        case ["r", list() as runs]:
            is_known = all(_is_run(run, count) for run in runs)
        case ["m", None]:
            is_known = True
        case ["m", str() as message_id]:
            is_known = message_id in messages
        case _:
            is_known = False
    if not is_known or (name.startswith(OWN_PREFIX) and name not in (*ENTRYPOINT_CHANNELS, INPUT_CHANNEL, TASKS_CHANNEL)):
        raise InvalidDocumentError(sentence("names something that is not in the file"), field)


def _check_tasks(reference: Reference, field: str, document: Document) -> None:
    """Refuse tasks to start that are no `Send`. Raises `InvalidDocumentError`."""
    places = [place for first, last in _iterate_runs(reference) for place in range(first, last + 1)]
    parts = [document.state_values[place] for place in places]
    values = [typed_values.read_tasks(each.json) if each.typed else None for each in parts]
    is_list = read_kind(unwrap_snapshot(reference)) in ("v", "r") or reference is None
    if not is_list or None in values:
        raise InvalidDocumentError(sentence("names something that is not in the file"), field)


def _check_inputs(states: Sequence[StatePart]) -> None:
    """Refuse an input that is named elsewhere as well: its value is deleted once a step has taken it."""
    inputs = [part.values.get(INPUT_CHANNEL) for part in states]
    places = sorted(place for each in inputs for first, last in _iterate_runs(each) for place in range(first, last + 1))
    is_named = len({*places}) < len(places)
    for index, part in enumerate(states):
        runs = [run for name, each in part.values.items() if name != INPUT_CHANNEL for run in _iterate_runs(each)]
        if is_named or any(bisect_left(places, first) < bisect_right(places, last) for first, last in runs):
            raise InvalidDocumentError(
                sentence("has a value that something else names too"), f"states[{index}].values.{INPUT_CHANNEL}"
            )


def _is_run(run: Any, count: int) -> bool:
    match run:
        case [int() as first, int() as last] if type(first) is type(last) is int:
            return 0 <= first <= last < count
    return False


def check_state_sizes(states: Sequence[Mapping[str, Reference]], texts: Sequence[str]) -> None:
    """Limit the values that each state names, and all together: a file can name one value any number of times."""
    if len(states) > MAX_DOCUMENT_STATES:
        raise InvalidDocumentError(
            sentence("should have at most {limit} items, not {count}", limit=MAX_DOCUMENT_STATES, count=len(states)),
            "states",
        )
    ends = [0, *accumulate(map(len, texts))]
    total = 0
    for index, values in enumerate(states):
        runs = [run for reference in values.values() for run in _iterate_runs(reference)]
        items = sum(last - first + 1 for first, last in runs)
        total += items
        if items > MAX_STATE_ITEMS or sum(ends[last + 1] - ends[first] for first, last in runs) > MAX_STATE_CHARS:
            raise InvalidDocumentError(
                sentence(
                    "has more than {items:,} values or {chars:,} characters, which is too many",
                    items=MAX_STATE_ITEMS,
                    chars=MAX_STATE_CHARS,
                ),
                f"states[{index}]",
            )
    if total > MAX_STATES_ITEMS:
        raise InvalidDocumentError(
            sentence("have more than {limit:,} values together, which is too many", limit=MAX_STATES_ITEMS), "states"
        )


def _iterate_runs(reference: Reference) -> Iterator[tuple[int, int]]:
    """Yield the first and the last index of the values that a reference names."""
    reference = unwrap_snapshot(reference)
    if read_kind(reference) == "v":
        yield reference[1], reference[1]
    elif read_kind(reference) == "r":
        yield from ((first, last) for first, last in reference[1])


def _check_value_texts(document: Document) -> None:
    if not state_values.can_convert:
        return
    count = 0
    texts = [(part.json, part.typed, f"state_values[{index}].json") for index, part in enumerate(document.state_values)]
    texts += [(part.json, True, f"state_writes[{index}].json") for index, part in enumerate(document.state_writes)]
    for text, is_typed, field in texts:
        _, values = typed_values.parse_stored(text, field, is_typed=is_typed)
        count += values
        if count > MAX_STATES_VALUES:
            raise InvalidDocumentError(
                sentence("The file holds more than {limit:,} values, which is too many.", limit=MAX_STATES_VALUES)
            )
