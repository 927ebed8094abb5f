"""What is stored is found, by its owner alone; what is erased is not, and not a word of it is left in the file."""

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import Database, NewMessage, Store
from checkpoints.interchange import reading, transfer
from checkpoints.rows import search_index, search_matches
from checkpoints.search.result import SearchHit
from checkpoints.storage import schema
from checkpoints.upkeep import erasure, verification
from checkpoints.values import files, serde
from checkpoints.values.errors import MessageNotFoundError
from checkpoints.values.limits import MAX_INDEXED_WORDS, MAX_PATH_HITS, MAX_SEARCH_HITS
from tests.checkpoints.conversations import names, new, talked, texts
from tests.checkpoints.storage.earlier_tables import drop_late_writes

NOW = datetime(2025, 6, 1, 12, tzinfo=UTC)
SYNTAX = r"""
" ' \ AND NOT OR NEAR(a_b) words:a search_words:a - -- ^a a*b * () '||1=1-- ";DROP a&b|!c a<->b <2> a:* a:B !! && || :* \'
{a}:c + % _ in: in:" role: before:9999-99 after:0000 before:2024-02-31 or -or "" "a""b" ·ruser ·t in:% has:"x ﷺ ½ ⑴ ǆ
ß <b>x</b> <script>
"""
INJECTIONS = (*SYNTAX.split(), "a NEAR/2 b", "or or or", "\0", "\ud800", "\u202e", "a" * 100_000, "' OR 1=1 --", 'has:"x y"')


def find(store: Store, text: str, this: str | None = None, owner: str = "local") -> list[str]:
    return [hit.snippet.text.strip() for hit in search(store, text, this, owner)]


def search(store: Store, text: str, this: str | None = None, owner: str = "local") -> list[SearchHit]:
    return list(store.search(text, NOW, this=this, owner=owner).hits)


def index_all(store: Store) -> None:
    while store.index_portion():
        pass


def test_words_phrases_and_beginnings_are_found_whatever_their_case_and_accents(store: Store) -> None:
    talked(store, "The Übergrößenträger of café Zoë", "nothing here")
    for text in ("übergrössenträger ", "CAFE", "zoe", "caf", '"cafe zoe"', "the -nothing café"):
        assert find(store, text) == ["The Übergrößenträger of café Zoë"], text
    for text in ('"zoe cafe"', "the -zoe", "caf ", "afe"):
        assert find(store, text) == [], text


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("Diyarbakır'da ılık bir IŞIK", ("diyarbakir ", "DİYARBAKIR ", "ilik ", "ILIK ", "ışık ", "isik ", "Işı")),
        ("İstanbul", ("istanbul ", "ISTANBUL ", "ıstanbul ", "ist")),
        ("Łódź, Malmø, Đakovo, Ħal", ("lodz ", "ŁÓDŹ ", "malmo ", "MALMØ ", "dakovo ", "hal ")),
        ("Þórður's œuvre, ærlig", ("thordur ", "oeuvre ", "aerlig ", "ŒUVRE ")),
        ("Malmo Lodz Diyarbakir", ("malmø ", "łódź ", "diyarbakır ")),
    ],
)
def test_letters_that_unicode_does_not_decompose_are_found_by_those_that_stand_for_them(
    store: Store, text: str, queries: tuple[str, ...]
) -> None:
    thread_id = talked(store, text)
    store.rename_thread(thread_id, text)
    for query in queries:
        assert [hit.snippet.text for hit in search(store, query) if hit.role == "user"] == [text], query
        assert [each.id for each in store.list_thread_portion(text=query)] == [thread_id], query


def test_a_message_is_found_by_as_many_words_as_are_indexed_and_exported_whole(memory_store: Store) -> None:
    text = "early " + "x " * (MAX_INDEXED_WORDS - 2) + "last beyond"
    thread_id = talked(memory_store, text)
    index_all(memory_store)
    assert [bool(find(memory_store, f"{word} ")) for word in ("early", "last", "beyond")] == [True, True, False]
    other = Store(Database.in_memory())
    copy = transfer.import_thread(other, reading.read_document(transfer.export(memory_store, thread_id))).result
    index_all(other)
    assert other.list_messages(copy)[0].langchain.text == text
    assert [bool(find(other, f"{word} ")) for word in ("early", "last", "beyond")] == [True, True, False]


