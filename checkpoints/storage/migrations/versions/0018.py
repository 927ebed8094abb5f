"""People who sign in with a password, and the links with which they come."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "person",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        sa.UniqueConstraint("folded"),
    )
    op.create_table(
        "invitation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("person", sa.Text()),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["person"], ["person.name"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_hash"),
    )
    op.create_index("ix_invitation_person", "invitation", ["person"])
