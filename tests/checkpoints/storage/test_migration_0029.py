"""The migration that gives the entries of SQLite's search a mark of their owner."""

from pathlib import Path
from unittest.mock import patch

import pytest

from checkpoints import EVERYBODY, LOCAL_OWNER, Database, Store, act_for
from checkpoints.rows import search_index
from checkpoints.storage import schema
from checkpoints.upkeep import verification
from tests.checkpoints.conversations import new
from tests.checkpoints.storage.revisions import revert_schema
from tests.checkpoints.test_search import NOW, find


def write_file_of_before(file: Path, owners: list[str]) -> None:
    """Write a file whose entries have no mark of an owner: a message and a checkpoint of each."""
    database = Database.open_file(file)
    store = Store(database)
    with patch.object(search_index, "find_marked_owner", lambda *_: None):
        for owner in owners:
            with act_for(owner):
                thread_id = store.create_thread(owner=owner).id
                store.append(thread_id, new(f"a heron of {owner}"))
                store.save(thread_id, name=f"the heron of {owner}")
    with database.begin_write() as connection:
        revert_schema(connection, "0028")
    database.close()


def test_where_people_sign_in_all_entries_are_made_again(file: Path) -> None:
    write_file_of_before(file, [LOCAL_OWNER, "ann", "bob"])
    database = Database.open_file(file)
    store = Store(database)
    assert verification.verify(database).damages == ()
    while store.search("heron ", NOW, owner="ann").is_pending:
        store.index_portion()
    database.separate_owners()
    with act_for("ann"):
        assert sorted(find(store, "heron ", owner="ann")) == ["a heron of ann", "the heron of ann"]
    with act_for(EVERYBODY):
        assert verification.verify(database).damages == ()
    database.close()


@pytest.mark.parametrize("owners", [[LOCAL_OWNER], []], ids=["one person", "nobody"])
def test_an_index_of_one_person_stays(file: Path, owners: list[str]) -> None:
    write_file_of_before(file, owners)
    database = Database.open_file(file)
    with database.begin_read() as connection:
        assert connection.execute(schema.search_pending.select()).all() == []
        assert len(connection.execute(schema.search_entry.select()).all()) == 2 * len(owners)
    assert verification.verify(database).damages == ()
    database.close()