def test_every_word_must_be_there_or_those_of_an_alternative(store: Store) -> None:
    talked(store, "red apple", "green apple")
    assert find(store, "red apple role:user") == ["red apple"]
    assert set(find(store, "red or green")) == {"red apple", "green apple", "after green apple"}


def test_scripts_without_spaces_are_found_by_any_part(store: Store) -> None:
    talked(store, "東京都の天気は晴れです", "สวัสดีครับ")
    assert find(store, "天気") == ["東京都の天気は晴れです"]
    assert find(store, "ดีครับ role:assistant") == ["สวัสดีครับ"]
    assert find(store, "気天") == []


def test_filters_narrow(store: Store) -> None:
    thread_id, other = (
        talked(store, "plan one", "plan two"),
        talked(store, "plan three", "```\nplan\n``` see https://a.example"),
    )
    store.rename_thread(other, "Holiday in Rome")
    assert find(store, "plan role:user") == ["plan three", "plan one"]
    assert find(store, "plan role:ai in:this", this=thread_id) == ["plan two"]
    assert find(store, "in:holi plan role:user") == ["plan three"]
    assert find(store, 'in:"rome holiday" has:code has:link role:agent')[0].startswith("``` plan")
    assert find(store, "plan role:checkpoint") == ["after ``` plan ``` see https://a.example", "after plan two"]
    assert (find(store, "plan before:2025"), len(find(store, "plan before:2026")), find(store, "plan after:today")) == (
        [],
        6,
        [],
    )
    assert find(store, "in:nowhere plan") == []


def test_results_of_tools_arguments_and_attached_texts_are_found(store: Store) -> None:
    file = files.parse_file("report.txt", b"the zebra crosses")
    call = {"name": "look_up", "args": {"at": ["giraffe", {"n": 17}]}, "id": "1", "type": "tool_call"}
    asked = HumanMessage(files.build_content("see file", [files.make_file_part(file)]))
    thread_id = store.create_thread().id
    messages = [NewMessage(serde.to_body(asked), files=(file,)), NewMessage(serde.to_body(AIMessage("", tool_calls=[call])))]
    store.append(thread_id, [*messages, NewMessage(serde.to_body(ToolMessage("an elephant", tool_call_id="1")))])
    found = {
        text: [hit.role for hit in search(store, text)]
        for text in ("zebra", "report.txt", "giraffe 17", "look_up", "elephant")
    }
    assert found == {
        "zebra": ["user"],
        "report.txt": ["user"],
        "giraffe 17": ["assistant"],
        "look_up": ["assistant"],
        "elephant": ["tool"],
    }
    assert (len(search(store, "has:file")), len(search(store, "has:tool")), search(store, "has:image")) == (1, 1, [])


def test_a_checkpoint_is_found_as_it_is_named_now(store: Store) -> None:
    thread_id = talked(store, "a", "b")
    checkpoint = store.list_checkpoints(thread_id)[0].id
    store.change_checkpoint(thread_id, checkpoint, name="Harvest", description="of barley")
    assert (find(store, "after"), [hit.name for hit in search(store, "barley harvest")]) == ([], ["Harvest"])
    store.undo(thread_id)
    assert (find(store, "barley"), find(store, "after")) == ([], ["after b"])
    store.delete_checkpoint(thread_id, checkpoint)
    assert find(store, "after") == []
    store.undo(thread_id)
    assert [hit.checkpoint_id for hit in search(store, "after")] == [checkpoint]


def test_a_deleted_conversation_is_not_found_until_it_is_brought_back(store: Store) -> None:
    thread_id = talked(store, "walrus", "b")
    store.delete_thread(thread_id)
    assert find(store, "walrus") == []
    store.undo(thread_id)
    assert find(store, "walrus") == ["walrus"]


def test_messages_that_left_the_conversation_are_found_and_say_so(store: Store) -> None:
    thread_id = talked(store, "a", "b", "left walrus", "d")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    assert [(hit.snippet.text, hit.standing, hit.branch) for hit in search(store, "walrus")] == [("left walrus", "left", "")]
    store.undo(thread_id)
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id, keep_future=True)
    (hit,) = search(store, "walrus")
    assert hit.standing == "branch"
    assert hit.branch in {branch.name for branch, _ in store.list_branches(thread_id)}
    place = store.locate_message(thread_id, hit.message_id)
    assert (place.message_id, place.standing) == (store.list_messages(thread_id)[-1].id, "branch")
    store.switch(thread_id, place.branch_id)
    assert place.branch_message_id == hit.message_id == store.list_messages(thread_id)[2].id
    with pytest.raises(MessageNotFoundError):
        store.locate_message(thread_id, "none")


