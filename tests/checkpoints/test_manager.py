"""The library face, line by line."""

import copy
import json
import threading

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from checkpoints import (
    Checkpoint,
    CheckpointManager,
    CheckpointNotFoundError,
    InvalidDocumentError,
    NothingToSaveError,
    NothingToUndoError,
    Store,
    StoreUnavailableError,
)
from checkpoints.storage import schema
from tests.checkpoints.conversations import count, dump, new, said, state, texts


@pytest.fixture
def manager(store: Store) -> CheckpointManager:
    return CheckpointManager(store, store.create_thread().id)


def contents(found: object) -> list[str]:
    assert isinstance(found, dict)
    return [message.content for message in found["messages"]]


def listed(manager: CheckpointManager) -> list[str]:
    return [entry["name"] for entry in manager.list_checkpoints()]


def test_a_manager_needs_nothing_around_it() -> None:
    manager = CheckpointManager()
    saved = manager.save_checkpoint(state("a", "b", step=3), "one", "the first")
    assert (saved.name, saved.description, saved.message_count, saved.created_by) == ("one", "the first", 2, "user")
    assert saved.timestamp.tzinfo is not None
    assert contents(manager.restore_checkpoint(saved.id)) == ["a", "b"]


def test_two_managers_share_nothing() -> None:
    one, other = CheckpointManager(), CheckpointManager()
    one.save_checkpoint(state("a"))
    assert other.list_checkpoints() == []


def test_a_manager_closes_its_own_store_and_leaves_that_of_others_open(store: Store) -> None:
    thread_id = store.create_thread().id
    with CheckpointManager() as own, CheckpointManager(store, thread_id) as other:
        other.save_checkpoint(state("a"))
    with pytest.raises(StoreUnavailableError):
        own.list_checkpoints()
    assert texts(store, thread_id) == ["a"]


def test_default_names_count_up_and_never_come_twice(manager: CheckpointManager) -> None:
    first, second = manager.save_checkpoint(state("a")), manager.save_checkpoint(state("a", "b"))
    manager.delete_checkpoint(second.id)
    third = manager.save_checkpoint(state("a", "b"))
    manager.clear_all()
    fourth = manager.save_checkpoint(state("c"))
    manager.undo()
    fifth = manager.save_checkpoint(state("d"))
    assert [c.name for c in (first, second, third, fourth, fifth)] == [f"Checkpoint {n}" for n in (1, 2, 3, 4, 5)]


def test_a_default_name_avoids_one_that_was_given(manager: CheckpointManager) -> None:
    manager.save_checkpoint(state("a"), "Checkpoint 2")
    assert manager.save_checkpoint(state("a")).name == "Checkpoint 3"


@pytest.mark.parametrize("empty", [{}, {"messages": []}, {"messages": [], "step": 1}, None])
def test_there_is_nothing_to_save_in_an_empty_state(manager: CheckpointManager, empty: dict[str, object] | None) -> None:
    with pytest.raises(NothingToSaveError, match="start a conversation first"):
        manager.save_checkpoint(empty)
    assert manager.list_checkpoints() == []


def test_an_unknown_id_changes_nothing(manager: CheckpointManager, store: Store) -> None:
    manager.save_checkpoint(state("a"))
    before = dump(store)
    with pytest.raises(CheckpointNotFoundError, match="no checkpoint 'nothing'") as caught:
        manager.restore_checkpoint("nothing")
    assert isinstance(caught.value, KeyError)
    assert manager.get_checkpoint("nothing") is None
    assert manager.delete_checkpoint("nothing") is False
    assert dump(store) == before


def test_a_checkpoint_of_another_conversation_is_unknown(manager: CheckpointManager, store: Store) -> None:
    other = CheckpointManager(store, store.create_thread().id).save_checkpoint(state("a"))
    manager.save_checkpoint(state("b"))
    with pytest.raises(CheckpointNotFoundError):
        manager.restore_checkpoint(other.id)
    assert manager.delete_checkpoint(other.id) is False


