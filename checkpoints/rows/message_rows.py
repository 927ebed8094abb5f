"""Read messages, checked against their hashes."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sa
from langchain_core.messages import BaseMessage

from ..storage import schema
from ..storage.batches import select_at_places
from ..storage.ranges import iterate_conditions
from ..values import limits, serde
from ..values.errors import DamagedMessageError, MessageNotFoundError
from ..values.history import Path, Place
from ..values.model import MAIN, Message, MessageSize, MessageStatus, Node
from ..values.progress import Report, count_steps, ignore_progress
from ..values.sentence import sentence
from . import path_rows, thread_rows

# A message row with all columns.
TreeRow = sa.Row[Any]
# A message row, and the hash of the message before it.
_RowWithParent = tuple[Any, str | None]
_MAX_PROMPT_SEARCH_MESSAGES = 200
# The first portion when reading up to a number of values.
_FIRST_PORTION_MESSAGES = 250
_READING = sentence("Reading")
_MESSAGE_COLUMNS = tuple(schema.message.c.keys())
_SIZE_COLUMNS = ("depth", "agent", "body")
_STATE_COLUMNS = ("agent", "status", "body", "hash")
_parent = schema.message.alias("parent")
_with_parent = sa.select(schema.message, _parent.c.hash.label("parent_hash")).outerjoin(
    _parent, _parent.c.id == schema.message.c.parent_id
)
_ids_query = sa.select(schema.message.c.id, schema.message.c.segment, schema.message.c.depth)
_path_query = _with_parent.order_by(schema.message.c.depth)
_message_query = _with_parent.where(
    schema.message.c.id == sa.bindparam("message_id"), schema.message.c.thread_id == sa.bindparam("of_thread")
)
_own_segments = sa.select(schema.segment.c.id).where(schema.segment.c.thread_id == sa.bindparam("thread_id"))
# Messages have no index by thread.
_tree_query = (
    sa.select(schema.message)
    .where(schema.message.c.segment.in_(_own_segments))
    .order_by(schema.message.c.segment, schema.message.c.depth)
)
_next = schema.message.alias("next")
_tail_query = (
    sa.select(schema.message.c.hash, _next.c.id.is_(None))
    .outerjoin(_next, sa.and_(_next.c.segment == sa.bindparam("segment"), _next.c.depth == sa.bindparam("depth")))
    .where(schema.message.c.id == sa.bindparam("message_id"))
)


@dataclass(frozen=True, slots=True)
class Tail:
    """The hash of the message to append to, and whether it is the last of its segment."""

    hash: str | None
    is_last: bool


EMPTY_TAIL = Tail(None, is_last=True)


@dataclass(frozen=True, slots=True)
class IntactMessage:
    """A stored message that is undamaged, as are all messages before it."""

    hash: str
    node: Node


def select_messages(
    connection: sa.Connection,
    path: Path,
    *,
    last: int | None = None,
    before: int | None = None,
    max_values: int | None = None,
    agent: str | None = None,
    keeps_first: bool = False,
    report: Report = ignore_progress,
) -> list[Message]:
    """Return the path's messages in order, optionally only the `last`, and only at depths below `before`.

    With `agent`, messages of other agents are left out. With `max_values`, the oldest messages are dropped until the
    JSON of the rest has at most so many values (`keeps_first`: the newest are dropped). At least one message is
    returned. No row is read beyond the portion with the last value.
    """
    upper = path.length if before is None else min(before, path.length)
    lower = 0 if last is None else max(0, upper - last)
    if lower >= upper:
        return []
    if max_values is not None:
        every = partial(_iterate_portions, keeps_first=keeps_first)
        iterate = every if agent is None else partial(_iterate_own, agent=agent)
        found = _read_values(iterate(connection, path, lower, upper), max_values)
        return found if keeps_first else found[::-1]
    select = _select_all if agent is None else partial(_select_own, agent=agent)
    rows = select(connection, path, lower, upper)
    return [_row_to_message(row, parent) for row, parent in count_steps(rows, report, _READING, "messages")]


def _iterate_portions(
    connection: sa.Connection, path: Path, lower: int, upper: int, *, keeps_first: bool
) -> Iterator[_RowWithParent]:
    """Yield the rows of `_select_all`, newest first unless `keeps_first`. Portions double in size."""
    size = _FIRST_PORTION_MESSAGES
    while lower < upper:
        first, end = (lower, min(upper, lower + size)) if keeps_first else (max(lower, upper - size), upper)
        rows = _select_all(connection, path, first, end)
        yield from rows if keeps_first else reversed(rows)
        lower, upper, size = (end, upper, 2 * size) if keeps_first else (lower, first, 2 * size)


def _iterate_own(connection: sa.Connection, path: Path, lower: int, upper: int, agent: str) -> Iterator[_RowWithParent]:
    """Yield an agent's rows, newest first. Portions count only this agent's messages."""
    table, size = schema.message.c, _FIRST_PORTION_MESSAGES
    ranges = path_rows.list_ranges(path, lower, upper)
    for is_there, values in reversed([*iterate_conditions(connection, table.segment, table.depth, ranges)]):
        own, before = _with_parent.where(is_there, table.agent == agent).order_by(table.depth.desc()), upper
        while rows := connection.execute(own.where(table.depth < before).limit(size), values).all():
            yield from ((row, row.parent_hash) for row in rows)
            if len(rows) < size:
                break
            before, size = rows[-1].depth, 2 * size


def _select_all(connection: sa.Connection, path: Path, lower: int, upper: int) -> list[_RowWithParent]:
    """Return a path's rows between two depths, each with the hash of the message before it."""
    # A message's hash covers the hash of the message before it.
    first = max(0, lower - 1)
    found = list(path_rows.select_path(connection, _MESSAGE_COLUMNS, path, first, upper))
    before_it = [None, *(row.hash for row in found)]
    if found and found[0].depth < lower:
        found, before_it = found[1:], before_it[1:]
    return list(zip(found, before_it, strict=False))


