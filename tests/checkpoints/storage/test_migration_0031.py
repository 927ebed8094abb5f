"""The migration after which the search folds letters that Unicode does not decompose."""

import unicodedata
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from checkpoints import Database, Store
from checkpoints.search import words
from checkpoints.upkeep import verification
from tests.checkpoints.conversations import new
from tests.checkpoints.storage.revisions import revert_schema
from tests.checkpoints.test_search import find


@pytest.fixture(params=["sqlite", "postgresql"])
def open_database(request: pytest.FixtureRequest) -> Callable[[], Database]:
    if request.param == "sqlite":
        file: Path = request.getfixturevalue("file")
        return lambda: Database.open_file(file)
    url: str = request.getfixturevalue("postgres_url")
    return lambda: Database.open_url(url)


def fold_as_before(text: str) -> str:
    return unicodedata.normalize("NFKD", text).casefold()


def test_what_was_indexed_before_is_found_by_the_new_rule(open_database: Callable[[], Database]) -> None:
    database = open_database()
    store = Store(database)
    with patch.object(words, "fold_text", fold_as_before):
        words._fold_letters.cache_clear()
        thread_id = store.create_thread().id
        store.append(thread_id, new("ılık bir IŞIK"))
        store.save(thread_id, name="Malmø")
    words._fold_letters.cache_clear()
    with database.begin_write() as connection:
        revert_schema(connection, "0030")
    database.close()
    database = open_database()
    store = Store(database)
    while store.index_portion():
        pass
    for query, found in (("ilik ", "ılık bir IŞIK"), ("ışık ", "ılık bir IŞIK"), ("malmo ", "Malmø")):
        assert find(store, query) == [found]
    assert verification.verify(database).damages == ()
    database.close()
