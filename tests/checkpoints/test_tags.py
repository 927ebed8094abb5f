"""Tags: given, taken away, renamed and removed, each undoably; found, exported, limited and erased."""

import pytest
import sqlalchemy as sa

from checkpoints import Caller, Runs, Store
from checkpoints.interchange import reading, transfer
from checkpoints.interchange.export_options import ExportOptions
from checkpoints.interchange.redaction import Redaction
from checkpoints.rows import tag_rows
from checkpoints.storage import schema
from checkpoints.tags import Tags
from checkpoints.upkeep import erasure
from checkpoints.values.errors import InvalidTagError, TagNotFoundError
from checkpoints.values.limits import MAX_TAG_CHARS, MAX_TAGS, MAX_TAGS_OF_THREAD
from checkpoints.values.tag import clean_tag, fold_tag
from tests.checkpoints.conversations import new, talked


def names(store: Store, thread_id: str) -> list[str]:
    """Return the names of a conversation's tags, as the page shows them."""
    known = {tag.id: tag.name for tag in Tags(store).list_tags()}
    return [known[tag_id] for tag_id in store.get_thread(thread_id).tags if tag_id in known]


def found(store: Store, text: str) -> list[str]:
    return sorted(thread.title for thread in store.list_thread_portion(text=text))


def index(store: Store) -> set[tuple[str, str]]:
    with store.database.begin_read() as connection:
        return {(row.thread_id, row.tag_id) for row in connection.execute(sa.select(schema.thread_tag))}


def test_tags_are_given_and_taken_away_undoably_also_while_a_run_writes(store: Store) -> None:
    one, other = store.create_thread(title="One").id, store.create_thread(title="Other").id
    Runs(store).begin_run(one, new("a")[0])
    store.tag_thread(one, add=["Work", "my home"])
    store.tag_thread(other, add=["ＷＯＲＫ"])  # the same tag
    with pytest.raises(InvalidTagError, match="already"):
        store.tag_thread(other, add=["work"], remove=["none"])
    assert (names(store, one), names(store, other)) == (["Work", "my home"], ["Work"])
    for _ in range(2):
        store.tag_thread(one, add=["Late"], remove=["work"], caller=Caller(request_id="once"))
    assert names(store, one) == ["my home", "Late"]
    Runs(store).interrupt_orphans()
    store.undo(one)
    assert (names(store, one), found(store, "tag:work")) == (["Work", "my home"], ["One", "Other"])
    store.undo(one)
    assert (names(store, one), found(store, "tag:work")) == ([], ["Other"])
    store.redo(one)
    assert index(store) == {(each, tag) for each in (one, other) for tag in store.get_thread(each).tags}


def test_a_name_is_changed_and_removed_everywhere_without_another_change(store: Store) -> None:
    tags, threads = Tags(store), [store.create_thread(title=title).id for title in "ABC"]
    for thread_id in threads[:2]:
        store.tag_thread(thread_id, add=["Work"])
    store.tag_thread(threads[2], add=["Home"])
    before = [store.get_thread(each) for each in threads]
    home, work = tags.list_tags()
    tags.rename_tag(work.id, "Job ")
    assert names(store, threads[0]) == ["Job"]
    tags.remove_tag(work.id)
    assert (names(store, threads[0]), found(store, "tag:job")) == ([], [])
    assert [(tag.name, tag.is_removed, tag.threads) for tag in tags.count_tags()] == [("Home", False, 1), ("Job", True, 2)]
    store.tag_thread(threads[2], add=["job"])
    with pytest.raises(InvalidTagError, match="already"):
        tags.restore_tag(work.id)
    store.undo(threads[2])
    tags.restore_tag(work.id)
    assert (names(store, threads[0]), found(store, "tag:job")) == (["Job"], ["A", "B"])
    with pytest.raises(InvalidTagError, match="already"):
        tags.rename_tag(home.id, "JOB")
    assert [store.get_thread(each) for each in threads[:2]] == before[:2]


