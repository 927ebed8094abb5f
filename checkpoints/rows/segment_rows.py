"""Rows of the table `segment`, written. The ids ascend from parents to children, and in the order of an import."""

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from ..storage import schema
from ..storage.bulk_insert import insert_rows
from ..values.model import Json, Node

_insert_segment = sa.insert(schema.segment).returning(schema.segment.c.id)
_last_segment = sa.select(sa.func.coalesce(sa.func.max(schema.segment.c.id), 0))
_take_segments = sa.text(  # the name of the sequence is looked up once, and not for each number
    "SELECT nextval((SELECT CAST(pg_get_serial_sequence('segment', 'id') AS regclass))) FROM generate_series(1, :number)"
)


@dataclass(frozen=True, slots=True)
class NewSegment:
    """A segment to be written below a message (None: a segment of first messages). Its id is reserved."""

    id: int
    parent: Node | None


def insert_segment(connection: sa.Connection, thread_id: str, parent: Node | None) -> int:
    """Write a segment below a message (None: of first messages), and return its id."""
    return int(connection.execute(_insert_segment, _make_segment_row(thread_id, parent)).scalar_one())


def reserve_segments(connection: sa.Connection, number: int) -> list[int]:
    """Reserve the ids of segments that this transaction will write, and return them in ascending order."""
    if connection.dialect.name == "postgresql":
        return sorted(connection.scalars(_take_segments, {"number": number}))  # another transaction may take some between
    first = connection.execute(_last_segment).scalar_one() + 1  # one transaction writes at a time
    return list(range(first, first + number))


def insert_segments(connection: sa.Connection, thread_id: str, segments: Sequence[NewSegment]) -> None:
    """Write segments whose ids are reserved, parents first."""
    rows = [{"id": each.id, **_make_segment_row(thread_id, each.parent)} for each in segments]
    insert_rows(connection, schema.segment, rows)


def _make_segment_row(thread_id: str, parent: Node | None) -> Json:
    segment, depth = (parent.segment, parent.depth) if parent else (None, -1)
    return {"thread_id": thread_id, "parent": segment, "fork_depth": depth}
