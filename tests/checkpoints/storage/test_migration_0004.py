"""Migration 0004: sentences of earlier versions become facts, of which the page makes the same sentences."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from checkpoints import Database, Operation, Store
from components.views import change_log
from tests.checkpoints.storage.revisions import revert_schema

pytestmark = pytest.mark.slow

HEAD_MOVED = [["branch", "b", {"head_id": "1"}, {"head_id": "2"}]]
HIDDEN = {"deleted_at": None}, {"deleted_at": 5}
SHOWN = {"deleted_at": 5}, {"deleted_at": None}
SIZE = " · about 1,234 tokens became 56"
TOKENS = {"tokens_before": 1_234, "tokens_after": 56}
MODEL = {"settings": {"model": "old"}}, {"settings": {"model": "", "instructions": "Long.", "time_travel": "allow"}}

# (kind, note, result, changes) before; (kind, detail, sentence of the log) after
FORMS: list[tuple[tuple[str, str, str | None, Any], tuple[str, dict[str, Any], str]]] = [
    (("append", "", "m", HEAD_MOVED), ("append", {}, "Asked")),
    (("edit", "", "m", HEAD_MOVED), ("edit", {}, "Edited a message")),
    (("edit", "2 checkpoints removed", "m", HEAD_MOVED), ("edit", {"checkpoints": 2}, "Edited a message")),
    (("edit", "1 checkpoint removed", None, HEAD_MOVED), ("retry", {"checkpoints": 1}, "Asked for another answer")),
    (("edit", "", None, HEAD_MOVED), ("retry", {}, "Asked for another answer")),
    (
        ("edit", "0 later messages", "m", HEAD_MOVED),
        ("replace", {"kept": 0}, "Kept 0 later messages and changed a message to"),
    ),
    (("save", "Now · 2 messages removed", "c", []), ("save", {"name": "Now · 2 messages removed"}, "")),
    (
        ("restore", "A · 1 message removed · 1,002 messages and 1 checkpoint removed", "c", HEAD_MOVED),
        (
            "restore",
            {"name": "A · 1 message removed", "messages": 1_002, "checkpoints": 1, "future_kept": False},
            "Restored A · 1 message removed · 1,002 messages and 1 checkpoint removed",
        ),
    ),
    (("restore", "A · nothing kept as a branch", "c", []), ("restore", {"name": "A", "future_kept": True}, "")),
    (("restore", "A", "c", HEAD_MOVED), ("restore", {"name": "A"}, "Restored A")),
    (
        ("goto", f"message 1 · 3 messages removed{SIZE}", "m", HEAD_MOVED),
        ("goto", {"depth": 0, "messages": 3, **TOKENS}, f"Went back to message 1 · 3 messages removed{SIZE}"),
    ),
    (
        ("rewind", "msg_2 · 1 message removed", "m", HEAD_MOVED),
        ("rewind", {"depth": 2, "messages": 1}, "Replaced message 3 · 1 message removed"),
    ),
    (("compact", f"4 messages{SIZE}", "m", []), ("compact", {"messages": 4, **TOKENS}, f"Summarised 4 messages{SIZE}")),
    (
        ("rename", "branch A to B to C", None, [["branch", "b", {"name": "A to B"}, {"name": "C"}]]),
        ("rename", {"subject": "branch", "name": "A to B", "new_name": "C"}, "Renamed branch A to B to C"),
    ),
    (("rename", "branch A to A", None, []), ("rename", {"subject": "branch", "name": "A", "new_name": "A"}, "")),
    (
        ("rename", "checkpoint A", "c", [["checkpoint", "c", {"description": ""}, {"description": "d"}]]),
        ("rename", {"subject": "checkpoint", "name": "A"}, "Described checkpoint A"),
    ),
    (
        ("rename", "branch of a tree", None, [["thread", "t", {"title": "Old"}, {"title": "branch of a tree"}]]),
        (
            "rename",
            {"subject": "thread", "name": "Old", "new_name": "branch of a tree"},
            "Renamed the conversation to branch of a tree",
        ),
    ),
    (
        ("pin", "checkpoint A", "c", [["checkpoint", "c", {"pinned": False}, {"pinned": True}]]),
        ("pin", {"subject": "checkpoint", "name": "A", "pinned": True}, "Pinned checkpoint A"),
    ),
    (("pin", "checkpoint A", "c", []), ("pin", {"subject": "checkpoint", "name": "A", "pinned": False}, "")),
    (
        ("settings", "the instructions and the model to the default", None, [["thread", "t", *MODEL]]),
        (
            "settings",
            {"settings": {"instructions": "", "model": "", "time_travel": "allow"}},
            "Set the instructions and the model to the default and time travel to allow",
        ),
    ),
    (
        ("fork", "branch Other", "b", [["branch", "b", *SHOWN], ["thread", "t", {"branch_id": "a"}, {"branch_id": "b"}]]),
        ("fork", {"subject": "branch", "name": "Other"}, "Began branch Other"),
    ),
    (("fork", "2 branches", None, [["branch", "b", *SHOWN]]), ("fork", {"subject": "branches", "branches": 2}, "")),
    (
        ("fork", "branch lines", "t", [*HEAD_MOVED, ["thread", "t", *SHOWN]]),
        ("fork", {"subject": "thread", "name": "branch lines"}, "Branched off from branch lines"),
    ),
    (("switch", "branch main", "b", []), ("switch", {"subject": "branch", "name": "main"}, "Switched to branch main")),
    (("switch", "another alternative", "m", []), ("switch", {"subject": "message"}, "Switched to another alternative")),
    (("switch", "", "m", HEAD_MOVED), ("switch", {"subject": "message"}, "")),
    (
        ("delete", "conversation 2 branches", None, [["thread", "t", *HIDDEN]]),
        ("delete", {"subject": "thread", "name": "2 branches"}, "Deleted the conversation 2 branches"),
    ),
    (("delete", "branch B", "b", [["branch", "b", *HIDDEN]]), ("delete", {"subject": "branch", "name": "B"}, "")),
    (
        ("delete", "checkpoint C", "c", [["checkpoint", "c", *HIDDEN]]),
        ("delete", {"subject": "checkpoint", "name": "C"}, ""),
    ),
    (
        ("delete", "3 other branches", None, [["branch", "b", *HIDDEN]]),
        ("delete", {"subject": "branches", "branches": 3}, "Deleted the 3 other branches"),
    ),
    (("clear", "checkpoints", None, []), ("clear", {"subject": "checkpoints"}, "Cleared the checkpoints")),
    (("clear", "conversation", None, HEAD_MOVED), ("clear", {"subject": "thread"}, "Cleared the conversation")),
    (("import", "Talk", "t", HEAD_MOVED), ("import", {"name": "Talk"}, "Imported Talk")),
    (
        ("import", "Talk · 2 messages, 1 branch, 1 checkpoint added", "t", HEAD_MOVED),
        (
            "import",
            {"name": "Talk", "messages": 2, "branches": 1, "checkpoints": 1},
            "Imported Talk · 2 messages, 1 branch, 1 checkpoint added",
        ),
    ),
    (("import", "Talk · 1 branch added", "t", []), ("import", {"name": "Talk", "branches": 1}, "")),
    (("erase", "what only undo could reach", None, []), ("erase", {}, "Erased what only undo could bring back")),
    (("undo", "", None, HEAD_MOVED), ("undo", {}, "Undid an earlier change")),
    (("redo", "", None, HEAD_MOVED), ("redo", {}, "Redid an earlier change")),
    # erased
    (("restore", "", "c", []), ("restore", {}, "Restored a checkpoint")),
    (("edit", "", "m", []), ("edit", {}, "Edited a message")),
    # damaged, or of an unknown form
    (("rename", "branch A to B", None, [1]), ("rename", {"subject": "branch", "name": "A to B"}, "Renamed branch A to B")),
    (("delete", "lot", None, {"a": 1}), ("delete", {"text": "lot"}, "Deleted the lot")),
    (("compact", "all of it", "m", [["x"]]), ("compact", {"text": "all of it"}, "Summarised all of it")),
    (("goto", f"message {'9' * 5_000} · 1 message removed", "m", []), ("goto", {"depth": 10**18 - 2, "messages": 1}, "")),
]


@pytest.fixture
def converted(address: str) -> Iterator[Store]:
    """A database of schema 0003, written by SQL and opened by this version."""
    database = Database.open_url(address)
    thread_id = Store(database).create_thread(title="old").id
    many = Store(database).create_thread(title="many").id
    insert = sa.text(
        "INSERT INTO operation (thread_id, version, kind, actor, changes, note, result, created_at)"
        " VALUES (:thread, :version, :kind, 'user', :changes, :note, :result, 0)"
    )
    with database.begin_write() as connection:
        revert_schema(connection, "0003")
        saves = [(many, number, ("save", f"n{number}", None, [])) for number in range(1_101)]
        rows = [(thread_id, number, before) for number, (before, _) in enumerate(FORMS)]
        for thread, number, (kind, note, result, changes) in rows + saves:
            row = {"thread": thread, "version": number, "kind": kind, "note": note, "result": result}
            connection.execute(insert, row | {"changes": json.dumps(changes)})
    database.close()
    database = Database.open_url(address)
    yield Store(database)
    database.close()


def _operations(store: Store, title: str) -> list[Operation]:
    thread = next(thread for thread in store.list_threads() if thread.title == title)
    return list(reversed(store.list_operations(thread.id)))


def test_every_form_of_an_old_note_becomes_facts(converted: Store) -> None:
    for operation, (before, (kind, detail, _)) in zip(_operations(converted, "old"), FORMS, strict=True):
        assert (operation.kind, operation.detail.to_json()) == (kind, detail), before


def test_the_page_says_of_old_operations_what_it_said(converted: Store) -> None:
    for operation, (before, (_, _, sentence)) in zip(_operations(converted, "old"), FORMS, strict=True):
        [entry] = change_log.build_log([operation], {})
        assert entry["text"] == (sentence or entry["text"]), before


def test_every_batch_of_operations_is_converted(converted: Store) -> None:
    assert [operation.detail.name for operation in _operations(converted, "many")] == [f"n{n}" for n in range(1_101)]
