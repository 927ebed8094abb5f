"""What a search finds, as the page gets it."""

import asyncio
from datetime import UTC, datetime

from checkpoints import Store, StoreBusyError, act_for
from checkpoints.people.members import Members
from checkpoints.search.snippet import Snippet
from checkpoints.values.model import ThreadRole
from components.routes import search
from components.services import SearchIndexing
from tests.checkpoints.conversations import new, talked


def test_a_snippet_is_split_at_its_marks_whatever_its_characters() -> None:
    parts = search.split_snippet(Snippet("🦜 <b>red</b> 🦜", ((5, 8),), 1))
    assert [(part["text"], part["marked"]) for part in parts] == [("🦜 <b>", False), ("red", True), ("</b> 🦜", False)]
    assert search.split_snippet(Snippet("", (), 0)) == []


def test_signs_of_markdown_are_left_out_of_an_answer_and_kept_in_everything_else() -> None:
    found = Snippet(r"**Six**: 6 \* 7 = **42**, not \\ or 6 * 9", ((20, 22),), 1)
    assert (
        "".join(part["text"] for part in search.split_snippet(found, is_markdown=True)) == "Six: 6 * 7 = 42, not \\ or 6 * 9"
    )
    assert [part["text"] for part in search.split_snippet(found, is_markdown=True) if part["marked"]] == ["42"]
    assert "".join(part["text"] for part in search.split_snippet(found)) == found.text
    table = Snippet("| a | b | |---|--:| | 1 | 2 | ```python x || y", (), 0)
    assert [part["text"] for part in search.split_snippet(table, is_markdown=True)] == ["| a | b | 1 | 2 |  x || y"]
    formula = Snippet(r"… --|--:| | 1 | and $$\beta = 1$$ or \(x\)", (), 0)
    assert [part["text"] for part in search.split_snippet(formula, is_markdown=True)] == [r"| 1 | and \beta = 1 or x"]


def test_a_hit_names_its_conversation_and_where_it_stands(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b", "left walrus", "d")
    memory_store.restore(thread_id, memory_store.list_checkpoints(thread_id)[0].id)
    view = search.describe_result(memory_store.search("walrus", datetime.now(UTC)))
    (hit,) = view["hits"]
    assert (hit["thread"], hit["title"], hit["who"], hit["standing"]) == (thread_id, "Talk", "You", "left")
    assert (view["more"], view["pending"]) == (False, False)


def test_a_hit_names_who_asked_where_it_was_somebody_else(memory_store: Store) -> None:
    memory_store.database.separate_owners()
    with act_for("ann"):
        thread = memory_store.create_thread().id
        memory_store.append(thread, new("A walrus?", "A walrus."))
        Members(memory_store).add_member(thread, "bob", ThreadRole.EDITOR)
    with act_for("bob"):
        memory_store.append(thread, new("Which walrus?"))
    for person, names in (("ann", ["bob", "Agent", "You"]), ("bob", ["You", "Agent", "ann"])):
        with act_for(person):
            hits = search.describe_result(memory_store.search("walrus", datetime.now(UTC)))["hits"]
            assert [each["who"] for each in hits] == names


def test_indexing_goes_on_until_nothing_is_queued_and_begins_again_after_an_outage() -> None:
    portions = iter([True, StoreBusyError(), True, False])

    async def index_portion() -> bool:
        portion = next(portions)
        if isinstance(portion, Exception):
            raise portion
        return portion

    async def index() -> list[object]:
        indexing = SearchIndexing()
        for _ in range(2):
            indexing.ensure_running(index_portion)
            indexing.ensure_running(index_portion)  # is at work already
            task = indexing._task
            assert task is not None
            await task
        await indexing.close()
        return list(portions)

    assert asyncio.run(index()) == []
