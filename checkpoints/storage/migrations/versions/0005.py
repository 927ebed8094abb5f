"""Indexes for saving: default names and milestones are looked up among all checkpoints of a thread."""

from alembic import op

revision = "0005"
down_revision = "0004"
kind = "contract"


def upgrade() -> None:
    op.create_index("ix_checkpoint_thread_id_name", "checkpoint", ["thread_id", "name"])
    op.create_index("ix_checkpoint_thread_id_message_id", "checkpoint", ["thread_id", "message_id"])
