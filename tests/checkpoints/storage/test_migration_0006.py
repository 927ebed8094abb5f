"""Migration 0006: an error of an earlier version, whose details followed its first line, becomes two columns."""

import sqlalchemy as sa

from checkpoints import Database, Runs, RunState, Store
from checkpoints.storage import schema
from tests.checkpoints.conversations import new
from tests.checkpoints.storage.revisions import revert_schema

ERRORS = {
    None: (None, None),
    "It was refused.": ("It was refused.", None),
    "It was refused.\nError code: 400\n\n{'code': 1}": ("It was refused.", "Error code: 400\n\n{'code': 1}"),
    "\nno sentence": ("no sentence", None),
    "\n": ("", None),
}


def test_an_error_of_an_earlier_version_is_split_from_its_details(address: str) -> None:
    database = Database.open_url(address)
    thread_id = Store(database).create_thread().id
    with database.begin_write() as connection:
        revert_schema(connection, "0005")
        insert = sa.text(
            "INSERT INTO run (id, thread_id, number, state, draft, error, dismissed, started_at)"
            " VALUES (:id, :thread, :number, 'failed', '', :error, :no, 0)"
        )
        for number, error in enumerate([*ERRORS, *["It was refused.\nwords"] * 1_100]):
            row = {"id": f"r{number:04}", "thread": thread_id, "number": number, "error": error, "no": False}
            connection.execute(insert, row)
    database.close()
    database = Database.open_url(address)
    columns = (schema.run.c.error, schema.run.c.error_details)
    with database.begin_read() as connection:
        found = connection.execute(sa.select(*columns).order_by(schema.run.c.number)).all()
    database.close()
    assert [tuple(row) for row in found] == [*ERRORS.values(), *[("It was refused.", "words")] * 1_100]


def test_an_error_may_have_lines_of_its_own(store: Store) -> None:
    runs = Runs(store)
    thread_id = store.create_thread().id
    run = runs.begin_run(thread_id, new("a")[0])
    runs.end_run(run, RunState.FAILED, error="first\nsecond", details="words")
    found = runs.get_latest_run(thread_id)
    assert found is not None
    assert (found.error, found.error_details) == ("first\nsecond", "words")
