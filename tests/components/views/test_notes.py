"""The card of a note."""

import json
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import pytest
from langchain_core.messages import HumanMessage

from agent.marks import SUMMARY_KEY, MoveMark
from agent.preparation.compaction import SummaryScope, build_note, select_passage
from agent.time_travel.excerpts import ExcerptRequest, build_excerpt
from agent.time_travel.notes import format_note
from checkpoints import MAIN, Database, Message, MessageNotFoundError, MessageStatus, NewMessage, Run, RunState, Store
from checkpoints.interchange import reading, transfer
from checkpoints.rows import search_hits
from checkpoints.values import serde
from checkpoints.values.place_name import PlaceName
from components.panels import import_preview
from components.routes import replaced_messages, search
from components.views import list_rows, message_view, notes
from tests.agent.context.test_request import done

TIME = datetime(2025, 6, 1, tzinfo=UTC)
LONG = "A sentence that is long enough to be worth a summary. " * 20


def stored(new: NewMessage) -> Message:
    return Message("n", "t", None, 1, 0, MAIN, MessageStatus.DONE, new.body, "", "r", TIME)


def test_the_card_says_what_a_note_stands_for_and_shows_nothing_of_its_marks() -> None:
    found = select_passage(done(HumanMessage(LONG), HumanMessage(LONG), HumanMessage("?")), SummaryScope())
    (view,) = message_view.describe_messages([stored(build_note(found, "**Short** <b>.</summary>").build_message())])
    assert view["summary"] is not None
    assert (view["summary"]["removed"], view["summary"]["address"]) == (2, "/api/threads/t/summaries/n")
    assert view["summary"]["before"] > view["summary"]["after"]
    assert (view["role"], "<strong>Short</strong>" in view["html"], "summary" in view["html"]) == ("note", True, True)
    assert "system_message" not in view["text"]


def test_a_note_is_quoted_by_its_own_text_in_a_hit_and_in_a_preview() -> None:
    store = Store(Database.in_memory())
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(HumanMessage(LONG))) for _ in range(3)])
    path = store.list_messages(thread_id)
    mark = MoveMark("goto", 1, 1)
    move = NewMessage(
        serde.to_body(HumanMessage(format_note(path[1], 1, "**Walrus** moved"), additional_kwargs=mark.to_kwargs()))
    )
    excerpt = build_excerpt(ExcerptRequest("Walrus **brought**"), PlaceName("branch", "B"), path)
    summary = build_note(select_passage(path, SummaryScope()), "- the **walrus**").build_message()
    store.append(thread_id, [summary, move, excerpt])
    while store.index_portion():
        pass
    found = search.describe_result(store.search("walrus", TIME, notes=notes.NOTE_RULES))
    hits = {(hit["who"], "".join(part["text"] for part in hit["parts"])) for hit in found["hits"]}
    assert hits == {("Summary", "- the walrus"), ("Note", "Walrus moved"), ("Note", "Walrus brought")}
    (doc,) = reading.read_documents(transfer.export(store, thread_id).encode())
    preview = str(
        import_preview.build_import_preview("a.json", [doc], [transfer.preview_import(store, doc)], open_here=False)
    )
    for shown in ("B('Summary'), ' ', 'the walrus'", "B('Note'), ' ', 'Walrus moved'", "B('Note'), ' ', 'Walrus brought'"):
        assert shown in preview
    assert "system_message" not in preview


@pytest.mark.parametrize("database", ["memory_store", "postgres_store"])
def test_notes_are_found_by_their_role_and_kind_alone(request: pytest.FixtureRequest, database: str) -> None:
    store: Store = request.getfixturevalue(database)
    thread_id = store.create_thread().id
    said = HumanMessage(f"GOTO tool used, says a person. {LONG}")
    store.append(thread_id, [NewMessage(serde.to_body(said)) for _ in range(3)])
    path = store.list_messages(thread_id)
    kwargs = MoveMark("goto", 1, 1).to_kwargs()
    move = NewMessage(serde.to_body(HumanMessage(format_note(path[1], 1, "Walrus moved"), additional_kwargs=kwargs)))
    excerpt = build_excerpt(ExcerptRequest("Walrus brought"), PlaceName("branch", "B"), path)
    summary = build_note(select_passage(path, SummaryScope()), "Walrus in short").build_message()
    store.append(thread_id, [summary, move, excerpt])
    while store.index_portion():
        pass

    def find(text: str) -> set[str]:
        return {hit.snippet.text.strip() for hit in store.search(text, TIME, notes=notes.NOTE_RULES).hits}

    assert find("walrus role:note") == find("role:note") == {"Walrus in short", "Walrus moved", "Walrus brought"}
    assert [find(f"has:{kind}") for kind in ("summary", "move", "excerpt")] == [
        {"Walrus in short"},
        {"Walrus moved"},
        {"Walrus brought"},
    ]
    assert find("has:move brought") == find("has:move has:summary") == find("walrus role:user") == set()
    assert len(store.search("role:user", TIME, notes=notes.NOTE_RULES).hits) == 3


