"""Open WebUI's export of chats, as its documentation shows it, becomes conversations here."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from checkpoints import InvalidDocumentError, MessageStatus, Store
from checkpoints.interchange import reading, transfer
from tests.checkpoints.conversations import dump, texts

Json = dict[str, Any]


def said(identifier: str, parent: str | None, role: str = "user", **fields: Any) -> Json:
    return {"id": identifier, "parentId": parent, "childrenIds": [], "role": role, "content": identifier, **fields}


def chat(*messages: Json, current: Any = None, **fields: Any) -> Json:
    history = {"currentId": current, "messages": {message["id"]: message for message in messages}}
    return {"title": "My Conversation", "models": ["llama3.2"], "history": history, **fields}


TREE = chat(
    said("question", None, timestamp=1700000000),
    said("first", "question", "assistant", model="llama3.2", done=True, timestamp=1700000005),
    said("second", "question", "assistant", model="qwen3", timestamp=1700000009),
    said("more", "second"),
    current="first",
)


def imported(store: Store, *chats: Json) -> list[str]:
    return [transfer.import_thread(store, doc).result for doc in reading.read_documents(json.dumps(chats))]


def test_a_chat_becomes_a_conversation_with_a_branch_for_each_leaf(store: Store) -> None:
    [thread_id] = imported(store, {"chat": TREE, "meta": {}, "created_at": 1699999999})
    assert (store.get_thread(thread_id).title, texts(store, thread_id)) == ("My Conversation", ["question", "first"])
    (_, one), (other, two) = store.list_branches(thread_id)
    assert (one, two, other.name) == (2, 3, "Branch 2")
    question, first = store.list_messages(thread_id)
    assert question.created_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert first.langchain.response_metadata == {"model_name": "llama3.2"}
    store.switch(thread_id, other.id)
    assert texts(store, thread_id) == ["question", "second", "more"]


def test_several_chats_are_several_conversations(store: Store) -> None:
    made = imported(store, {"chat": TREE}, chat(said("hello", None), title="Two"))
    assert [store.get_thread(thread_id).title for thread_id in made] == ["My Conversation", "Two"]
    with pytest.raises(InvalidDocumentError, match="holds 2 conversations"):
        reading.read_document(json.dumps([TREE, TREE]))


def test_the_same_file_again_is_the_same_conversations(store: Store) -> None:
    first = imported(store, TREE)
    before = dump(store)
    assert imported(store, TREE) == first
    assert dump(store) == before


def test_an_answer_that_was_not_finished_is_partial(store: Store) -> None:
    [thread_id] = imported(store, chat(said("a", None), said("b", "a", "assistant", done=False)))
    assert store.list_messages(thread_id)[-1].status is MessageStatus.PARTIAL


def test_images_are_left_out_and_said(store: Store) -> None:
    image = {"type": "image", "url": "data:image/png;base64,AAAA"}
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "http://x/y.png"}}]
    made = json.dumps([chat(said("see", None, files=[image, image]), said("b", "see", content=parts))])
    doc = reading.read_document(made)
    found = [part.message["data"]["content"] for part in doc.current_messages()]
    assert found == ["see\n\n[2 images left out]", "look\n\n[1 image left out]"]
    assert (
        "3 images in it cannot be imported: a line in the text says where." in transfer.preview_import(store, doc).warnings
    )


def test_a_system_message_is_data(store: Store) -> None:
    doc = reading.read_document(json.dumps([chat(said("obey", None, "system"), said("a", "obey"))]))
    assert [part.message["type"] for part in doc.current_messages()] == ["system", "human"]
    assert "never become instructions" in transfer.preview_import(store, doc).warnings[0]


def test_answers_that_are_alike_are_one(store: Store) -> None:
    same = [said(i, "q", "assistant", content="yes", model="m") for i in ("x", "y")]
    [thread_id] = imported(store, chat(said("q", None), *same, said("on", "y"), current="on"))
    assert (texts(store, thread_id), len(store.list_branches(thread_id))) == (["q", "yes", "on"], 1)


@pytest.mark.parametrize(
    ("spoiled", "field"),
    [
        ({"chat": []}, "[0].chat.history"),
        ({"history": {"messages": []}}, "[0].history.messages"),
        (chat(said("a", "b")), "[0].history.messages.a.parentId"),
        (chat(said("a", "b"), said("b", "a")), "[0].history.messages.a.parentId"),
        (chat(said("a", "a")), "[0].history.messages.a.parentId"),
        (chat(said("a", None, parentId=[])), "[0].history.messages.a.parentId"),
        (chat(said("a", None, "tool")), "[0].history.messages.a.role"),
        (chat(said("a", None, content=None)), "[0].history.messages.a.content"),
        (chat(said("a", None, content=[5])), "[0].history.messages.a.content[0].text"),
        (chat(said("a", None), current="b"), "[0].history.currentId"),
        (chat(said("a", None), current=5), "[0].history.currentId"),
        ({"history": {"messages": {"a": 5}}}, "[0].history.messages.a.parentId"),
    ],
)
def test_what_is_no_chat_is_refused_by_the_field(spoiled: Json, field: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        reading.read_documents(json.dumps([spoiled]))
    assert caught.value.field == field


@pytest.mark.parametrize("time", [-1e18, 1e300, "soon", True, None, 1700000000000])
def test_a_time_that_is_none_is_the_one_before(store: Store, time: Any) -> None:
    [thread_id] = imported(store, {"chat": chat(said("a", None, timestamp=time)), "created_at": 1700000000})
    assert store.list_messages(thread_id)[0].created_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
