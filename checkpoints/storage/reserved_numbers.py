"""Reserve numbers for rows that refer to one another before they are written by the same transaction."""

import sqlalchemy as sa

# The sequence's name is looked up once, not for each number.
_take_numbers = sa.text(
    "SELECT nextval((SELECT CAST(pg_get_serial_sequence(:table, 'number') AS regclass))) FROM generate_series(1, :count)"
)
_last_number = sa.text("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = :table")


def reserve_numbers(connection: sa.Connection, table: sa.Table, count: int) -> list[int]:
    """Reserve unused row numbers, in ascending order."""
    if connection.dialect.name == "postgresql":
        # Another transaction may take some between.
        return sorted(connection.scalars(_take_numbers, {"table": table.name, "count": count}))
    # Only one transaction writes at a time.
    last = connection.execute(_last_number, {"table": table.name}).scalar_one()
    return list(range(last + 1, last + count + 1))