def test_the_tags_of_several_are_counted_among_them(store: Store) -> None:
    one, other, third = (store.create_thread().id for _ in range(3))
    store.tag_thread(one, add=["Work", "Home"])
    store.tag_thread(other, add=["work"])
    store.tag_thread(third, add=["Late"])
    counted = Tags(store).count_tags_in([one, other, "none"])
    assert [(tag.name, tag.threads) for tag in counted] == [("Home", 1), ("Late", 0), ("Work", 2)]
    assert Tags(store, "somebody").count_tags_in([one]) == []


def test_what_an_undo_brings_back_keeps_its_tag_although_another_conversation_made_it_anew(store: Store) -> None:
    one, other = store.create_thread().id, store.create_thread().id
    store.tag_thread(one, add=["work"])
    store.tag_thread(one, remove=["work"])
    assert Tags(store).list_tags() == []
    store.tag_thread(other, add=["Work"])
    store.undo(one)
    assert names(store, one) == names(store, other) == ["Work"]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("tag:work", ["A", "AB"]),
        ("tag:wo", ["A", "AB", "C"]),  # as one types it
        ('TAG:"my home" tag:Work', ["AB"]),
        ("tag:work b", ["AB"]),
        ("tag:nothing", []),
        ("tag:%", []),
        ("tag:", []),
        ("-tag:work", []),  # words as any others
    ],
)
def test_the_list_is_filtered_by_names_of_tags(memory_store: Store, text: str, titles: list[str]) -> None:
    for title, tags in {"A": ["work"], "AB": ["Work", "My  home"], "C": ["Workshop"], "B": []}.items():
        thread_id = memory_store.create_thread(title=title).id
        if tags:
            memory_store.tag_thread(thread_id, add=tags)
    assert found(memory_store, text) == titles


@pytest.mark.parametrize("few", [True, False])
def test_the_search_finds_messages_of_tagged_conversations(store: Store, monkeypatch: pytest.MonkeyPatch, few: bool) -> None:
    monkeypatch.setattr("checkpoints.rows.search_hits._MAX_MARKED_THREADS", 100 if few else 0)
    bread, cake = talked(store, "bread and butter", "yes"), talked(store, "cake and butter", "no")
    store.tag_thread(cake, add=["Sweet things"])
    now = store.now()
    hits = {hit.thread_id for hit in store.search('butter tag:"sweet things"', now).hits}
    assert (hits, {hit.thread_id for hit in store.search("butter", now).hits}) == ({cake}, {bread, cake})
    assert {hit.thread_id for hit in store.search("tag:sweet", now).hits} == {cake}
    assert {hit.thread_id for hit in store.search("tag:sweet in:this butter", now, this=bread).hits} == set()
    assert store.search("butter tag:none", now).hits == ()


