"""Conversations can have tags."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "tag",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text()),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("owner", "folded", name="uq_tag_owner_folded"),
    )
    op.create_table(
        "thread_tag",
        sa.Column("tag_id", sa.Text(), sa.ForeignKey("tag.id"), nullable=False),
        sa.Column("thread_id", sa.Text(), sa.ForeignKey("thread.id", ondelete="CASCADE"), nullable=False),
        sa.PrimaryKeyConstraint("tag_id", "thread_id"),
    )
    op.create_index("ix_thread_tag_thread_id", "thread_tag", ["thread_id"])
    op.add_column("thread", sa.Column("tags", sa.JSON(), nullable=False, server_default=sa.text("'[]'")))