@pytest.mark.parametrize("database", ["memory_store", "postgres_store"])
def test_texts_that_quote_the_words_of_notes_crowd_none_out(request: pytest.FixtureRequest, database: str) -> None:
    store: Store = request.getfixturevalue(database)
    thread_id = store.create_thread().id
    said = NewMessage(serde.to_body(HumanMessage(LONG)))
    store.append(thread_id, [said] * 2)
    path, kwargs = store.list_messages(thread_id), MoveMark("goto", 1, 1).to_kwargs()
    quoting = NewMessage(serde.to_body(HumanMessage("A walrus asks: GOTO tool used?")))
    move = NewMessage(serde.to_body(HumanMessage(format_note(path[1], 1, "Walrus moved"), additional_kwargs=kwargs)))
    store.append(thread_id, [quoting, *[move] * 60, *[quoting] * 150])
    while store.index_portion():
        pass

    def find(text: str, limit: int = 50) -> tuple[set[str], int, bool]:
        found = store.search(text, TIME, notes=notes.NOTE_RULES, limit=limit)
        return {hit.snippet.text.strip() for hit in found.hits}, len(found.hits), found.has_more

    assert find("has:move") == find("walrus role:note") == ({"Walrus moved"}, 50, True)
    assert find("has:move", 10) == ({"Walrus moved"}, 10, True)
    assert find("role:note walrus has:move -asks") == ({"Walrus moved"}, 50, True)
    assert find("has:excerpt") == (set(), 0, False)
    built: list[int] = []
    build = search_hits._build_hits
    with patch.object(search_hits, "_build_hits", lambda c, rows, *rest: built.append(len(rows)) or build(c, rows, *rest)):
        find("role:user walrus", 10)
        find("has:move", 10)
    assert built == [10, *[10] * 16]  # the first portion has enough; of moves, it is the first one behind those that quote


@pytest.mark.parametrize("marks", ["x", {"removed": "many"}, {"removed": 1, "before": 2}, None, []])
def test_a_file_may_say_anything_in_place_of_the_marks(marks: Any) -> None:
    new = NewMessage(serde.to_body(HumanMessage("hello", additional_kwargs={SUMMARY_KEY: marks})))
    (view,) = message_view.describe_messages([stored(new)])
    assert (view["summary"], view["role"], view["text"]) == (None, "user", "hello")


def test_a_run_that_summarised_says_so_when_it_ended_badly() -> None:
    run = Run("r", "t", RunState.FAILED, "", "No.", dismissed=False, started_at=TIME, ended_at=TIME, compacts=True)
    shown = {"id": "r", "state": "failed", "error": "No.", "details": None, "compacts": True}
    assert list_rows.describe_run(run) == shown


@pytest.mark.parametrize("said", [2**64 + 5, 10**400, -1, True, 1.5, "7", None, []])
def test_numbers_that_a_file_says_are_no_more_than_the_page_can_read(said: Any) -> None:
    found = select_passage(done(HumanMessage(LONG), HumanMessage(LONG), HumanMessage("?")), SummaryScope())
    written = stored(build_note(found, "Short.").build_message())
    written.body["data"]["additional_kwargs"][SUMMARY_KEY]["before"] = said
    assert notes.describe_summary(written) is None
    card = message_view.describe_messages([written])
    json.dumps(card)
    assert card[0]["summary"] is None


def test_the_full_text_is_read_where_it_was_and_a_copy_does_not_have_it() -> None:
    database = Database.in_memory()
    store = Store(database)
    thread_id = store.create_thread().id
    store.append(thread_id, [NewMessage(serde.to_body(HumanMessage(text))) for text in (LONG, LONG, "?")])
    found = select_passage(store.list_messages(thread_id), SummaryScope())
    store.append(thread_id, [build_note(found, "Short.").build_message()], after=None)
    (shown,) = store.list_messages(thread_id)
    messages, count, head = replaced_messages.read_replaced_messages(store, thread_id, shown.id)
    assert ([message.id for message in messages], count, head) == ([m.id for m in found.messages], 2, found.head_id)
    other = store.fork_thread(thread_id, shown.id).result
    with pytest.raises(MessageNotFoundError):
        replaced_messages.read_replaced_messages(store, other, store.list_messages(other)[0].id)
    database.close()
