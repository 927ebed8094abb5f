"""Reruns: the questions of a path, asked once more on another branch; and the step of a rerun that a run answers."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "rerun",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("question_ids", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_rerun_thread_id", "rerun", ["thread_id"])
    op.add_column("run", sa.Column("rerun_id", sa.Text()))
    op.add_column("run", sa.Column("rerun_number", sa.Integer()))
