"""The errors of runs keep their template and values, for other languages; a request's id has its one name. Earlier errors stay English."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0023"
kind = "contract"


def upgrade() -> None:
    for table in ("run", "candidate"):
        op.add_column(table, sa.Column("error_sentence", sa.Text()))
    op.execute("ALTER TABLE operation RENAME COLUMN request TO request_id")
