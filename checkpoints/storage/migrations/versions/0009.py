"""The index of the search. What is stored already is indexed in portions later: see search_index."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
kind = "contract"


class SearchVector(sa.types.UserDefinedType):
    cache_ok = True

    def get_col_spec(self, **_):
        return "TSVECTOR"


def upgrade() -> None:
    op.create_table(
        "search_entry",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("segment", sa.Integer(), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=True),
        sa.Column("checkpoint_id", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("words", sa.Text().with_variant(SearchVector(), "postgresql"), nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("segment", "depth", name="uq_search_entry_segment_depth"),
        sa.UniqueConstraint("checkpoint_id", name="uq_search_entry_checkpoint_id"),
    )
    op.create_table(
        "search_pending",
        sa.Column("segment", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["segment"], ["segment.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("segment"),
    )
    if op.get_bind().dialect.name == "sqlite":
        op.execute("CREATE VIRTUAL TABLE search_words USING fts5(words, content='', tokenize='ascii')")
    else:
        op.execute("CREATE INDEX ix_search_entry_words ON search_entry USING gin (words)")
    op.execute("INSERT INTO search_pending (segment, depth) SELECT id, 0 FROM segment")
