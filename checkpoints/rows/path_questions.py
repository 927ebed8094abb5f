"""Queries about a path answered by the database: which messages, how many, how many bytes."""

from collections.abc import Collection, Iterator, Sequence

import sqlalchemy as sa

from ..storage import schema
from ..storage.batches import select_at_places
from ..storage.ranges import iterate_conditions
from ..values.history import Path, Place
from ..values.model import MAIN, PathSize
from . import path_rows

_MAX_LISTED_CHARS = 20_000
_message = schema.message.c
# Within a text, JSON puts a backslash before each quote.
_IS_ANSWER = sa.and_(
    _message.body.endswith('"type":"ai"}', autoescape=True),
    sa.not_(_message.body.contains('tool_calls":[{', autoescape=True)),
)
_IS_QUESTION = _message.body.endswith('"type":"human"}', autoescape=True)
_IS_RESULT = _message.body.endswith('"type":"tool"}', autoescape=True)
_HAS_FILE = _message.body.contains('"file":"sha256:', autoescape=True)


def select_outside_places(
    connection: sa.Connection, path: Path, marks: Sequence[str], *, before: int, limit: int
) -> list[Place]:
    """Find the newest messages of a path that are results, have files, or have one of these keys in a field."""
    marked = [_message.body.contains(f'"{mark}":{{', autoescape=True) for mark in marks]
    return _select_newest(connection, path, sa.or_(_IS_RESULT, _HAS_FILE, *marked), before, limit)


def select_unowned_places(connection: sa.Connection, path: Path, *, before: int, limit: int) -> list[Place]:
    """Find the newest messages of a path not written by a run."""
    return _select_newest(connection, path, _message.run_id.is_(None), before, limit)


def find_words_at(connection: sa.Connection, places: Collection[Place]) -> set[Place]:
    """Return which of these messages are questions or answers, but for very long ones: a list shows a line of each."""
    query = sa.select(_message.segment, _message.depth)
    is_listed = sa.or_(_IS_QUESTION, sa.and_(_IS_ANSWER, _message.agent == MAIN))
    wanted = query.where(is_listed, sa.func.length(_message.body) < _MAX_LISTED_CHARS)
    rows = select_at_places(connection, wanted, _message.segment, _message.depth, places)
    return {(row.segment, row.depth) for row in rows}


def find_question(connection: sa.Connection, path: Path, agent: str, *, before: int) -> Place | None:
    """Find the last message to an agent from a person or another agent."""
    return next(iter(_select_newest(connection, path, sa.and_(_message.agent == agent, _IS_QUESTION), before, 1)), None)


def find_answer(connection: sa.Connection, path: Path, agent: str, n: int, *, before: int) -> Place | None:
    """Find the n-th answer of an agent without tool calls. Positive `n` counts from the first, negative from the last."""
    order = _message.depth if n > 0 else _message.depth.desc()
    skipped = abs(n) - 1
    columns = sa.select(_message.segment, _message.depth).order_by(order).limit(1)
    for condition, values in _iterate(connection, path, before, is_reversed=n < 0):
        wanted = sa.and_(condition, _message.agent == agent, _IS_ANSWER)
        if row := connection.execute(columns.where(wanted).offset(skipped), values).first():
            return row.segment, row.depth
        skipped -= connection.scalar(sa.select(sa.func.count()).where(wanted), values) or 0
    return None


def count_answers(connection: sa.Connection, path: Path, agent: str, *, before: int) -> int:
    """Count the answers eligible for `find_answer`."""
    query = sa.select(sa.func.count()).where(_message.agent == agent, _IS_ANSWER)
    parts = _iterate(connection, path, before)
    return sum(connection.scalar(query.where(condition), values) or 0 for condition, values in parts)


def measure_messages(connection: sa.Connection, path: Path, agent: str, *, first: int, before: int) -> PathSize:
    """Measure an agent's messages on a path between two depths, without reading them."""
    size = sa.func.octet_length(_message.body)
    if connection.dialect.name == "sqlite":
        # Older SQLite versions lack octet_length.
        size = sa.func.length(sa.cast(_message.body, sa.LargeBinary))
    query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(size), 0)).where(_message.agent == agent)
    parts = _iterate(connection, path, before, first)
    found = [connection.execute(query.where(condition), values).one() for condition, values in parts]
    return PathSize(sum(count for count, _ in found), int(sum(byte_count for _, byte_count in found)))


def _select_newest(
    connection: sa.Connection, path: Path, wanted: sa.ColumnElement[bool], before: int, limit: int
) -> list[Place]:
    query = sa.select(_message.segment, _message.depth).where(wanted).order_by(_message.depth.desc())
    found: list[Place] = []
    for condition, values in _iterate(connection, path, before, is_reversed=True):
        rows = connection.execute(query.where(condition).limit(limit - len(found)), values)
        found += [(row.segment, row.depth) for row in rows]
        if len(found) >= limit:
            break
    return found


def _iterate(
    connection: sa.Connection, path: Path, before: int, first: int = 0, *, is_reversed: bool = False
) -> Iterator[tuple[sa.ColumnElement[bool], dict[str, object]]]:
    """Yield conditions for a path's messages between two depths, for portions of its segments."""
    ranges = path_rows.list_ranges(path, first, min(before, path.length)) if first < before else []
    return iterate_conditions(connection, _message.segment, _message.depth, ranges[::-1] if is_reversed else ranges)
