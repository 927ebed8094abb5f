"""States of graphs that are written together: an import or a copy has thousands, and nobody else writes meanwhile."""

from dataclasses import dataclass, field
from typing import Self

import sqlalchemy as sa

from ..storage import schema
from ..storage.batches import select_in_batches
from ..storage.bulk_insert import insert_rows
from ..storage.reserved_numbers import reserve_numbers
from ..values.graph_state import hash_text
from ..values.model import Json
from .file_rows import load_insert
from .state_rows import StateDraft, StateName, make_row

_shape = schema.state_shape.c


@dataclass
class StateBatch:
    """States that one transaction writes, parents first."""

    connection: sa.Connection
    _numbers: list[int]  # reserved ones, the next one last
    _rows: list[Json] = field(default_factory=list)
    _shapes: list[str] = field(default_factory=list)  # of the rows

    @classmethod
    def reserve(cls, connection: sa.Connection, count: int) -> Self:
        """Reserve the numbers of so many states."""
        return cls(connection, reserve_numbers(connection, schema.state, count)[::-1])

    def add_state(self, new: StateDraft, shape: str, leaves: bytes) -> StateName:
        """Add a state, see `split_draft`. Return how later ones refer to it."""
        row = make_row(new, shape, leaves)
        number = self._numbers.pop()
        self._rows.append({"number": number, **row})
        self._shapes.append(shape)
        return StateName(number=number, namespace=new.namespace, checkpoint_id=new.checkpoint_id, hash=row["hash"])

    def write(self) -> None:
        """Write the states that were added."""
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
