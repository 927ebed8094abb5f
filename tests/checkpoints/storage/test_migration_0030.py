"""The migration after which checkpoints name who saved them."""

import pytest

from checkpoints import LOCAL_OWNER, Store, act_for
from checkpoints.storage import migrations
from tests.checkpoints.conversations import dump, talked
from tests.checkpoints.storage.revisions import revert_schema


@pytest.mark.parametrize("kind", ["file_store", "postgres_store"])
def test_nobody_is_known_of_earlier_checkpoints(kind: str, request: pytest.FixtureRequest) -> None:
    store: Store = request.getfixturevalue(kind)
    thread_id = talked(store, "a")
    store.save(thread_id, name="Before")
    before = dump(store)
    with store.database.begin_write() as connection:
        revert_schema(connection, "0029")
    migrations.run_migrations(store.database.engine)
    assert dump(store) == before
    store.database.separate_owners()
    with act_for(LOCAL_OWNER):
        store.save(thread_id, name="After")
        assert {each.name: each.person for each in store.list_checkpoints(thread_id)[-2:]} == {
            "Before": None,
            "After": LOCAL_OWNER,
        }