def test_a_result_is_shown_at_the_answer_whose_card_has_it(store: Store) -> None:
    call = {"name": "look", "args": {}, "id": "1", "type": "tool_call"}
    thread_id = store.create_thread().id
    messages = [HumanMessage("a"), AIMessage("", tool_calls=[call]), ToolMessage("walrus", tool_call_id="1")]
    store.append(thread_id, [NewMessage(serde.to_body(each)) for each in messages])
    (hit,) = search(store, "walrus")
    assert store.locate_message(thread_id, hit.message_id).message_id == store.list_messages(thread_id)[1].id


def test_find_in_the_open_conversation_has_the_current_branch_alone_in_its_order(store: Store) -> None:
    talked(store, "walrus elsewhere", "b")
    thread_id = talked(store, "A walrus here", "no", "walrus left", "d")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id, keep_future=True)
    store.append(thread_id, [NewMessage(serde.to_body(AIMessage("of a sub-agent: walrus")), agent="helper")])
    store.append(thread_id, new("another WALRUS here!"))
    path = store.list_messages(thread_id)
    assert store.find_in_path(thread_id, "walrus").message_ids == (path[0].id, path[3].id)
    assert store.find_in_path(thread_id, "walrus her").message_ids == (path[0].id, path[3].id)
    assert store.find_in_path(thread_id, '"another" walrus in:this').message_ids == ()
    for text in ("walr ", "here walrus", "left", "b", "", "*"):
        assert store.find_in_path(thread_id, text).message_ids == (), text
    for text in INJECTIONS:
        assert set(store.find_in_path(thread_id, text).message_ids) <= {each.id for each in path}


def test_find_has_the_newest_and_says_that_there_are_more(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new(*(f"walrus {number}" for number in range(MAX_PATH_HITS + 2))))
    index_all(store)
    found = store.find_in_path(thread_id, "walrus")
    ids = [message.id for message in store.list_messages(thread_id)]
    assert (found.message_ids, found.has_more, found.is_pending) == (tuple(ids[2:]), True, False)


def test_an_owner_finds_their_own_alone(store: Store) -> None:
    for owner in ("ann", "bob"):
        thread_id = store.create_thread(owner=owner, title=f"of {owner}").id
        store.append(thread_id, new(f"the secret of {owner}"))
    assert find(store, "secret", owner="ann") == ["the secret of ann"]
    assert find(store, "secret in:bob", owner="ann") == []
    assert find(store, "secret in:this", this=thread_id, owner="ann") == []
    assert find(store, "secret") == []


@pytest.mark.parametrize("text", INJECTIONS, ids=lambda text: ascii(text[:20]))
def test_no_query_is_an_error_and_none_is_syntax(store: Store, text: str) -> None:
    talked(store, "some plain words", "b")
    assert all(hit.snippet.text for hit in search(store, text))
    assert texts(store, store.list_threads()[0].id) == ["some plain words", "b"]


@pytest.mark.parametrize("text", INJECTIONS, ids=lambda text: ascii(text[:20]))
def test_a_text_of_any_syntax_is_stored_and_shown_as_text(store: Store, text: str) -> None:
    talked(store, serde.sanitize_text(f"marker {text}"), "b")
    assert [hit.snippet.text[slice(*hit.snippet.ranges[0])] for hit in search(store, "marker role:user")] == ["marker"]


