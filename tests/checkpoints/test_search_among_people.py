"""A person among many finds their own, and the search reads as much as if there were nobody else: its steps are counted."""

from unittest.mock import patch

import pytest
from langchain_core.messages import HumanMessage

from checkpoints import Database, NewMessage, Store, act_for
from checkpoints.rows import search_hits
from checkpoints.values import serde
from tests.checkpoints.test_saving_cost import count_steps
from tests.checkpoints.test_search import find

pytestmark = pytest.mark.slow

WORDS = ("a heron", "a heron, and a kingfisher", "herons")


def write_people(store: Store, count: int) -> None:
    store.database.separate_owners()
    for owner in (f"person {number}" for number in range(count)):
        with act_for(owner):
            for text in WORDS:
                store.append(store.create_thread().id, [NewMessage(serde.to_body(HumanMessage(f"{text} of {owner}")))])


@pytest.mark.parametrize("max_threads", [1_000, 1])
def test_a_person_among_others_finds_their_own(store: Store, max_threads: int) -> None:
    write_people(store, 3)
    with act_for("person 1"), patch.object(search_hits, "_MAX_OWN_THREADS", max_threads):
        found = [sorted(find(store, text, owner="person 1")) for text in ("heron ", "kingfisher", "-kingfisher heron")]
    heron, both, herons = [f"{text} of person 1" for text in WORDS]
    assert found == [[heron, both], [both], [heron, herons]]


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
