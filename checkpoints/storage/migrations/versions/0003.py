"""Runs that summarise."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
kind = "contract"


def upgrade() -> None:
    op.add_column("run", sa.Column("compacts", sa.Boolean(), nullable=False, server_default=sa.false()))
