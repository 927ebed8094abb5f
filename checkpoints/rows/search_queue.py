"""The queue of the search's index: the segments whose messages are still to be indexed, from a depth on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from ..storage import schema
from ..storage.access import exempt_query
from ..storage.batches import select_in_batches
from ..storage.bulk_insert import insert_rows
from ..values.history import Place

_pending, _message = schema.search_pending.c, schema.message.c


@dataclass(frozen=True, slots=True)
class QueuedRange:
    """Queued messages of one segment, from the depth `start` to the depth `end`; none are left if it ends before."""

    segment: int
    start: int
    end: int
    is_last: bool  # the segment has no later messages


def add_every_segment(connection: sa.Connection) -> None:
    connection.execute(sa.delete(schema.search_pending))
    every = sa.select(schema.segment.c.id, sa.literal(0))
    connection.execute(sa.insert(schema.search_pending).from_select(["segment", "depth"], every))


def add_places(connection: sa.Connection, places: Iterable[Place]) -> None:
    first: dict[int, int] = {}
    for segment, depth in places:
        first[segment] = min(depth, first.get(segment, depth))
    query = sa.select(_pending.segment, _pending.depth)
    queued = {row.segment: row.depth for row in select_in_batches(connection, query, _pending.segment, first)}
    new = [{"segment": segment, "depth": depth} for segment, depth in first.items() if segment not in queued]
    insert_rows(connection, schema.search_pending, new)
    for segment, depth in first.items():
        if depth < queued.get(segment, depth):
            _move_queue(connection, segment, depth)


def _move_queue(connection: sa.Connection, segment: int, depth: int) -> None:
    connection.execute(sa.update(schema.search_pending).where(_pending.segment == segment).values(depth=depth))


def is_pending(connection: sa.Connection) -> bool:
    """Return whether messages are still to be indexed."""
    return connection.execute(exempt_query(sa.select(_pending.segment).limit(1))).first() is not None


def select_ranges(connection: sa.Connection, max_messages: int) -> list[QueuedRange]:
    """Return the next ranges of the queue, with at most so many messages."""
    of_segment = _message.segment == _pending.segment
    first = sa.select(sa.func.min(_message.depth)).where(of_segment, _message.depth >= _pending.depth).scalar_subquery()
    last = sa.select(sa.func.max(_message.depth)).where(of_segment).scalar_subquery()
    query = sa.select(_pending.segment, first, last).order_by(_pending.segment).limit(max_messages)
    ranges: list[QueuedRange] = []
    room = max_messages
    for segment, start, end in connection.execute(query):
        if room == 0:
            break
        found = QueuedRange(segment, 0, -1, is_last=True)  # nothing is left of it
        if start is not None:
            stop = min(end, start + room - 1)
            found, room = QueuedRange(segment, start, stop, is_last=stop == end), room - (stop - start + 1)
        ranges.append(found)
    return ranges


def is_in(ranges: Iterable[QueuedRange]) -> sa.ColumnElement[bool]:
    """Return the condition that a message is in one of these ranges."""
    return sa.or_(
        *(sa.and_(_message.segment == each.segment, _message.depth.between(each.start, each.end)) for each in ranges)
    )


def cut_ranges(ranges: Iterable[QueuedRange], last: Place) -> list[QueuedRange]:
    """Return the ranges up to this place."""
    segment, depth = last
    *whole, cut = [each for each in ranges if each.segment <= segment]
    return [*whole, replace(cut, end=depth, is_last=cut.is_last and cut.end == depth)]


def remove_ranges(connection: sa.Connection, ranges: Sequence[QueuedRange]) -> None:
    """Remove the ranges from the queue. Only the last one can leave messages of its segment behind."""
    done = [each.segment for each in ranges if each.is_last]
    connection.execute(sa.delete(schema.search_pending).where(_pending.segment.in_(done)))
    if not ranges[-1].is_last:
        _move_queue(connection, ranges[-1].segment, ranges[-1].end + 1)
