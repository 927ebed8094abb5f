"""Entries that wait for the search's index are rows without words. All are made again: they may have waited as ranges."""

from alembic import op

revision = "0033"
down_revision = "0032"
# A server of the version before would look for its queue.
kind = "contract"

_IN_SQLITE = ("INTEGER", "TEXT")
_IN_POSTGRESQL = ("SERIAL", "TSVECTOR")
_ENTRIES = """
CREATE TABLE search_entry (
    number {} NOT NULL, segment INTEGER, depth INTEGER, checkpoint_id TEXT, created_at BIGINT NOT NULL,
    words {},
    PRIMARY KEY (number),
    CONSTRAINT uq_search_entry_segment_depth UNIQUE (segment, depth)
)
"""
_INDEXES = """
CREATE INDEX ix_search_entry_created_at_number ON search_entry (created_at, number);
CREATE UNIQUE INDEX uq_search_entry_checkpoint ON search_entry (checkpoint_id) WHERE checkpoint_id IS NOT NULL;
CREATE INDEX ix_search_entry_queued ON search_entry (number) WHERE words IS NULL
"""
_QUEUE_EVERYTHING = """
INSERT INTO search_entry (segment, depth, checkpoint_id, created_at)
SELECT segment, depth, NULL, created_at FROM message
UNION ALL SELECT NULL, NULL, id, created_at FROM checkpoint WHERE deleted_at IS NULL ORDER BY 4, 1, 2
"""


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    if is_sqlite:
        op.execute("INSERT INTO search_words (search_words) VALUES ('delete-all')")
    else:
        # A migration reads the rows of all people.
        op.execute("SET LOCAL waymark.everybody = 'on'")
    op.execute("DROP TABLE search_pending")
    op.execute("DROP TABLE search_entry")
    op.execute(_ENTRIES.format(*(_IN_SQLITE if is_sqlite else _IN_POSTGRESQL)))
    for statement in _INDEXES.split(";\n"):
        op.execute(statement)
    if not is_sqlite:
        op.execute("CREATE INDEX ix_search_entry_words ON search_entry USING gin (words)")
    op.execute(_QUEUE_EVERYTHING)
