"""Links for strangers, and the audit log."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "share",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("thread_id", sa.Text(), nullable=False),
        sa.Column("checkpoint_id", sa.Text()),
        sa.Column("redaction", sa.JSON(), nullable=False),
        sa.Column("shows_name", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("opened", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["thread.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash"),
    )
    op.create_index("ix_share_thread_id", "share", ["thread_id"])
    op.create_table(
        "audit_entry",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("detail", sa.JSON(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_entry_time", "audit_entry", ["time"])
    op.create_index("ix_audit_entry_person_number", "audit_entry", ["person", "number"])
    op.create_index("ix_audit_entry_kind_number", "audit_entry", ["kind", "number"])
