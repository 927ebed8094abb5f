"""A run that waits for a decision keeps the use of its budgets: the run that goes on continues to count.

Waiting runs have an index: the list of conversations names them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
kind = "contract"


def upgrade() -> None:
    op.add_column("run", sa.Column("usage", sa.Text()))
    waiting = sa.text("state = 'waiting'")
    op.create_index("ix_run_thread_id_waiting", "run", ["thread_id"], sqlite_where=waiting, postgresql_where=waiting)