def test_an_export_carries_tags_and_an_import_leaves_out_one_too_many(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    store.tag_thread(thread_id, add=["Work", "Secret plan"])
    text = transfer.export(store, thread_id)
    made = transfer.import_thread(store, reading.read_document(text)).result
    assert names(store, made) == ["Work", "Secret plan"]
    hidden = transfer.export_document(store, thread_id, ExportOptions(Redaction(patterns=("secret",))))
    assert hidden["thread"]["tags"] == ["Work"]
    Tags(store).remove_tag(store.get_thread(thread_id).tags[1])
    for number in range(MAX_TAGS // MAX_TAGS_OF_THREAD):
        many = [f"{number} {each}" for each in range(MAX_TAGS_OF_THREAD - (number == 0))]
        store.tag_thread(store.create_thread().id, add=many)
    store.undo(made)
    again = transfer.import_thread(store, reading.read_document(text))
    assert names(store, again.result) == ["Work"]
    assert again.operation.detail.removed == ["Secret plan"]
    assert names(store, store.fork_thread(again.result, None).result) == ["Work"]


def test_the_limits_hold_at_their_edges(memory_store: Store) -> None:
    store = memory_store
    first = store.create_thread().id
    store.tag_thread(first, add=["x" * (MAX_TAG_CHARS + 1), *map(str, range(MAX_TAGS_OF_THREAD - 1))])
    assert names(store, first)[0] == "x" * MAX_TAG_CHARS
    with pytest.raises(InvalidTagError, match=f"at most {MAX_TAGS_OF_THREAD}"):
        store.tag_thread(first, add=["more"])
    store.tag_thread(first, add=["more"], remove=["0"])
    store.tag_thread(first, add=["0"], remove=["more"])
    for number in range(1, MAX_TAGS // MAX_TAGS_OF_THREAD):
        many = [f"{number} {each}" for each in range(MAX_TAGS_OF_THREAD)]
        store.tag_thread(store.create_thread().id, add=many)
    last = store.create_thread().id
    with pytest.raises(InvalidTagError, match=f"{MAX_TAGS} tags"):
        store.tag_thread(last, add=["one too many"])
    store.tag_thread(last, add=["0"])
    assert len(Tags(store).list_tags()) == MAX_TAGS
    other = Tags(store, "somebody")
    assert other.list_tags() == other.count_tags() == []
    for attempt in (other.remove_tag, other.restore_tag, lambda tag: other.rename_tag(tag, "theirs")):
        with pytest.raises(TagNotFoundError):
            attempt(store.get_thread(last).tags[0])


@pytest.mark.parametrize("name", ["", " \n", "\u202e"])
def test_a_tag_without_a_visible_name_is_refused(memory_store: Store, name: str) -> None:
    with pytest.raises(InvalidTagError):
        memory_store.tag_thread(memory_store.create_thread().id, add=["good", name])
    assert Tags(memory_store).list_tags() == []


def test_names_are_cleaned_as_others_are() -> None:
    assert clean_tag('\u202eA\n"b" ') == "A 'b'"
    assert clean_tag(f"{'x' * (MAX_TAG_CHARS - 1)} y") == "x" * (MAX_TAG_CHARS - 1)
    assert fold_tag("Straße  ＡB") == "strasse ab"


def test_erasing_a_conversation_erases_its_tags_and_no_others(store: Store) -> None:
    one, other = talked(store, "a", "b"), talked(store, "c", "d")
    store.tag_thread(one, add=["private", "shared", "undone"])
    store.tag_thread(other, add=["shared", "undone", "removed"])
    store.tag_thread(other, remove=["undone"])
    removed = store.get_thread(other).tags[1]
    Tags(store).remove_tag(removed)
    erasure.erase(store.database, one)
    assert stored(store) == {"shared", "undone", "removed"}
    store.undo(other)
    assert names(store, other) == ["shared", "undone"]
    assert erasure.plan_erasure(store.database, keep_undo=False).tags == 1
    assert erasure.erase(store.database, keep_undo=False).tags == 1
    assert stored(store) == {"shared", "undone"}
    assert not erasure.plan_erasure(store.database, keep_undo=False)


def stored(store: Store) -> set[str]:
    with store.database.begin_read() as connection:
        return set(connection.scalars(sa.select(schema.tag.c.name)))


def test_the_list_and_its_filter_take_the_same_few_statements_and_use_indexes(memory_store: Store) -> None:
    for number in range(30):
        thread_id = memory_store.create_thread(title=f"{number}").id
        memory_store.tag_thread(thread_id, add=["Work", f"{number}"])
    statements: list[str] = []
    note = lambda *arguments: statements.append(arguments[2])  # noqa: E731
    sa.event.listen(memory_store.database.engine, "before_cursor_execute", note)
    assert len(memory_store.list_thread_portion()) == 30
    plain = len(statements)
    assert len(memory_store.list_thread_portion(text="tag:work")) == 30
    assert (plain, len(statements)) == (2, 5)  # each with the beginning of its transaction
    with memory_store.database.begin_read() as connection:
        wanted = tag_rows.has_tags(schema.thread.c.id, [["a"]])
        query = sa.select(schema.thread.c.id).where(schema.thread.c.owner == "local", *wanted)
        compiled = query.compile(connection, compile_kwargs={"literal_binds": True})
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}").all()
    assert plan
    assert not any(row[3].startswith("SCAN thread") for row in plan)
