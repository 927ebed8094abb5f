"""Insert rows of table `segment`. Ids ascend from parents to children, and in the order of an import."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from ..storage import schema
from ..storage.bulk_insert import insert_rows
from ..values.model import Json, Node

_insert_segment = sa.insert(schema.segment).returning(schema.segment.c.id)
_last_segment = sa.select(sa.func.coalesce(sa.func.max(schema.segment.c.id), 0))
# The sequence's name is looked up once, not for each number.
_take_segments = sa.text(
    "SELECT nextval((SELECT CAST(pg_get_serial_sequence('segment', 'id') AS regclass))) FROM generate_series(1, :number)"
)


@dataclass(frozen=True, slots=True)
class NewSegment:
    """A segment to insert below a message, or at the root for None. Its id is reserved."""

    id: int
    parent: Node | None


def insert_segment(connection: sa.Connection, thread_id: str, parent: Node | None) -> int:
    """Insert a segment below a message, or at the root for None, and return its id."""
    return int(connection.execute(_insert_segment, _make_segment_row(thread_id, parent)).scalar_one())


def reserve_segments(connection: sa.Connection, number: int) -> list[int]:
    """Reserve segment ids for this transaction, in ascending order."""
    if connection.dialect.name == "postgresql":
        # Another transaction may take some between.
        return sorted(connection.scalars(_take_segments, {"number": number}))
    # Only one transaction writes at a time.
    first = connection.execute(_last_segment).scalar_one() + 1
    return list(range(first, first + number))


def insert_segments(connection: sa.Connection, thread_id: str, segments: Sequence[NewSegment]) -> None:
    """Insert segments with reserved ids, parents first."""
    rows = [{"id": each.id, **_make_segment_row(thread_id, each.parent)} for each in segments]
    insert_rows(connection, schema.segment, rows)


def _make_segment_row(thread_id: str, parent: Node | None) -> Json:
    segment, depth = (parent.segment, parent.depth) if parent else (None, -1)
    return {"thread_id": thread_id, "parent": segment, "fork_depth": depth}
