"""Whom a provider has signed in: its identities, each with the person that it made."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "identity",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("person", sa.Text()),
        sa.ForeignKeyConstraint(["person"], ["person.name"], ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_identity_person", "identity", ["person"])
