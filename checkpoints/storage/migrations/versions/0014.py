"""States of LangGraph's graphs: their channels, and where branches and checkpoints stand among them."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "state",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("checkpoint_id", sa.LargeBinary(), nullable=False),
        sa.Column("parent", sa.Integer()),
        sa.Column("parent_id", sa.LargeBinary()),
        sa.Column("parent_hash", sa.LargeBinary()),
        sa.Column("segment", sa.Integer()),
        sa.Column("depth", sa.Integer()),
        sa.Column("is_input", sa.Boolean(), nullable=False),
        sa.Column("run_id", sa.Text()),
        sa.Column("shape", sa.Integer(), nullable=False),
        sa.Column("leaves", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("hidden", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("thread_id", "namespace", "checkpoint_id", name="uq_state_thread_id_namespace_checkpoint_id"),
        sqlite_autoincrement=True,
    )
    is_found = sa.text("segment IS NOT NULL AND NOT is_input")
    op.create_index(
        "ix_state_segment_depth", "state", ["segment", "depth"], sqlite_where=is_found, postgresql_where=is_found
    )
    op.create_table(
        "state_shape",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "channel_value",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("bytes", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "state_write",
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("checkpoint_id", sa.LargeBinary(), nullable=False),
        sa.Column("task_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("resumed", sa.Boolean(), nullable=False),
        sa.Column("task_path", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("bytes", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "namespace", "checkpoint_id", "task_id", "position", "resumed"),
        sqlite_with_rowid=False,
    )
    op.add_column("branch", sa.Column("state_id", sa.Integer()))
    op.add_column("checkpoint", sa.Column("state_id", sa.Integer()))
