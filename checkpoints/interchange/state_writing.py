"""Writing the states of a document. They name the values and the messages that its import has written."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from ..changes.transaction import Transaction
from ..rows import state_rows, value_rows, write_rows
from ..rows.state_inserts import StateBatch, StateDraft
from ..rows.state_rows import StateName
from ..rows.write_rows import StateKey, Write
from ..values.graph_state import list_paths
from ..values.model import Node
from .import_contents import StateContents
from .state_checks import REST_CHANNEL
from .stored_references import StoredReferences
from .typed_values import dump_note, parse_stored
from .waymark import WritePart

StateNumbers = Mapping[str | None, int]  # of a graph's own states, by their ids in the document


def write_states(transaction: Transaction, nodes: Mapping[str, Node], contents: StateContents) -> StateNumbers:
    """Write the states, each once. One that the conversation has already is used if it is about the same messages.

    `nodes` are the document's messages, by the ids there.
    """
    if not contents.parts:
        return {}
    connection, thread_id = transaction.connection, transaction.thread.id
    ids = {part.id for part in contents.parts} if transaction.loaded.has_states else ()
    stored = state_rows.select_named_states(connection, thread_id, ids)
    references = StoredReferences.to(nodes, value_rows.insert_many_values(connection, contents.values, thread_id))
    batch = StateBatch.reserve(connection, len(contents.parts))
    names: dict[tuple[str, str | None], StateName] = {}  # by namespace and id
    for part, split in zip(contents.parts, contents.bodies, strict=True):
        if (known := stored.get((part.namespace, part.id))) is not None:
            values = {name: references.translate(each) for name, each in part.values.items()}
            if {*list_paths(known.body["values"])} == {*list_paths(values)}:
                names[part.namespace, part.id] = known
            continue
        parent, message = names.get((part.namespace, part.parent)), nodes[part.message] if part.message else None
        place = (thread_id, part.namespace, part.id)
        draft = StateDraft(*place, parent, None if parent else part.parent, part.run_id, message, is_input=False)
        count = len(part.values)
        rest = [*map(references.translate, split.rest[:count]), *split.rest[count:]]
        names[part.namespace, part.id] = batch.add_state(draft, split.shape, split.write_leaves(rest))
    batch.write()
    new = {(part.namespace, part.id) for part in contents.parts} - stored.keys()
    _write_waiting_steps(connection, thread_id, [each for each in contents.writes if (each.namespace, each.state) in new])
    return {identifier: name.number for (namespace, identifier), name in names.items() if not namespace}


def _make_note(writes: Sequence[Write]) -> Write:
    return Write("", "import", 0, REST_CHANNEL, *dump_note(writes))


def _write_waiting_steps(connection: sa.Connection, thread_id: str, parts: Sequence[WritePart]) -> None:
    """Write what tasks have written, and the note of each state that the step rests with it."""
    steps: defaultdict[StateKey, list[Write]] = defaultdict(list)
    for part in parts:
        kind, data = parse_stored(part.json, "", is_typed=True)[0]
        write = Write(part.path, part.task, part.position, part.channel, kind, data)
        steps[StateKey(thread_id, part.namespace, part.state)].append(write)
    for key, writes in steps.items():
        note = _make_note(writes)
        write_rows.insert_many_writes(connection, [(key, each) for each in (*writes, note)])