def _select_own(connection: sa.Connection, path: Path, lower: int, upper: int, agent: str) -> list[_RowWithParent]:
    """Return an agent's rows between two depths. Rows of other agents are not read."""
    table, found = schema.message.c, list[_RowWithParent]()
    ranges = path_rows.list_ranges(path, lower, upper)
    for is_there, values in iterate_conditions(connection, table.segment, table.depth, ranges):
        query = _path_query.where(is_there, table.agent == agent)
        found += [(row, row.parent_hash) for row in connection.execute(query, values)]
    return found


def _count_separators(body: str) -> int:
    """Return at least the number of JSON values in a body. Separators within texts count too."""
    return 1 + body.count(",") + body.count("[") + body.count("{")


def _read_values(rows: Iterable[_RowWithParent], max_values: int) -> list[Message]:
    """Return messages up to a total of `max_values`. Values are counted exactly once the separators exceed the limit."""
    found: list[Message] = []
    count, is_exact = 0, False
    for row, parent in rows:
        message = _row_to_message(row, parent)
        if not is_exact:
            count += _count_separators(row.body)
            if is_exact := count > max_values:
                count = sum(limits.count_values(each.body, max_values) for each in (*found, message))
        else:
            count += limits.count_values(message.body, max_values)
        if count > max_values and found:
            break
        found.append(message)
    return found


def select_sizes(connection: sa.Connection, path: Path, *, last: int, before: int) -> list[MessageSize]:
    """Return the sizes of the path's `last` messages below depth `before`, without parsing or hashing."""
    rows = path_rows.select_path(connection, _SIZE_COLUMNS, path, max(0, before - last), before)
    return [MessageSize(depth, agent, serde.read_type(body), len(body.encode())) for depth, agent, body in rows]


def load_langchain_messages(connection: sa.Connection, path: Path) -> list[BaseMessage]:
    """Return the path as new LangChain messages. Raises `DamagedMessageError`."""
    found: list[BaseMessage] = []
    before = None
    for agent, status, body, hash_ in path_rows.select_path(connection, _STATE_COLUMNS, path, 0, path.length):
        if serde.hash_canonical_body(body, agent, status, before) != hash_:
            raise find_damage(connection, path)
        found.append(serde.parse_message(body))
        before = hash_
    return found


def find_damage(connection: sa.Connection, path: Path) -> DamagedMessageError:
    """Return the error for the first damaged message of a path. A lost message damages the next."""
    damaged = next(each for each in select_messages(connection, path) if each.damaged)
    return DamagedMessageError(damaged.thread_id, damaged.id, damaged.depth)