def test_mutating_what_was_saved_changes_nothing_stored(manager: CheckpointManager) -> None:
    given = state("a", "b", notes=[{"deep": [1]}])
    saved = manager.save_checkpoint(given)
    given["messages"][0].content = "changed"
    given["messages"].append(HumanMessage("c"))
    given["notes"][0]["deep"].append(2)
    found = manager.restore_checkpoint(saved.id)
    assert (contents(found), found["notes"]) == (["a", "b"], [{"deep": [1]}])


def test_mutating_what_was_returned_changes_nothing_stored(manager: CheckpointManager) -> None:
    saved = manager.save_checkpoint(state("a", notes=[[1]]))
    for found in (manager.restore_checkpoint(saved.id), saved.state, manager.get_checkpoint(saved.id).state):
        found["messages"][0].content = "changed"
        found["messages"].clear()
        found["notes"][0].append(2)
    manager.list_checkpoints()[0]["name"] = "changed"
    again = manager.get_latest_checkpoint()
    assert (contents(again.state), again.state["notes"], again.name) == (["a"], [[1]], "Checkpoint 1")


def test_a_later_save_sees_a_message_that_was_changed_in_place(manager: CheckpointManager) -> None:
    given = {"messages": [HumanMessage("a"), AIMessage("", tool_calls=[{"name": "f", "args": {"x": [1]}, "id": "1"}])]}
    first = manager.save_checkpoint(given)
    given["messages"][1].tool_calls[0]["args"]["x"].append(2)
    second = manager.save_checkpoint(given)
    assert first.state["messages"][1].tool_calls[0]["args"] == {"x": [1]}
    assert second.state["messages"][1].tool_calls[0]["args"] == {"x": [1, 2]}


def test_a_later_save_sees_a_field_of_the_callers_own(manager: CheckpointManager) -> None:
    first = manager.save_checkpoint({"messages": [HumanMessage("a", note="old")]})
    second = manager.save_checkpoint({"messages": [HumanMessage("a", note="new")]})
    assert [c.state["messages"][0].note for c in (first, second)] == ["old", "new"]


def test_a_state_comes_back_with_its_tool_messages(manager: CheckpointManager) -> None:
    call = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}], usage_metadata=None)
    given = [HumanMessage("a", id="h"), call, ToolMessage("4", tool_call_id="1", artifact={"rows": [1]}), AIMessage("4")]
    saved = manager.save_checkpoint({"messages": copy.deepcopy(given)})
    assert manager.restore_checkpoint(saved.id)["messages"] == given


def test_later_checkpoints_are_gone_after_a_restore(manager: CheckpointManager) -> None:
    saved = [manager.save_checkpoint(state(*"abcd"[:n])) for n in (1, 2, 3)]
    manager.restore_checkpoint(saved[1].id)
    assert listed(manager) == ["Checkpoint 1", "Checkpoint 2"]
    with pytest.raises(CheckpointNotFoundError):
        manager.restore_checkpoint(saved[2].id)
    assert manager.get_checkpoint(saved[2].id) is None


def test_keeping_the_future_makes_a_branch_of_it(manager: CheckpointManager, store: Store) -> None:
    first = manager.save_checkpoint(state("a"), "one")
    manager.save_checkpoint(state("a", "b"), "two")
    manager.restore_checkpoint(first.id, keep_future=True)
    thread_id = store.list_threads()[0].id
    [(branch, length)] = [(b, n) for b, n in store.list_branches(thread_id) if b.name == "Before restoring one"]
    assert length == 2
    store.switch(thread_id, branch.id)
    assert (texts(store, thread_id), listed(manager)) == (["a", "b"], ["one", "two"])


def test_deleting_one_checkpoint_changes_no_other(manager: CheckpointManager) -> None:
    saved = [manager.save_checkpoint(state(*"abc"[:n], n=n)) for n in (1, 2, 3)]
    before = [manager.get_checkpoint(c.id).to_dict() for c in (saved[0], saved[2])]
    assert manager.delete_checkpoint(saved[1].id) is True
    assert [manager.get_checkpoint(c.id).to_dict() for c in (saved[0], saved[2])] == before
    assert manager.delete_checkpoint(saved[1].id) is False


