"""The processes that serve one database: each run names the one that drives it, and the attempt."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "worker",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("heartbeat", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.add_column("run", sa.Column("worker", sa.Integer()))
    op.add_column("run", sa.Column("attempt", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("run", sa.Column("stop_wanted", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("run", sa.Column("job", sa.Text()))
