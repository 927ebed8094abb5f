"""Rows of table `usage`: a person's tokens by day and model, and the bytes a person stores."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from ..storage import schema
from ..storage.access import find_access
from ..values.answer_spec import read_spec
from ..values.files import find_file_hashes
from ..values.token_counts import TokenCounts, count_tokens
from . import run_rows
from .file_rows import REFERENCES_FILE, load_insert, sum_bytes
from .message_inserts import MessageContent
from .thread_rows import LoadedThread

# A day in microseconds.
DAY = 24 * 3600 * 1_000_000
_usage, _thread, _segment, _message = schema.usage.c, schema.thread.c, schema.segment.c, schema.message.c
_COUNTS = ("answers", "input", "cached", "output", "reasoning")
_of_today = sa.select(sa.func.coalesce(sa.func.sum(_usage.input + _usage.output), 0)).where(
    _usage.owner == sa.bindparam("owner"), _usage.day == sa.bindparam("day")
)
# A single statement, because each send waits for it.
_use_query = sa.select(_of_today.scalar_subquery(), run_rows.make_running_count())
_use_query_of_person = sa.select(_of_today.scalar_subquery(), run_rows.make_asked_count())


@dataclass(frozen=True, slots=True)
class UsageRow:
    """An owner's tokens on a day, for a model."""

    owner: str
    day: int
    model: str
    answers: int
    tokens: TokenCounts


def add_answers(connection: sa.Connection, loaded: LoadedThread, now: int, contents: Iterable[MessageContent]) -> None:
    """Count the answers a run writes now, for the person who asked.

    This includes a run ended by the server, so a removed member is charged. Copies and imports keep their
    old time, and were used before.
    """
    for content in contents:
        if content.run_id is None or content.created_at != now or '"usage_metadata"' not in content.body:
            continue
        data = json.loads(content.body)["data"]
        if isinstance(counted := data.get("usage_metadata"), dict):
            asker = loaded.asker if content.run_id == loaded.active_run_id else None
            owner = asker or loaded.thread.owner
            add_call(connection, owner, now, read_spec(data.get("response_metadata")), counted, answers=1)


def add_call(connection: sa.Connection, owner: str, now: int, model: str, counted: Any, *, answers: int = 0) -> None:
    """Count a call of a model for the acting owner, or else for the conversation's owner."""
    access = find_access(connection)
    counts = {"answers": answers, **asdict(count_tokens(counted))}
    row = {"owner": access.owner if access else owner, "day": now // DAY, "model": model, **counts}
    connection.execute(_make_insert(connection.dialect.name), row)


@cache
def _make_insert(dialect: str) -> sa.Insert:
    """Build the upsert of counts once, because building takes longer than running it."""
    statement = load_insert(dialect)(schema.usage)
    sums = {name: _usage[name] + statement.excluded[name] for name in _COUNTS}
    insert: sa.Insert = statement.on_conflict_do_update(index_elements=["owner", "day", "model"], set_=sums)
    return insert


def count_use(connection: sa.Connection, owner: str, now: int) -> tuple[int, int]:
    """Return an owner's used tokens on the day of `now`, and the number of their running runs."""
    query = _use_query_of_person if find_access(connection) else _use_query
    tokens, runs = connection.execute(query, {"owner": owner, "day": now // DAY}).one()
    return int(tokens), runs


def select_usage(connection: sa.Connection, since_day: int, owner: str | None = None) -> Sequence[UsageRow]:
    """Return the usage since a day, of an owner or of all."""
    query = sa.select(schema.usage).where(_usage.day >= since_day).order_by(_usage.owner, _usage.day, _usage.model)
    rows = connection.execute(query if owner is None else query.where(_usage.owner == owner))
    return [
        UsageRow(row.owner, row.day, row.model, row.answers, TokenCounts(row.input, row.cached, row.output, row.reasoning))
        for row in rows
    ]


def measure_storage(connection: sa.Connection, owner: str | None = None) -> dict[str, int]:
    """Return the bytes of messages and attached files, including deleted conversations, of an owner or by owner."""
    joined = schema.thread.join(schema.segment, _segment.thread_id == _thread.id)
    joined = joined.join(schema.message, _message.segment == _segment.id)
    is_wanted = sa.true() if owner is None else _thread.owner == owner
    size = sa.func.octet_length(_message.body)
    if connection.dialect.name == "sqlite":
        # Older SQLite versions lack octet_length.
        size = sa.func.length(sa.cast(_message.body, sa.LargeBinary))
    sizes = sa.select(_thread.owner, sa.func.sum(size)).select_from(joined).where(is_wanted).group_by(_thread.owner)
    found = {name: int(bytes_) for name, bytes_ in connection.execute(sizes)}
    hashes: dict[str, set[str]] = {}
    with_files = sa.select(_thread.owner, _message.body).select_from(joined).where(is_wanted, REFERENCES_FILE)
    for name, body in connection.execute(with_files, execution_options={"yield_per": 100}):
        hashes.setdefault(name, set()).update(find_file_hashes(body))
    return found | {name: found[name] + sum_bytes(connection, each) for name, each in hashes.items()}


def count_threads(connection: sa.Connection, owner: str | None = None) -> dict[str, int]:
    """Count listed conversations, of an owner or by owner."""
    query = sa.select(_thread.owner, sa.func.count()).where(_thread.deleted_at.is_(None)).group_by(_thread.owner)
    rows = connection.execute(query if owner is None else query.where(_thread.owner == owner))
    return {row[0]: row[1] for row in rows}
