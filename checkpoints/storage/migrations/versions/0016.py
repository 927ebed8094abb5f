"""Candidates: the answers of several models to one question."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "candidate",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("branch_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("draft", sa.Text(), nullable=False),
        sa.Column("draft_reasoning", sa.Text(), nullable=False),
        sa.Column("error", sa.Text()),
        sa.Column("error_details", sa.Text()),
        sa.Column("head_id", sa.Text()),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "number"),
    )
    op.create_index("ix_candidate_thread_id", "candidate", ["thread_id"])
    op.add_column("run", sa.Column("candidates", sa.Integer(), nullable=False, server_default="0"))
