"""The errors of runs keep their template and values, for other languages. Earlier ones stay English."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0023"
kind = "contract"


def upgrade() -> None:
    for table in ("run", "candidate"):
        op.add_column(table, sa.Column("error_sentence", sa.Text()))