def test_clearing_deletes_the_checkpoints_and_keeps_the_conversation(manager: CheckpointManager, store: Store) -> None:
    manager.save_checkpoint(state("a", "b"))
    manager.clear_all()
    assert (manager.list_checkpoints(), manager.get_latest_checkpoint()) == ([], None)
    assert texts(store, store.list_threads()[0].id) == ["a", "b"]


def test_other_keys_of_a_state_travel_with_it(manager: CheckpointManager) -> None:
    extra = {"step": 3, "plan": {"todo": ["x", None, 1.5, True]}, "ü": "é"}
    saved = manager.save_checkpoint(state("a", **extra))
    assert {k: v for k, v in manager.restore_checkpoint(saved.id).items() if k != "messages"} == extra


@pytest.mark.parametrize("value", [(1,), {1}, float("nan"), "\ud800", {1: 2}], ids=repr)
def test_a_state_that_json_cannot_carry_is_refused_whole(manager: CheckpointManager, store: Store, value: object) -> None:
    before = dump(store)
    with pytest.raises((TypeError, ValueError)):
        manager.save_checkpoint(state("a", step=value))
    assert dump(store) == before


def test_a_checkpoint_goes_through_a_dictionary_and_json(manager: CheckpointManager) -> None:
    saved = manager.save_checkpoint(state("a", "b", step=[1]), "one", "words")
    back = Checkpoint.from_dict(json.loads(json.dumps(saved.to_dict())))
    assert back.to_dict() == saved.to_dict()
    assert back.state == saved.state
    assert back == saved


def test_the_list_says_everything_but_the_state(manager: CheckpointManager) -> None:
    saved = manager.save_checkpoint(state("a"), "one", "words")
    [entry] = manager.list_checkpoints()
    assert entry == {key: value for key, value in saved.to_dict().items() if key != "state"}


def test_the_list_is_oldest_first_and_the_latest_is_its_last(manager: CheckpointManager) -> None:
    saved = [manager.save_checkpoint(state(*"abc"[:n])) for n in (1, 2, 3)]
    assert [entry["id"] for entry in manager.list_checkpoints()] == [c.id for c in saved]
    assert manager.get_latest_checkpoint().id == saved[-1].id


def test_a_state_that_goes_on_stores_only_its_new_messages(manager: CheckpointManager, store: Store) -> None:
    manager.save_checkpoint(state("a", "b"))
    manager.save_checkpoint(state("a", "b", "c"))
    manager.save_checkpoint(state("a", "b", "c"))
    manager.save_checkpoint()
    assert (count(store, schema.message), count(store, schema.checkpoint)) == (3, 4)


def test_a_state_that_another_manager_wrote_is_recognised(manager: CheckpointManager, store: Store) -> None:
    manager.save_checkpoint(state("a", "b"))
    other = CheckpointManager(store, store.list_threads()[0].id)
    other.save_checkpoint(state("a", "b", "c"))
    manager.save_checkpoint(state("a", "b", "c", "d"))
    assert count(store, schema.message) == 4


def test_a_checkpoint_stays_listed_when_a_compacted_state_is_saved(manager: CheckpointManager) -> None:
    long = manager.save_checkpoint(state("a", "b", "c"), "long")
    short = manager.save_checkpoint(state("summary", "c"), "short")
    manager.save_checkpoint(state("summary", "c", "d"), "on")
    assert listed(manager) == ["long", "short", "on"]
    assert contents(manager.restore_checkpoint(short.id)) == ["summary", "c"]
    assert listed(manager) == ["long", "short"]
    assert contents(manager.restore_checkpoint(long.id)) == ["a", "b", "c"]
    assert listed(manager) == ["long"]


def test_a_restore_keeps_what_is_on_the_path_even_if_it_was_detached(manager: CheckpointManager) -> None:
    whole = manager.save_checkpoint(state("a", "b"), "whole")
    manager.save_checkpoint(state("a"), "shorter")
    manager.save_checkpoint(state("other"), "other")
    manager.restore_checkpoint(whole.id)
    assert listed(manager) == ["whole", "shorter"]


