"""States of graphs, as they are found by the messages that they belong to."""

import sqlite3

import sqlalchemy as sa

from checkpoints import Store
from checkpoints.rows import state_rows, thread_rows
from tests.checkpoints.conversations import talked


def test_the_state_of_a_message_is_found_without_reading_all_states(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b")
    plan: list[str] = []

    def explain(_: object, cursor: sqlite3.Cursor, statement: str, values: tuple[int, ...], *__: object) -> None:
        if "JOIN state" in statement:
            plan.extend(row[3] for row in cursor.connection.execute(f"EXPLAIN QUERY PLAN {statement}", values))

    sa.event.listen(memory_store.database.engine, "before_cursor_execute", explain)
    with memory_store.database.begin_read() as connection:
        path = thread_rows.load_current_path(connection, thread_id)[1]
        for find in (state_rows.find_nearest_state, state_rows.find_resting_state):
            assert find(connection, path, path.length) is None
    read = [step.split()[:5] for step in plan if "state" in step]
    assert read == [["SEARCH", "state", "USING", "INDEX", "ix_state_segment_depth"]] * 2
    assert not any(step.startswith("SCAN") or step.endswith("FOR ORDER BY") for step in plan)
