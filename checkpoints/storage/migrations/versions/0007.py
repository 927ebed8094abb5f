"""A run that waits for a decision keeps the use of its budgets: the run that goes on continues to count."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("run", sa.Column("usage", sa.Text()))
