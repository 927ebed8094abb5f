"""A draft keeps the reasoning before its answer, as well as the answer's text."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
kind = "contract"


def upgrade() -> None:
    op.add_column("run", sa.Column("draft_reasoning", sa.Text(), nullable=False, server_default=""))
