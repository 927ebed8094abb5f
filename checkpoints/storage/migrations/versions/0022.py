"""Row-level security on PostgreSQL, and the tokens that people used by day."""

import json
import time
from collections import Counter
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
kind = "contract"
_EVERYBODY = "current_setting('waymark.everybody', true) = 'on'"
_OF_OWNER = f"owner = current_setting('waymark.owner', true) OR {_EVERYBODY}"
# The conversations that the transaction has named are compared first: the function looks each other one up. A subquery would
# read all conversations for each statement: PostgreSQL hashes it.
_OF_THREAD = (
    f"{_EVERYBODY} OR thread_id = ANY (string_to_array(current_setting('waymark.threads', true), ',')) OR owns_thread(thread_id)"
)
_OWNS_THREAD = (
    "CREATE FUNCTION owns_thread(wanted text) RETURNS boolean LANGUAGE plpgsql STABLE AS "
    "$$ BEGIN RETURN EXISTS (SELECT FROM thread WHERE thread.id = wanted); END $$"  # by the policy of `thread`
)
_OF_FILE = f"hash = ANY (string_to_array(current_setting('waymark.files', true), ',')) OR {_EVERYBODY}"
_TABLES_OF_OWNERS = ("thread", "saved_prompt", "tag", "channel_value", "usage", "upload", "long_request")
_TABLES_OF_THREADS = (
    *("segment", "message", "branch", "checkpoint", "operation", "state", "state_write", "run", "candidate", "rerun"),
    *("thread_tag", "share"),
)
_TABLES_OF_ALL = ("person", "invitation", "session", "sign_in_counter", "identity")

_COUNTS = ("answers", "input", "cached", "output", "reasoning")
_DAY = 24 * 3600 * 1_000_000  # microseconds
_KEPT_DAYS = 31  # of the usage that is counted from messages


def upgrade() -> None:
    op.add_column("channel_value", sa.Column("owner", sa.Text()))
    usage = op.create_table(
        "usage",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("day", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("model", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _COUNTS),
        sa.PrimaryKeyConstraint("owner", "day", "model"),
    )
    assert usage is not None
    if rows := _count_usage():
        op.bulk_insert(usage, rows)
    if op.get_bind().dialect.name == "postgresql":
        _protect_rows()


def _count_usage() -> list[dict[str, Any]]:
    """Count the tokens of the last month from the answers that runs have written."""
    since = (int(time.time()) // 86_400 - _KEPT_DAYS) * _DAY
    query = (
        "SELECT thread.owner, message.created_at, message.body FROM message JOIN thread ON thread.id = message.thread_id "
        f"WHERE message.created_at >= {since} AND message.run_id IS NOT NULL AND message.body LIKE '%usage_metadata%'"
    )
    found: dict[tuple[str, int, str], Counter[str]] = {}
    for owner, created_at, body in op.get_bind().execute(sa.text(query), execution_options={"yield_per": 100}):
        data = _to_map(_to_map(json.loads(body)).get("data"))
        counted = _to_map(data.get("usage_metadata"))
        model = _to_map(data.get("response_metadata")).get("spec")
        key = (owner, created_at // _DAY, model if isinstance(model, str) else "")
        found.setdefault(key, Counter()).update(
            answers=1,
            input=_to_count(counted.get("input_tokens")),
            cached=_to_count(_to_map(counted.get("input_token_details")).get("cache_read")),
            output=_to_count(counted.get("output_tokens")),
            reasoning=_to_count(_to_map(counted.get("output_token_details")).get("reasoning")),
        )
    names = ("owner", "day", "model")
    return [{**dict(zip(names, key, strict=True)), **{n: counts[n] for n in _COUNTS}} for key, counts in found.items()]


def _to_map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _to_count(value: object) -> int:
    return value if type(value) is int and 0 <= value <= 2**40 else 0


def _protect_rows() -> None:
    op.execute("ALTER TABLE channel_value ALTER owner SET DEFAULT nullif(current_setting('waymark.owner', true), '')")
    for table in _TABLES_OF_OWNERS:
        _add_policy(table, _OF_OWNER)
    op.execute(f"ALTER POLICY owned ON channel_value USING (owner IS NULL OR {_OF_OWNER})")  # older than this revision
    op.execute(_OWNS_THREAD)
    for table in _TABLES_OF_THREADS:
        _add_policy(table, _OF_THREAD)
    _add_policy("file", _OF_FILE)
    for table in _TABLES_OF_ALL:
        _add_policy(table, _EVERYBODY)
    _add_policy("audit_entry", _EVERYBODY)
    op.execute("ALTER POLICY owned ON audit_entry WITH CHECK (true)")  # each change writes its entry, and reads none


def _add_policy(table: str, condition: str) -> None:
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # it binds the owner of the tables, who Waymark is
    op.execute(f"CREATE POLICY owned ON {table} USING ({condition})")
