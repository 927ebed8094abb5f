"""Numbers of rows that one transaction will write: they refer to one another before they are there."""

import sqlalchemy as sa

_take_numbers = sa.text(  # the name of the sequence is looked up once, and not for each number
    "SELECT nextval((SELECT CAST(pg_get_serial_sequence(:table, 'number') AS regclass))) FROM generate_series(1, :count)"
)
_last_number = sa.text("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = :table")


def reserve_numbers(connection: sa.Connection, table: sa.Table, count: int) -> list[int]:
    """Reserve the numbers of so many rows, which no row has had, and return them in ascending order."""
    if connection.dialect.name == "postgresql":  # another transaction may take some between
        return sorted(connection.scalars(_take_numbers, {"table": table.name, "count": count}))
    last = connection.execute(_last_number, {"table": table.name}).scalar_one()  # one transaction writes at a time
    return list(range(last + 1, last + count + 1))
