"""The search finds the entries of a time by an index."""

from alembic import op

revision = "0015"
down_revision = "0014"
kind = "contract"


def upgrade() -> None:
    op.create_index("ix_search_entry_created_at_number", "search_entry", ["created_at", "number"])
