"""The checkpoints beside messages, and the removed messages below them, as the page shows them."""

import sqlalchemy as sa
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from agent.marks import SummaryMark
from checkpoints import Caller, NewMessage, Store
from checkpoints.tree_reader import read_marks, read_removed_part
from checkpoints.values import serde
from components.views import message_view, time_marks
from tests.checkpoints.conversations import new, talked

INJECTION = "<img src=x onerror=alert(1)>**bold** [a](javascript:b)"


def test_a_checkpoint_is_beside_the_last_shown_message_of_its_state(memory_store: Store) -> None:
    thread_id = talked(memory_store, "ask")
    call = {"name": "add", "args": {}, "id": "x"}
    bodies = [AIMessage("", tool_calls=[call]), ToolMessage("2", tool_call_id="x"), AIMessage("done")]
    memory_store.append(thread_id, [NewMessage(serde.to_body(each)) for each in bodies])
    path = memory_store.list_messages(thread_id)
    memory_store.save_message(thread_id, path[1].id, name="calling", caller=Caller(actor="agent"))
    memory_store.save_message(thread_id, path[2].id, name=INJECTION)
    shown = message_view.describe_messages(path)
    marks = time_marks.describe_marks(read_marks(memory_store, path), path, shown)
    assert {key: [mark["name"] for mark in each["checkpoints"]] for key, each in marks.items()} == {
        path[0].id: ["after ask"],
        path[1].id: ["calling", INJECTION],
    }
    assert [each["more"] for each in marks.values()] == [0, 0]
    assert marks[path[1].id]["checkpoints"][0]["created_by"] == "agent"


def test_removed_messages_are_a_few_plain_words(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b")
    mark = SummaryMark(2, 10, 1).to_kwargs()
    note = NewMessage(serde.to_body(HumanMessage("a note", additional_kwargs=mark)))
    answer = NewMessage(serde.to_body(AIMessage(f"# Heading\n\n{INJECTION}")))
    memory_store.append(thread_id, [note, *new("question " * 100), answer, *new("more", "and more")])
    target = memory_store.list_messages(thread_id)[1].id
    assert memory_store.preview_message_removal(thread_id, target).first_prompt.startswith("question")
    memory_store.restore_message(thread_id, target)
    part = read_removed_part(memory_store, thread_id, time_marks.READ_REMOVED_MESSAGES)
    view = time_marks.describe_removed_part(part, thread_id)
    assert view is not None
    assert (view["count"], view["undoable"]) == (5, True)
    assert [(each["role"], each["text"][:9], each["text"][-1]) for each in view["messages"]] == [
        ("user", "question ", "…"),
        ("assistant", "Heading …", "…"),
        ("user", "more", "e"),
    ]


def test_marks_and_removed_messages_take_as_many_statements_however_many_there_are(memory_store: Store) -> None:
    statements: list[int] = []
    sa.event.listen(memory_store.database.engine, "before_cursor_execute", lambda *_: statements.append(1))
    counted = []
    for length in (6, 300):
        thread_id = talked(memory_store, *map(str, range(length)))
        memory_store.restore_message(thread_id, memory_store.list_messages(thread_id)[1].id)
        statements.clear()
        with memory_store.database.begin_read():
            read_marks(memory_store, memory_store.list_messages(thread_id))
            part = read_removed_part(memory_store, thread_id, time_marks.READ_REMOVED_MESSAGES)
        counted.append(len(statements))
        assert part is not None
        assert len(part.messages) <= time_marks.READ_REMOVED_MESSAGES
    assert counted[0] == counted[1]
