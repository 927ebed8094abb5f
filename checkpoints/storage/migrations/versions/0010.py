"""Conversations can be pinned and archived. The list has an index in its order."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
kind = "contract"


def upgrade() -> None:
    op.add_column("thread", sa.Column("pinned", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("thread", sa.Column("archived", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_index("ix_thread_owner_pinned_updated_at", "thread", ["owner", "pinned", "updated_at"])
