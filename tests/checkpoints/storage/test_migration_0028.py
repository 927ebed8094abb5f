"""The migration that takes foreign keys of PostgreSQL away, on a database of before and beside its servers."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
import sqlalchemy as sa

from checkpoints import Database, Store
from checkpoints.storage import migrations, schema
from checkpoints.upkeep import verification
from tests.checkpoints.conversations import dump, new, talked, texts
from tests.checkpoints.storage.revisions import revert_schema
from tests.checkpoints.upkeep.test_verification import lived
from tests.postgres import Postgres, name_of

PATIENCE = 60.0
REFERENCES = """
    SELECT conrelid::regclass::text, conname FROM pg_constraint
    WHERE contype = 'f' AND conrelid::regclass::text IN ('segment', 'message', 'branch', 'checkpoint') ORDER BY conname
"""
WAITS_FOR_BRANCH = """
    SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'branch'::regclass AND NOT granted
"""


@pytest.fixture
def old(postgres_url: str) -> Iterator[Store]:
    """A server of the version before."""
    with closing(Database.open_url(postgres_url)) as database:
        store = Store(database)
        lived(store)
        yield store


def go_back(store: Store) -> None:
    with store.database.begin_write() as connection:
        revert_schema(connection, "0027")


def test_an_older_database_keeps_every_row_and_its_servers_go_on(old: Store, postgres: Postgres, postgres_url: str) -> None:
    before, name = dump(old), name_of(postgres_url)
    go_back(old)
    removed = {"segment_parent_fkey", "message_thread_id_fkey", "branch_head_id_fkey", "checkpoint_message_id_fkey"}
    assert removed <= {constraint for _, constraint in postgres.execute(REFERENCES, name)}
    with closing(Database.open_url(postgres_url)) as database:
        assert dump(Store(database)) == before
        kept = [("branch", "branch_thread_id_fkey"), ("checkpoint", "checkpoint_thread_id_fkey")]
        kept += [("message", "message_segment_fkey"), ("segment", "segment_thread_id_fkey")]
        assert postgres.execute(REFERENCES, name) == kept
        thread_id = talked(old, "a", "b")
        Store(database).append(thread_id, new("c"))
        assert texts(old, thread_id) == ["a", "b", "c"]
        assert verification.verify(database).damages == ()


def test_a_reading_that_holds_one_table_and_asks_for_another_is_not_given_up_for_it(
    old: Store, postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The migration holds what the reading asks for, and waits for what it has: it gives way before that is a deadlock."""
    go_back(old)
    monkeypatch.setattr(migrations, "MAX_LOCK_TRIES", 10_000)
    monkeypatch.setattr(migrations, "_LOCK_PAUSE_SECONDS", 0.01)
    with ThreadPoolExecutor(1) as pool:
        with old.database.begin_read() as connection:
            connection.execute(sa.select(schema.branch.c.id)).all()
            opened = pool.submit(Database.open_url, postgres_url)
            while not postgres.execute(WAITS_FOR_BRANCH, name_of(postgres_url)):
                assert not opened.done()
            assert len(connection.execute(sa.select(schema.thread.c.id)).all()) == 3
        opened.result(PATIENCE).close()
    assert old.list_threads()
