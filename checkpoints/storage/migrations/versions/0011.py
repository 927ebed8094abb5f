"""Prompts that a person saves, and inserts into messages."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "saved_prompt",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_saved_prompt_owner", "saved_prompt", ["owner"])