def test_the_newest_are_found_and_the_result_says_that_there_are_more(store: Store) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new(*(f"walrus {number}" for number in range(MAX_SEARCH_HITS + 1))))
    index_all(store)
    result = store.search("walrus ", NOW)
    assert (len(result.hits), result.has_more, result.hits[0].snippet.text) == (
        MAX_SEARCH_HITS,
        True,
        f"walrus {MAX_SEARCH_HITS}",
    )


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_dates_hold_however_many_entries_are_looked_at_first_and_in_any_order(
    store: Store, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_matches, "_MAX_NEWEST_ENTRIES", limit)
    for day in (4, 1, 6, 2, 5, 3, 7):
        words = f"day {day} {'sunny' if day in {2, 5} else 'rainy'}"
        dated = Store(store.database, now=lambda day=day: NOW.replace(day=day), new_id=store.new_id)  # type: ignore[misc]
        dated.append(dated.create_thread().id, new(words, "yes"))
    assert set(find(store, "sunny before:2025-06-05")) == {"day 2 sunny"}
    assert set(find(store, "rainy after:2025-06-02 before:2025-06-06")) == {"day 4 rainy", "day 3 rainy"}
    assert set(find(store, "sunny after:2025-06-01")) == {"day 2 sunny", "day 5 sunny"}
    assert (find(store, "sunny before:2025-06-01"), find(store, "rainy after:2025-06-07")) == ([], [])
    assert store.search("day before:2025-06-04", NOW, limit=2).has_more


def test_words_near_one_another_are_before_those_of_a_long_text(store: Store) -> None:
    talked(store, "walrus and carpenter", "walrus " + "filler " * 100 + "carpenter")
    assert find(store, "walrus carpenter")[0] == "walrus and carpenter"


def test_a_change_that_failed_is_not_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    thread_id = store.create_thread().id
    monkeypatch.setattr("checkpoints.rows.operation_rows.insert_operation", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.append(thread_id, new("walrus"))
    assert find(store, "walrus") == []


@pytest.mark.parametrize("size", [3, search_index.MAX_ENTRIES_AT_ONCE + 5], ids=["small", "large"])
def test_imports_and_forks_are_found(store: Store, size: int) -> None:
    thread_id = store.create_thread().id
    store.append(thread_id, new(*(f"walrus {number}" for number in range(size))))
    store.save(thread_id, name="The walrus")
    fork = store.fork_thread(thread_id, store.list_messages(thread_id)[1].id).result
    text = transfer.export(store, thread_id)
    erasure.erase(store.database, thread_id)
    imported = transfer.import_thread(store, reading.read_document(text)).result
    index_all(store)
    assert fork is not None
    assert find(store, "walrus in:this", this=fork) == ["walrus 1", "walrus 0"]
    found = find(store, "walrus in:this", this=imported)
    assert len(found) == min(size + 1, MAX_SEARCH_HITS)
    assert find(store, "walrus role:checkpoint in:this", this=imported) == ["The walrus"]
    assert store.search("walrus", NOW).is_pending is False


def test_nothing_that_was_erased_is_found(store: Store) -> None:
    thread_id, other = talked(store, "a", "b", "left walrus", "d"), talked(store, "kept walrus", "b")
    store.restore(thread_id, store.list_checkpoints(thread_id)[0].id)
    erasure.erase(store.database, keep_undo=False)
    assert find(store, "walrus") == ["kept walrus"]
    erasure.erase(store.database, other)
    assert (find(store, "walrus"), find(store, "after"), names(store, thread_id)) == ([], ["after b"], ["after b"])
    with store.database.begin_read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(schema.search_entry)) == 3


def test_no_word_of_what_was_erased_is_in_the_file(file_store: Store, file: Path) -> None:
    thread_id = talked(file_store, "the xylophone zyzzyva", "b")
    talked(file_store, "others", "b")
    erasure.erase(file_store.database, thread_id)
    assert not [word for word in (b"xylophone", b"ylophone", b"zyzzyva", b"yzzyva") if word in file.read_bytes()]
    assert find(file_store, "others") == ["others", "after b"] or find(file_store, "others") == ["others"]


def test_erasing_a_damaged_message_leaves_nothing_of_it_and_the_rest_is_found(store: Store) -> None:
    thread_id = talked(store, "damaged walrus", "b")
    talked(store, "whole narwhal", "b")
    with store.database.begin_write() as connection:
        connection.exec_driver_sql("UPDATE message SET body = replace(body, 'walrus', 'turtle')")
    assert find(store, "walrus") == []
    erasure.erase(store.database, thread_id)
    index_all(store)
    assert (find(store, "walrus"), find(store, "turtle"), find(store, "narwhal")) == ([], [], ["whole narwhal"])


