"""Two places side by side, as the page is told."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import BranchNotFoundError, CheckpointNotFoundError, MessageNotFoundError, NewMessage, Runs, Store, serde
from components.routes import comparison
from components.routes.comparison import ComparisonView
from tests.checkpoints.conversations import new, talked


def told(view: ComparisonView) -> tuple[int, str, list[str], list[str]]:
    sides = ([message["text"] for message in view[side]["messages"]] for side in ("one", "other"))
    return (view["shared"], view["common"], *sides)


def test_a_checkpoint_and_a_branch_are_held_against_where_the_conversation_stands(memory_store: Store) -> None:
    store, runs = memory_store, Runs(memory_store)
    thread_id = talked(store, "a", "b", "c", "d")
    saved = store.save(thread_id, name="There").result
    main = store.get_thread(thread_id).branch_id
    store.fork(thread_id, store.list_messages(thread_id)[1].id, name="Two")
    two = store.get_thread(thread_id).branch_id
    store.append(thread_id, new("C"))
    branches = comparison.compare_places(store, runs, thread_id, f"branch:{main}", "")
    assert told(branches) == (2, "b", ["c", "d"], ["C"])
    assert told(comparison.compare_places(store, runs, thread_id, f"branch:{main}", f"branch:{two}")) == told(branches)
    store.switch(thread_id, main)
    store.append(thread_id, new("e"))
    assert told(comparison.compare_places(store, runs, thread_id, f"checkpoint:{saved}", "")) == (4, "d", [], ["e"])
    assert told(comparison.compare_places(store, runs, thread_id, "", "")) == (5, "e", [], [])


def test_a_long_way_is_cut_and_the_rest_is_counted(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MAX_SIDE_MESSAGES", 2)
    thread_id = talked(memory_store, *"abcdef")
    first = memory_store.list_checkpoints(thread_id)[0].id
    other = comparison.compare_places(memory_store, Runs(memory_store), thread_id, f"checkpoint:{first}", "")["other"]
    assert ([message["text"] for message in other["messages"]], other["length"], other["more"]) == (["c", "d"], 4, 2)


def test_a_cut_tears_no_call_from_its_result(memory_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MAX_SIDE_MESSAGES", 3)
    thread_id = talked(memory_store, "a", "b")
    first = memory_store.list_checkpoints(thread_id)[0].id
    calling = AIMessage("Let me see.", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    said = (HumanMessage("c"), AIMessage("d"), calling, ToolMessage("seen", tool_call_id="1"), AIMessage("e"))
    memory_store.append(thread_id, [NewMessage(serde.to_body(message)) for message in said])
    other = comparison.compare_places(memory_store, Runs(memory_store), thread_id, f"checkpoint:{first}", "")["other"]
    assert ([message["text"] for message in other["messages"]], other["more"]) == (["c", "d"], 3)


def test_a_result_whose_call_both_have_stands_in_its_card(memory_store: Store) -> None:
    store = memory_store
    thread_id = talked(store, "a", "b")
    calls = [{"name": "look", "args": {}, "id": number} for number in ("1", "2")]
    results = [ToolMessage(f"seen {number}", tool_call_id=number) for number in ("1", "2")]
    store.append(
        thread_id, [NewMessage(serde.to_body(AIMessage("", tool_calls=calls))), NewMessage(serde.to_body(results[0]))]
    )
    saved = store.save(thread_id).result
    store.append(thread_id, [NewMessage(serde.to_body(results[1])), new("", "done")[1]])
    found = comparison.compare_places(store, Runs(store), thread_id, f"checkpoint:{saved}", "")
    card, done = found["other"]["messages"]
    assert [tool["result"] for tool in card["tools"]] == ["seen 1", "seen 2"]
    assert (done["text"], found["shared"], found["other"]["length"]) == ("done", 4, 2)


def test_only_where_one_stands_is_something_at_work(memory_store: Store) -> None:
    store, runs = memory_store, Runs(memory_store)
    thread_id = talked(store, "a", "b")
    begin = store.list_messages(thread_id)[1].id
    main = store.get_thread(thread_id).branch_id
    calling = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "1"}])
    store.append(thread_id, [NewMessage(serde.to_body(message)) for message in (HumanMessage("c"), calling)])
    store.fork(thread_id, begin)
    run = runs.begin_run(thread_id, new("d")[0])
    runs.commit_message(run, NewMessage(serde.to_body(calling)))
    found = comparison.compare_places(store, runs, thread_id, f"branch:{main}", "")
    assert [found[side]["messages"][-1]["tools"][0]["status"] for side in ("one", "other")] == ["stopped", "running"]


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("branch:none", BranchNotFoundError),
        ("checkpoint:none", CheckpointNotFoundError),
        ("branch:", BranchNotFoundError),
        ("message:none", MessageNotFoundError),
        ("rubbish", CheckpointNotFoundError),
    ],
)
def test_a_place_that_is_not_there_is_refused(memory_store: Store, place: str, error: type[Exception]) -> None:
    thread_id = talked(memory_store, "a", "b")
    with pytest.raises(error):
        comparison.compare_places(memory_store, Runs(memory_store), thread_id, place, "")


def test_any_message_can_be_compared(memory_store: Store) -> None:
    thread_id = talked(memory_store, "a", "b", "c")
    first = memory_store.list_messages(thread_id)[0].id
    assert comparison.compare_places(memory_store, Runs(memory_store), thread_id, f"message:{first}", "")["shared"] == 1


def test_an_empty_conversation_can_be_compared(memory_store: Store) -> None:
    thread_id = memory_store.create_thread().id
    assert told(comparison.compare_places(memory_store, Runs(memory_store), thread_id, "", "")) == (0, "", [], [])
