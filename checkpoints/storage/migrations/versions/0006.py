"""A run's error and its details have a column each. Earlier versions wrote the details after the error's first line."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
kind = "contract"

BATCH_SIZE = 500  # runs

run = sa.table("run", *(sa.column(name, sa.Text) for name in ("id", "error", "error_details")))


def upgrade():
    op.add_column("run", sa.Column("error_details", sa.Text()))
    split_errors(op.get_bind())


def split_errors(connection):
    """Move the lines after the first one to the new column. No error keeps a second line, so each batch is a new one."""
    query = sa.select(run.c.id, run.c.error).where(run.c.error.contains("\n")).limit(BATCH_SIZE)
    change = sa.update(run).where(run.c.id == sa.bindparam("of_run"))
    while rows := connection.execute(query).all():
        parts = [(row.id, *row.error.strip("\n").partition("\n")[::2]) for row in rows]
        connection.execute(change, [{"of_run": id, "error": error, "error_details": rest or None} for id, error, rest in parts])
