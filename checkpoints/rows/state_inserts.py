"""Insert new states of graphs, singly or in batches. An import or a copy has thousands, and nobody else writes meanwhile."""

from dataclasses import dataclass, field
from typing import Self

import sqlalchemy as sa

from ..storage import schema
from ..storage.batches import select_in_batches
from ..storage.bulk_insert import insert_rows
from ..storage.reserved_numbers import reserve_numbers
from ..values.graph_state import RowValues, SplitBody, hash_state, hash_text, split_body
from ..values.model import Json, Node
from .file_rows import load_insert
from .state_rows import StateName, StoredState

_state, _shape = schema.state.c, schema.state_shape.c
_GIVEN_COLUMNS = (
    *("thread_id", "namespace", "checkpoint_id", "parent", "parent_id", "segment", "depth", "is_input", "run_id"),
    *("leaves", "hash", "hidden"),
)
_given = [_state[name] for name in _GIVEN_COLUMNS]
_shape_query = sa.select(*(sa.bindparam(each.name, type_=each.type) for each in _given), _shape.number).where(
    _shape.hash == sa.bindparam("shape_hash")
)
_insert_state = (
    sa.insert(schema.state)
    .from_select([*_given, _state.shape], _shape_query, include_defaults=False)
    .returning(_state.number)
)


@dataclass(frozen=True, slots=True)
class StateDraft:
    """A state to insert. `parent_id` names a parent that is not stored. `message` is the conversation's head at that
    time."""

    thread_id: str
    namespace: str
    checkpoint_id: str
    parent: StateName | None
    parent_id: str | None
    run_id: str
    message: Node | None
    is_input: bool


def insert_state(connection: sa.Connection, new: StateDraft, body: Json) -> StoredState:
    split = split_draft(new, body)
    row = _make_row(new, split.shape, split.write_leaves(split.rest))
    number = _insert_with_shape(connection, row, split.shape)
    return StoredState(
        number=number,
        thread_id=new.thread_id,
        namespace=new.namespace,
        checkpoint_id=new.checkpoint_id,
        parent=new.parent.number if new.parent else None,
        parent_id=new.parent.checkpoint_id if new.parent else new.parent_id,
        run_id=new.run_id,
        message=new.message,
        hash=row["hash"],
        body=body,
    )


def split_draft(new: StateDraft, body: Json) -> SplitBody:
    return split_body(body, RowValues.at(new.checkpoint_id, new.run_id, new.message))


def _make_row(new: StateDraft, shape: str, leaves: bytes) -> Json:
    """Build a state's row, without its number and shape."""
    message_id = new.message.id if new.message else None
    named = new.parent.hash if new.parent else new.parent_id
    return {
        "thread_id": new.thread_id,
        "namespace": new.namespace,
        "checkpoint_id": new.checkpoint_id,
        "parent": new.parent.number if new.parent else None,
        "parent_id": None if new.parent else new.parent_id,
        "segment": new.message.segment if new.message else None,
        "depth": new.message.depth if new.message else None,
        "is_input": new.is_input,
        "run_id": None if new.run_id == new.checkpoint_id else new.run_id,
        "leaves": leaves,
        "hash": hash_state(new.namespace, new.checkpoint_id, named, shape, leaves, message_id),
        "hidden": False,
    }


def _insert_with_shape(connection: sa.Connection, row: Json, shape: str) -> int:
    """Insert a row, and its shape if it is new. Most states need a single statement."""
    hash_ = hash_text(shape)
    number = connection.scalar(_insert_state, {**row, "shape_hash": hash_})
    if number is None:
        # Another transaction may insert the same shape meanwhile.
        insert = load_insert(connection.dialect.name)(schema.state_shape).values(hash=hash_, body=shape)
        connection.execute(insert.on_conflict_do_nothing(index_elements=["hash"]))
        number = connection.execute(_insert_state, {**row, "shape_hash": hash_}).scalar_one()
    return int(number)


@dataclass
class StateBatch:
    """States written by a single transaction, parents first."""

    connection: sa.Connection
    # Reserved numbers, the next number last.
    _numbers: list[int]
    _rows: list[Json] = field(default_factory=list)
    # The shapes of the rows.
    _shapes: list[str] = field(default_factory=list)

    @classmethod
    def reserve(cls, connection: sa.Connection, count: int) -> Self:
        """Reserve the numbers of `count` states."""
        return cls(connection, reserve_numbers(connection, schema.state, count)[::-1])

    def add_state(self, new: StateDraft, shape: str, leaves: bytes) -> StateName:
        """Add a state, split by `split_draft`. Return its name for later states."""
        row = _make_row(new, shape, leaves)
        number = self._numbers.pop()
        self._rows.append({"number": number, **row})
        self._shapes.append(shape)
        return StateName(number=number, namespace=new.namespace, checkpoint_id=new.checkpoint_id, hash=row["hash"])

    def write(self) -> None:
        if not self._rows:
            return
        texts = {hash_text(shape): shape for shape in set(self._shapes)}
        insert = load_insert(self.connection.dialect.name)(schema.state_shape)
        rows = [{"hash": hash_, "body": text} for hash_, text in texts.items()]
        self.connection.execute(insert.on_conflict_do_nothing(index_elements=["hash"]), rows)
        found = select_in_batches(self.connection, sa.select(_shape.hash, _shape.number), _shape.hash, texts)
        numbers = {texts[row.hash]: row.number for row in found}
        for row, shape in zip(self._rows, self._shapes, strict=True):
            row["shape"] = numbers[shape]
        insert_rows(self.connection, schema.state, self._rows)