def test_a_database_of_the_revision_before_finds_what_it_found(address: str) -> None:
    words = ["pears", "plums", "figs", "grapes"]
    with closing(Database.open_url(address)) as database:
        thread_id = talked(Store(database), "apples and pears", "plums")
        Store(database).save(thread_id, name="figs")
        before = [find(Store(database), word) for word in words]
        kind = "TEXT" if database.engine.dialect.name == "sqlite" else "TSVECTOR"
        with database.engine.begin() as connection:
            drop_late_writes(connection)
            for statement in (
                "DROP TABLE search_entry",
                f"CREATE TABLE search_entry (number INTEGER PRIMARY KEY, words {kind} NOT NULL)",
                "CREATE TABLE search_pending (segment INTEGER PRIMARY KEY, depth INTEGER NOT NULL)",
                "UPDATE alembic_version SET version_num = '0032'",
            ):
                connection.exec_driver_sql(statement)
    with closing(Database.open_url(address)) as database:
        again = Store(database)
        index_all(again)
        assert [find(again, word) for word in words] == before


def test_an_index_that_was_emptied_is_made_again_in_portions(store: Store) -> None:
    thread_id = talked(store, *(f"walrus {number}" for number in range(6)))
    with store.database.begin_write() as connection:
        search_index.queue_everything(connection)
    assert (find(store, "walrus"), store.search("walrus", NOW).is_pending) == ([], True)
    store.append(thread_id, new("a new walrus"))
    assert find(store, "walrus") == ["a new walrus"]
    index_all(store)
    assert (len(find(store, "walrus role:user")), len(find(store, "walrus role:checkpoint"))) == (4, 3)
    assert store.search("walrus", NOW).is_pending is False


Step = tuple[str, int, str]
words = st.sampled_from(["ab", "abc", "Über", "über", "天気", "x-y", "x", "naïve", "1.5", "it's"])
lines = st.lists(words, min_size=1, max_size=5).map(" ".join)
steps = st.lists(
    st.tuples(st.sampled_from(["say", "branch", "save", "restore", "delete", "undo", "erase"]), st.integers(0, 5), lines)
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(steps)
def test_every_word_that_is_stored_is_found_and_no_other(store: Store, history: list[Step]) -> None:
    """Against a search through all rows, after any changes."""
    for thread in store.list_threads(owner="local"):
        erasure.erase(store.database, thread.id)
    run_steps(store, history)
    assert verification.verify(store.database).damages == ()
    with store.database.begin_read() as connection:
        bodies = connection.scalars(
            sa.select(schema.message.c.body).join(schema.thread).where(schema.thread.c.deleted_at.is_(None))
        ).all()
    stored = sorted(serde.parse_canonical(body)["data"]["content"].split() for body in bodies)
    for word in ("ab", "abc", "ÜBER", "天気", "x-y", "x", "naive", "1.5", "it's"):
        wanted = sorted(line for line in stored if matches(word, line))
        hits = [hit for hit in search(store, f'"{word}"') if hit.role != "checkpoint"]
        assert sorted(store.get_message(h.thread_id, h.message_id).langchain.text.split() for h in hits) == wanted, word


def matches(word: str, line: list[str]) -> bool:
    return any(
        each == word or (word == "ÜBER" and each.lower() == "über") or (word, each) in [("x", "x-y"), ("naive", "naïve")]
        for each in line
    )


def run_steps(store: Store, history: list[Step]) -> None:
    thread_id = store.create_thread().id
    for kind, number, line in history:
        messages, checkpoints = store.list_messages(thread_id), store.list_checkpoints(thread_id)
        at = messages[number % len(messages)].id if messages else None
        acts: dict[str, Callable[[], object]] = {
            "say": lambda line=line: store.append(thread_id, new(line)),  # type: ignore[misc]
            "branch": lambda at=at, line=line: store.append(thread_id, new(line), after=at),  # type: ignore[misc]
            "undo": lambda: store.undo(thread_id),
            "erase": lambda: erasure.erase(store.database, keep_undo=False),
        }
        if messages:
            acts["save"] = lambda line=line: store.save(thread_id, name=line)  # type: ignore[misc]
        if checkpoints:
            chosen = checkpoints[number % len(checkpoints)].id
            acts["restore"] = lambda chosen=chosen: store.restore(thread_id, chosen)  # type: ignore[misc]
            acts["delete"] = lambda chosen=chosen: store.delete_checkpoint(thread_id, chosen)  # type: ignore[misc]
        if kind in acts and not (kind == "undo" and store.find_undoable(thread_id) is None):
            acts[kind]()