def find_first_prompt(connection: sa.Connection, path: Path, start: int) -> str:
    """Return the text of the user's first message on a path from depth `start`. Empty if damaged or missing.

    Only the first messages are searched, because there may be thousands.
    """
    count = min(path.length - start, _MAX_PROMPT_SEARCH_MESSAGES)
    for message in select_messages(connection, path, last=count, before=start + count) if count > 0 else []:
        # The notes of moves and summaries have marks here. A user's message has none.
        is_note = bool(message.body["data"].get("additional_kwargs"))
        if message.type == "human" and message.agent == MAIN and not is_note:
            return "" if message.damaged else str(message.langchain.text)
    return ""


def select_tail(connection: sa.Connection, node: Node) -> Tail:
    """Return the hash of a message to append to, and whether it is the last of its segment."""
    row = connection.execute(_tail_query, {"message_id": node.id, "segment": node.segment, "depth": node.depth + 1}).first()
    return Tail(*row) if row else EMPTY_TAIL


def _row_to_message(row: Sequence[Any], parent_hash: str | None) -> Message:
    """Parse a row and check its hash, which covers its parent's."""
    # Unpacking is faster than looking up each column by name for a list of thousands.
    identifier, thread_id, parent_id, segment, depth, agent, status, body, hash_, run_id, created_at, person, *_ = row
    damaged = serde.hash_canonical_body(body, agent, status, parent_hash) != hash_
    return Message(
        id=identifier,
        thread_id=thread_id,
        parent_id=parent_id,
        segment=segment,
        depth=depth,
        agent=agent,
        status=MessageStatus.PARTIAL if damaged else MessageStatus(status),
        body=serde.make_empty_body(body) if damaged else serde.parse_canonical(body),
        hash=hash_,
        run_id=run_id,
        created_at=thread_rows.to_time(created_at),
        person=person,
        damaged=damaged,
    )


def select_message(connection: sa.Connection, message_id: str, thread_id: str) -> Message:
    row = connection.execute(_message_query, {"message_id": message_id, "of_thread": thread_id}).one_or_none()
    if row is None:
        raise MessageNotFoundError(message_id)
    return _row_to_message(row, row.parent_hash)


def find_content(connection: sa.Connection, message_id: str) -> str | None:
    """Return a message's content as canonical JSON, or None if it is missing or damaged. The hash is not checked."""
    text = connection.scalar(sa.select(schema.message.c.body).where(schema.message.c.id == message_id))
    body = serde.parse_leniently(text) if text else None
    return serde.to_canonical(body["data"].get("content")) if isinstance(body, dict) and "data" in body else None


def select_messages_at(connection: sa.Connection, places: Collection[Place]) -> dict[Place, Message]:
    return {
        (row.segment, row.depth): _row_to_message(row, row.parent_hash)
        for row in _select_at(connection, _with_parent, places)
    }


def select_ids_at(connection: sa.Connection, places: Collection[Place]) -> dict[Place, str]:
    return {(row.segment, row.depth): row.id for row in _select_at(connection, _ids_query, places)}


def _select_at(connection: sa.Connection, query: sa.Select[Any], places: Collection[Place]) -> Iterator[sa.Row[Any]]:
    table = schema.message.c
    return select_at_places(connection, query, table.segment, table.depth, places)


def select_tree(connection: sa.Connection, thread_id: str) -> Sequence[TreeRow]:
    """Return the rows of the whole tree, parents before children, siblings in the order they were written."""
    return connection.execute(_tree_query, {"thread_id": thread_id}).all()


def select_all_messages(connection: sa.Connection, thread_id: str) -> list[Message]:
    """Return the whole tree, parents before children, siblings in the order they were written."""
    found = select_tree(connection, thread_id)
    hashes = {row.id: row.hash for row in found}
    return [_row_to_message(row, hashes.get(row.parent_id)) for row in found]


def select_intact_messages(connection: sa.Connection, thread_id: str) -> dict[str, IntactMessage]:
    """Return the thread's undamaged messages by id, without those after a damaged message."""
    found: dict[str, IntactMessage] = {}
    for row in connection.execute(_tree_query, {"thread_id": thread_id}):
        before = found[row.parent_id].hash if row.parent_id in found else None
        follows = row.parent_id is None or before is not None
        if follows and serde.hash_canonical_body(row.body, row.agent, row.status, before) == row.hash:
            found[row.id] = IntactMessage(row.hash, Node(row.id, row.segment, row.depth))
    return found
