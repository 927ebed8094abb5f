"""Files that users attach to messages."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "file",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash"),
    )
