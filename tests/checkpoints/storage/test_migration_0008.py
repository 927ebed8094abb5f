"""Migration 0008: a draft of an earlier version has no reasoning, and becomes a partial message as before."""

import sqlalchemy as sa

from checkpoints import Database, Draft, Runs, Store
from tests.checkpoints.conversations import new, texts
from tests.checkpoints.storage.revisions import revert_schema


def test_a_draft_of_an_earlier_version_is_kept(address: str) -> None:
    database = Database.open_url(address)
    store = Store(database)
    thread_id = store.create_thread().id
    run = Runs(store).begin_run(thread_id, new("a")[0])
    Runs(store).save_drafts({run.id: Draft("b is")})
    with database.begin_write() as connection:
        revert_schema(connection, "0006")
        assert "draft_reasoning" not in {column["name"] for column in sa.inspect(connection).get_columns("run")}
    database.close()
    database = Database.open_url(address)
    runs = Runs(Store(database))
    assert [run.draft for run in runs.interrupt_orphans()] == [Draft("b is")]
    assert texts(Store(database), thread_id) == ["a", "b is"]
    database.close()
