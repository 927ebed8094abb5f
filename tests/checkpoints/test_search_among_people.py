"""A person among many finds their own, and the search reads as much as if there were nobody else: its steps are counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
import sqlalchemy as sa
from langchain_core.messages import HumanMessage

from checkpoints import LOCAL_OWNER, Database, NewMessage, Store, act_for
from checkpoints.people.members import Members
from checkpoints.rows import search_matches
from checkpoints.search.content import list_owner_marks, mark_thread
from checkpoints.values import serde
from checkpoints.values.model import ThreadRole
from tests.checkpoints.conversations import new
from tests.checkpoints.test_saving_cost import count_steps
from tests.checkpoints.test_search import NOW, find
from tests.statements import record_statements

pytestmark = pytest.mark.slow

SETTINGS = ("enable_seqscan", "enable_hashjoin", "max_parallel_workers_per_gather", "jit")
WORDS = ("a heron", "a heron, and a kingfisher", "herons")


def write_people(store: Store, count: int) -> None:
    store.database.separate_owners()
    for owner in (f"person {number}" for number in range(count)):
        with act_for(owner):
            for text in WORDS:
                store.append(store.create_thread().id, [NewMessage(serde.to_body(HumanMessage(f"{text} of {owner}")))])


@contextmanager
def record_matches(database: Database) -> Iterator[list[str]]:
    """Record what the index is asked for."""
    asked: list[str] = []

    def note(_: object, __: object, ___: str, parameters: Any, *____: object) -> None:
        given = parameters.values() if isinstance(parameters, dict) else parameters
        asked.extend(each for each in given if isinstance(each, str) and "kingfisher" in each)

    sa.event.listen(database.engine, "before_cursor_execute", note)
    yield asked
    sa.event.remove(database.engine, "before_cursor_execute", note)


@pytest.mark.parametrize("max_threads", [1_000, 1, 0])
@pytest.mark.parametrize("is_shared", [True, False], ids=["shared", "alone"])
def test_a_person_among_others_finds_their_own(store: Store, max_threads: int, is_shared: bool) -> None:
    write_people(store, 3)
    if is_shared:
        for owner in ("person 0", "person 2"):
            with act_for(owner):
                thread_id = store.create_thread(title="shared").id
                store.append(thread_id, new("a bittern"))
                Members(store).add_member(thread_id, "person 1", ThreadRole.READER)
    texts = ("heron ", "kingfisher", "-kingfisher heron", "kingfisher ", "heron or kingfisher ", "Kingfisher a after:2020 ")
    with act_for("person 1"), patch.object(search_matches, "_MAX_MARKED_THREADS", max_threads):
        assert find(store, "bittern ", owner="person 1") == ["a bittern"] * (2 if is_shared else 0)
        found = [sorted(find(store, text, owner="person 1")) for text in texts]
    heron, both, herons = [f"{text} of person 1" for text in WORDS]
    assert found == [[heron, both], [both], [heron, herons], [both], [heron, both], [both]]


def test_a_person_among_others_finds_their_checkpoints_and_nothing_that_they_deleted(store: Store) -> None:
    write_people(store, 2)
    for owner in ("person 0", "person 1"):
        with act_for(owner):
            for thread in store.list_threads(owner=owner):
                store.save(thread.id, name=f"the kingfisher of {owner}")
    with act_for("person 1"):
        hits = store.search("kingfisher ", NOW, owner="person 1").hits
        assert sorted((hit.role, hit.owner) for hit in hits) == [("checkpoint", "person 1")] * 3 + [("user", "person 1")]
        for hit in hits:
            if hit.role == "user":
                store.delete_thread(hit.thread_id)
        found = store.search("kingfisher ", NOW, owner="person 1").hits
        assert [(hit.role, hit.owner) for hit in found] == [("checkpoint", "person 1")] * 2


def test_sqlite_looks_up_the_marks_of_the_owner_and_of_shared_conversations() -> None:
    store = Store(Database.in_memory())
    write_people(store, 3)
    with act_for("person 0"):
        shared = store.create_thread().id
        Members(store).add_member(shared, "person 1", ThreadRole.EDITOR)
    with act_for("person 1"), record_matches(store.database) as asked:
        assert find(store, "kingfisher ", owner="person 1")
    (own,) = list_owner_marks("person 1")
    assert asked == [f'((("{own}" OR "{mark_thread(shared)}") AND "kingfisher"))']


def test_owners_with_one_mark_find_their_own(store: Store) -> None:
    store.database.separate_owners()
    for owner in ("Åsa B.", "åsa-b"):
        with act_for(owner):
            store.append(store.create_thread().id, new(f"a heron of {owner}"))
    assert list_owner_marks("Åsa B.") == list_owner_marks("åsa-b")
    for owner in ("Åsa B.", "åsa-b", LOCAL_OWNER):
        with act_for(owner):
            expected = [] if owner == LOCAL_OWNER else [f"a heron of {owner}"]
            assert find(store, "heron ", owner=owner) == expected


def test_the_one_person_of_before_finds_their_own_among_others(store: Store) -> None:
    store.append(store.create_thread().id, new("a heron of before"))
    write_people(store, 2)
    with act_for(LOCAL_OWNER):
        assert find(store, "heron ", owner=LOCAL_OWNER) == ["a heron of before"]


def test_the_roles_in_all_conversations_that_were_found_are_looked_up_at_once(store: Store) -> None:
    write_people(store, 2)
    with act_for("person 1"), record_statements(store.database) as statements:
        assert len(find(store, "of person ", owner="person 1")) == 3
    assert len([each for each in statements if "m.role" in each or "thread_member.role" in each]) <= 1


def test_postgresql_plans_for_few_rows_until_the_search_ends(postgres_store: Store) -> None:
    write_people(postgres_store, 2)
    shown = []
    with act_for("person 1"):
        with postgres_store.database.begin_read() as connection:
            assert find(postgres_store, "heron ", owner="person 1")
            shown += [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in SETTINGS]
        with postgres_store.database.begin_read() as connection:
            shown += [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in SETTINGS]
    assert shown[: len(SETTINGS)] == ["off", "off", "0", "off"]
    assert shown[len(SETTINGS) : -1] == ["on", "on", "2"]


def test_a_person_without_conversations_finds_nothing(store: Store) -> None:
    write_people(store, 2)
    with act_for("person 5"):
        assert find(store, "heron", owner="person 5") == []


@pytest.mark.parametrize("text", ["heron ", "kingfisher ", "of before:2030"])
def test_a_search_takes_as_many_steps_among_many_people_as_among_few(text: str) -> None:
    steps = []
    for count in (20, 80):
        store = Store(Database.in_memory())
        write_people(store, count)
        with act_for("person 0"), count_steps(store.database) as counted:
            assert find(store, text, owner="person 0")
        steps.append(counted[0])
        store.database.close()
    assert steps[1] < 1.5 * steps[0]
