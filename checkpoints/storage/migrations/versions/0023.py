"""Members of conversations, and who did what in them."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
kind = "contract"
_EVERYBODY = "current_setting('waymark.everybody', true) = 'on'"
_PERSON = "current_setting('waymark.owner', true)"
_OF_OWNER = f"owner = {_PERSON} OR {_EVERYBODY}"
# The conversations that the transaction has named come first, as in 0022: a function looks each other one up.
_IS_NAMED = "{} = ANY (string_to_array(current_setting('waymark.threads', true), ','))"
_IS_CHANGED = "{} = ANY (string_to_array(current_setting('waymark.changed', true), ','))"
# No policy of `thread_member` asks one of `thread` to read: `thread` asks `thread_member`, and a circle would have no end.
_IS_MEMBER = f"EXISTS (SELECT FROM thread_member m WHERE m.thread_id = wanted AND m.person = {_PERSON}{{}})"
_IS_OWNER = f"EXISTS (SELECT FROM thread t WHERE t.id = wanted AND t.owner = {_PERSON})"
_IS_EDITOR = _IS_MEMBER.format(" AND m.role = 'editor'")
_FUNCTIONS = {
    "is_member": _IS_MEMBER.format(""),
    "owns_thread": _IS_OWNER,
    "sees_thread": "EXISTS (SELECT FROM thread t WHERE t.id = wanted)",  # by the policy of `thread`
    "changes_thread": f"{_IS_OWNER} OR {_IS_EDITOR}",
}
_TABLES_OF_THREADS = (
    "segment",
    "message",
    "branch",
    "checkpoint",
    "operation",
    "state",
    "state_write",
    "run",
    "candidate",
    "rerun",
)
_TABLES_OF_OWNERS = ("thread_tag", "share")  # of a conversation, for its owner alone


def upgrade() -> None:
    for table in ("operation", "message", "run"):
        op.add_column(table, sa.Column("person", sa.Text()))
    op.create_table(
        "thread_member",
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("added_by", sa.Text(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("thread_id", "person"),
    )
    op.create_index("ix_thread_member_person", "thread_member", ["person"])
    if op.get_bind().dialect.name == "postgresql":
        _let_members_in()


def _let_members_in() -> None:
    for name, condition in _FUNCTIONS.items():
        op.execute(
            f"CREATE OR REPLACE FUNCTION {name}(wanted text) RETURNS boolean LANGUAGE plpgsql STABLE AS "
            f"$$ BEGIN RETURN {condition}; END $$"
        )
    op.execute("ALTER TABLE thread_member ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE thread_member FORCE ROW LEVEL SECURITY")
    seen = f"{_EVERYBODY} OR person = {_PERSON} OR {_IS_NAMED.format('thread_id')}"
    op.execute(f"CREATE POLICY owned ON thread_member USING ({seen}) WITH CHECK ({_EVERYBODY} OR owns_thread(thread_id))")
    _limit_removal("thread_member", f"{_EVERYBODY} OR person = {_PERSON} OR owns_thread(thread_id)")
    _set_policy(
        "thread",
        f"{_OF_OWNER} OR {_IS_NAMED.format('id')} OR is_member(id)",
        f"{_OF_OWNER} OR {_IS_CHANGED.format('id')} OR changes_thread(id)",
    )
    _limit_removal("thread", _OF_OWNER)
    for table in _TABLES_OF_THREADS:
        changed = f"{_EVERYBODY} OR {_IS_CHANGED.format('thread_id')} OR changes_thread(thread_id)"
        _set_policy(table, f"{_EVERYBODY} OR {_IS_NAMED.format('thread_id')} OR sees_thread(thread_id)", changed)
        _limit_removal(table, changed)
    for table in _TABLES_OF_OWNERS:
        own = f"{_EVERYBODY} OR owns_thread(thread_id)"
        _set_policy(table, own, own)
    # Values are of the owner of the conversation whose states name them, whoever asked for the answer.
    shared = "current_setting('waymark.values', true)"
    op.execute(f"ALTER TABLE channel_value ALTER owner SET DEFAULT coalesce(nullif({shared}, ''), nullif({_PERSON}, ''))")
    of_value = f"owner IS NULL OR owner = {shared} OR {_OF_OWNER}"
    _set_policy("channel_value", of_value, of_value)


def _set_policy(table: str, seen: str, changed: str) -> None:
    op.execute(f"ALTER POLICY owned ON {table} USING ({seen}) WITH CHECK ({changed})")


def _limit_removal(table: str, condition: str) -> None:
    op.execute(f"CREATE POLICY kept ON {table} AS RESTRICTIVE FOR DELETE USING ({condition})")
