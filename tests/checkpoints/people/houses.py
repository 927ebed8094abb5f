"""A store whose people are kept apart, and the wait for one of them who waits for another."""

from concurrent.futures import Future
from typing import Any

import sqlalchemy as sa

from checkpoints import EVERYBODY, Run, Runs, Store, act_for
from checkpoints.people.members import Members
from tests.checkpoints import tables
from tests.checkpoints.conversations import new


class House:
    """The people of a store."""

    def __init__(self, store: Store, *, has_accounts: bool = False) -> None:
        store.database.separate_owners(has_accounts=has_accounts)
        self.store, self.members, self.runs = store, Members(store), Runs(store)

    def ask(self, person: str, thread_id: str | None) -> Run:
        with act_for(person):
            return self.runs.begin_run(thread_id, new(f"a question of {person}")[0])

    def find_rows_of(self, person: str) -> list[Any]:
        """Return the rows that name a person, beside the audit log."""
        with act_for(EVERYBODY):
            found = tables.read(self.store)
        rows = [row for name, of_table in found.items() if name != "audit_entry" for row in of_table.values()]
        return [row for row in rows if person in (row.get("person"), row.get("owner"), row.get("name"))]


def wait_for_lock_or_end(connection: sa.Connection, other: Future[Any]) -> None:
    """Wait until another transaction waits for a lock of PostgreSQL, or has ended."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while not other.done() and connection.exec_driver_sql(query).scalar_one() == 0:
        connection.exec_driver_sql("SELECT pg_stat_clear_snapshot()")