def test_keeping_the_future_keeps_what_a_compaction_left(manager: CheckpointManager, store: Store) -> None:
    first = manager.save_checkpoint(state("a"), "one")
    manager.save_checkpoint(state("b"), "two")
    manager.save_checkpoint(state("c"), "three")
    manager.restore_checkpoint(first.id, keep_future=True)
    assert listed(manager) == ["one"]
    thread_id = store.list_threads()[0].id
    store.switch(thread_id, store.list_branches(thread_id)[1][0].id)
    assert listed(manager) == ["two", "three"]


def test_restore_undo_and_redo_lead_there_and_back(manager: CheckpointManager) -> None:
    first = manager.save_checkpoint(state("a"), "one")
    manager.save_checkpoint(state("a", "b"), "two")
    manager.restore_checkpoint(first.id)
    manager.undo()
    assert listed(manager) == ["one", "two"]
    manager.redo()
    assert listed(manager) == ["one"]
    with pytest.raises(NothingToUndoError, match="nothing to redo"):
        manager.redo()


def test_a_save_after_an_undo_compares_with_what_is_there_now(manager: CheckpointManager, store: Store) -> None:
    manager.save_checkpoint(state("a", "b"))
    manager.save_checkpoint(state("a", "b", "c", "d"))
    manager.undo()
    saved = manager.save_checkpoint(state("a", "b", "c", "d", "e"))
    assert contents(saved.state) == ["a", "b", "c", "d", "e"]
    assert texts(store, store.list_threads()[0].id) == ["a", "b", "c", "d", "e"]


def test_a_state_is_saved_as_it_was_given_although_the_page_wrote_meanwhile(store: Store) -> None:
    thread_id = store.create_thread().id
    manager = CheckpointManager(store, thread_id)
    manager.save_checkpoint(state("a", "b"))
    read = store.get_thread

    def read_and_be_overtaken(thread: str) -> object:
        found = read(thread)
        store.get_thread = read  # type: ignore[method-assign]
        store.append(thread_id, new("x"), after=None)
        return found

    store.get_thread = read_and_be_overtaken  # type: ignore[method-assign,assignment]
    assert contents(manager.save_checkpoint(state("a", "b", "c")).state) == ["a", "b", "c"]


def test_a_manager_in_memory_can_be_used_from_several_threads() -> None:
    manager = CheckpointManager()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for step in range(20):
                manager.save_checkpoint(state(f"{number}", f"{step}"))
                manager.list_checkpoints()
        except Exception as error:  # noqa: BLE001  any at all is what this looks for
            failures.append(error)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert failures == []
    assert len(manager.list_checkpoints()) == 80
    assert all(
        len(c.state["messages"]) == 2 for c in map(manager.get_checkpoint, (e["id"] for e in manager.list_checkpoints()))
    )


def test_an_export_of_one_manager_is_the_conversation_of_another(manager: CheckpointManager) -> None:
    manager.save_checkpoint(state("a", "b", step=1), "one")
    manager.save_checkpoint(state("a", "b", "c"), "two")
    other = CheckpointManager()
    other.save_checkpoint(state("x"))
    other.import_checkpoints(manager.export_checkpoints())
    assert other.list_checkpoints() == manager.list_checkpoints()
    assert other.get_latest_checkpoint().state == manager.get_latest_checkpoint().state
    other.undo()
    assert listed(other) == ["Checkpoint 1"]


def test_a_refused_import_changes_nothing(manager: CheckpointManager, store: Store) -> None:
    manager.save_checkpoint(state("a"))
    before = dump(store)
    with pytest.raises(InvalidDocumentError):
        manager.import_checkpoints('{"format": "waymark/1"}')
    assert dump(store) == before


def test_messages_are_what_is_compared_and_not_their_number(manager: CheckpointManager) -> None:
    manager.save_checkpoint({"messages": said("a", "b")})
    saved = manager.save_checkpoint({"messages": [HumanMessage("a"), HumanMessage("b")]})
    assert [type(m) for m in saved.state["messages"]] == [HumanMessage, HumanMessage]
