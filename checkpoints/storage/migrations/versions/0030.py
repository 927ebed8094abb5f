"""Checkpoints name who saved them. Nobody is known of earlier ones, and of those that a server of the version before saves."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
kind = "expand"


def upgrade() -> None:
    op.add_column("checkpoint", sa.Column("person", sa.Text()))
