"""Databases of earlier schemas, made by taking back what the migrations did."""

import sqlalchemy as sa

_REVERSALS = {
    "0030": ["ALTER TABLE checkpoint DROP COLUMN person"],
    "0025": [
        *(f"ALTER TABLE {name} DROP COLUMN error_sentence" for name in ("run", "candidate")),
        "ALTER TABLE operation RENAME COLUMN request_id TO request",
    ],
    "0023": [
        "DROP TABLE thread_member",
        *(f"ALTER TABLE {name} DROP COLUMN person" for name in ("operation", "message", "run")),
    ],
    "0022": ["DROP TABLE usage", "ALTER TABLE channel_value DROP COLUMN owner"],
    "0021": ["DROP TABLE audit_entry", "DROP TABLE share"],
    "0020": ["DROP TABLE identity"],
    "0019": [f"DROP TABLE {name}" for name in ("session", "sign_in_counter", "upload", "long_request")],
    "0018": ["DROP TABLE invitation", "DROP TABLE person"],
    "0017": [
        "DROP TABLE worker",
        *(f"ALTER TABLE run DROP COLUMN {name}" for name in ("worker", "attempt", "stop_wanted", "job")),
    ],
    "0016": ["DROP TABLE candidate", "ALTER TABLE run DROP COLUMN candidates"],
    "0015": ["DROP INDEX ix_search_entry_created_at_number"],
    "0014": [
        *(f"DROP TABLE {name}" for name in ("state_write", "channel_value", "state_shape", "state")),
        *(f"ALTER TABLE {name} DROP COLUMN state_id" for name in ("branch", "checkpoint")),
    ],
    "0013": ["DROP TABLE rerun", *(f"ALTER TABLE run DROP COLUMN rerun_{name}" for name in ("id", "number"))],
    "0012": ["DROP TABLE thread_tag", "DROP TABLE tag", "ALTER TABLE thread DROP COLUMN tags"],
    "0011": ["DROP TABLE saved_prompt"],
    "0010": [
        "DROP INDEX ix_thread_owner_pinned_updated_at",
        "ALTER TABLE thread DROP COLUMN pinned",
        "ALTER TABLE thread DROP COLUMN archived",
    ],
    "0009": ["DROP TABLE IF EXISTS search_words", "DROP TABLE search_entry", "DROP TABLE search_pending"],
    "0008": ["ALTER TABLE run DROP COLUMN draft_reasoning"],
    "0007": ["ALTER TABLE run DROP COLUMN usage", "DROP INDEX ix_run_thread_id_waiting"],
    "0006": ["ALTER TABLE run DROP COLUMN error_details"],
    "0005": [f"DROP INDEX ix_checkpoint_thread_id_{name}" for name in ("name", "message_id")],
    "0004": [
        "ALTER TABLE operation DROP COLUMN detail",
        "ALTER TABLE operation ADD COLUMN note TEXT NOT NULL DEFAULT ''",
    ],
    "0003": ["ALTER TABLE run DROP COLUMN compacts"],
    "0002": ["DROP TABLE file"],
}


_REFERENCES = (  # of PostgreSQL, until 0028
    ("segment", "parent", "segment (id)"),
    ("message", "thread_id", "thread (id) ON DELETE CASCADE"),
    ("branch", "head_id", "message (id)"),
    ("checkpoint", "message_id", "message (id)"),
)


def revert_schema(connection: sa.Connection, revision: str) -> None:
    """Make the tables those of an earlier revision."""
    if revision < "0028" and connection.dialect.name == "postgresql":
        for table, column, target in _REFERENCES:
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD FOREIGN KEY ({column}) REFERENCES {target}")
    if revision < "0027" and connection.dialect.name == "sqlite":
        _number_rows(connection)
    if revision < "0022" and connection.dialect.name == "postgresql":
        _drop_policies(connection)
    if revision < "0026" and connection.dialect.name == "postgresql":
        connection.exec_driver_sql("DROP FUNCTION keep_owner CASCADE")
    for statements in (_REVERSALS[later] for later in sorted(_REVERSALS, reverse=True) if later > revision):
        for statement in statements:
            connection.exec_driver_sql(statement)
    connection.execute(sa.text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


def _number_rows(connection: sa.Connection) -> None:
    """Give SQLite's tables their rowids again, entries of the search their constraint, and messages hashes as texts."""
    for statement in ("COMMIT", "PRAGMA foreign_keys = OFF", "BEGIN IMMEDIATE"):  # no row goes with one that it refers to
        connection.exec_driver_sql(statement)
    query = (
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql LIKE '%WITHOUT ROWID%' AND name <> 'state_write'"
    )
    for name, sql in connection.exec_driver_sql(query).all():
        _rebuild(connection, name, sql.replace("WITHOUT ROWID", ""))
    connection.exec_driver_sql("DROP INDEX uq_search_entry_checkpoint_id")
    sql = connection.scalar(sa.text("SELECT sql FROM sqlite_master WHERE name = 'search_entry'"))
    _rebuild(connection, "search_entry", f"{sql[:-1]}, CONSTRAINT uq_search_entry_checkpoint_id UNIQUE (checkpoint_id))")
    connection.exec_driver_sql("UPDATE message SET hash = 'sha256:' || lower(hex(hash)) WHERE typeof(hash) = 'blob'")
    for statement in ("COMMIT", "PRAGMA foreign_keys = ON", "BEGIN IMMEDIATE"):
        connection.exec_driver_sql(statement)


def _rebuild(connection: sa.Connection, name: str, sql: str) -> None:
    """Replace a table by one of another definition."""
    query = "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = :name"
    indexes = connection.scalars(sa.text(query), {"name": name}).all()
    connection.exec_driver_sql(f"CREATE TABLE new_table {sql[sql.index('(') :]}")
    connection.exec_driver_sql(f"INSERT INTO new_table SELECT * FROM {name}")
    connection.exec_driver_sql(f"DROP TABLE {name}")
    connection.exec_driver_sql(f"ALTER TABLE new_table RENAME TO {name}")
    for index in indexes:
        connection.exec_driver_sql(index)


def _drop_policies(connection: sa.Connection) -> None:
    for (table,) in connection.exec_driver_sql("SELECT DISTINCT tablename FROM pg_policies").all():
        for policy in ("owned", "kept"):
            connection.exec_driver_sql(f"DROP POLICY IF EXISTS {policy} ON {table}")
        connection.exec_driver_sql(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY")
    for name in ("owns_thread", "sees_thread", "changes_thread", "is_member"):
        connection.exec_driver_sql(f"DROP FUNCTION IF EXISTS {name}")
