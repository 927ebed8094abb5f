"""Rows of many values are looked up in few statements, whatever characters the values have."""

import pytest
import sqlalchemy as sa

from checkpoints import Store
from checkpoints.rows import segment_rows
from checkpoints.storage import reserved_numbers, schema
from checkpoints.storage.batches import select_in_batches

PLAIN = ["a-1", "B_2", "null"]
STRANGE = ["", "NULL", 'a"b', "a,b", "{a}", "a\\b", "a b", "ü", "%", "'", "\udc00", "a\0b"]


@pytest.mark.parametrize("wanted", [PLAIN, *([*PLAIN, each] for each in STRANGE)], ids=lambda wanted: ascii(wanted[-1]))
def test_ids_of_any_characters_find_their_rows_and_no_others(store: Store, wanted: list[str]) -> None:
    known = [each for each in (*PLAIN, *STRANGE) if each.isprintable()]
    column = schema.saved_prompt.c.id
    rows = [{"id": each, "owner": "local", "name": "x", "text": "x", "updated_at": 1} for each in known]
    with store.database.begin_write() as connection:
        connection.execute(sa.insert(schema.saved_prompt), rows)
    with store.database.begin_read() as connection:
        found = [row.id for row in select_in_batches(connection, sa.select(column), column, wanted)]
    assert sorted(found) == sorted(each for each in wanted if each in known)


def test_the_driver_of_postgresql_converts_no_id_by_itself(postgres_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkpoints.storage.sanitizing_dumper import SanitizingDumper

    dump, dumped = SanitizingDumper.dump, list[str]()
    monkeypatch.setattr(SanitizingDumper, "dump", lambda self, text: (dumped.append(text), dump(self, text))[1])
    column = schema.message.c.id
    with postgres_store.database.begin_read() as connection:
        list(select_in_batches(connection, sa.select(column), column, [f"m{number}" for number in range(12_000)]))
    assert len(dumped) <= 3


def test_rows_of_a_table_that_is_read_as_a_whole_are_not_compared_with_each_value(postgres_store: Store) -> None:
    """PostgreSQL reads one so that was empty when it looked. Ten thousand checkpoints of an import took five seconds."""
    column = schema.checkpoint.c.id
    with postgres_store.database.begin_read() as connection:
        for way in ("indexscan", "indexonlyscan", "bitmapscan"):
            connection.execute(sa.text(f"SET LOCAL enable_{way} = off"))
        sa.event.listen(connection, "before_cursor_execute", _explain, retval=True)
        plan = [line for (line,) in select_in_batches(connection, sa.select(column), column, PLAIN)]
    assert any("Seq Scan on checkpoint" in line for line in plan)
    assert not any("ANY" in line for line in plan)


def _explain(
    _connection: object, _cursor: object, statement: str, parameters: object, _context: object, _many: bool
) -> tuple[str, object]:
    return f"EXPLAIN {statement}", parameters


def test_the_name_of_a_sequence_is_looked_up_once_for_all_its_numbers(postgres_store: Store) -> None:
    taken = [
        (segment_rows._take_segments, {"number": 3}),
        (reserved_numbers._take_numbers, {"table": "state", "count": 3}),
    ]
    with postgres_store.database.begin_read() as connection:
        for statement, values in taken:
            plan = connection.execute(sa.text(f"EXPLAIN VERBOSE {statement.text}"), values).scalars().all()
            lookups = [line for line in plan if "pg_get_serial_sequence" in line]
            assert len(lookups) == 1
            assert any("InitPlan" in line for line in plan[: plan.index(lookups[0])])
            assert "nextval" in plan[1]
            assert "pg_get_serial_sequence" not in plan[1]
