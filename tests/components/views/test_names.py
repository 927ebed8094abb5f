"""Names at what other people did: nobody's own, and none where people are not told apart."""

from dataclasses import replace

from checkpoints import LOCAL_OWNER, Caller, OperationKind, Store, act_for
from checkpoints.values.audit_entry import ERASED_PREFIX
from checkpoints.values.model import RemovedPart
from components.views.change_log import build_log
from components.views.list_rows import describe_checkpoint
from components.views.message_view import NO_EXTRAS, MessageExtras, describe_messages
from components.views.names import DocumentNames, add_name, name_other
from components.views.time_marks import describe_removed_part
from tests.checkpoints.conversations import new


def test_a_name_is_of_another_person() -> None:
    assert name_other("bob") == ""  # nobody reads
    with act_for("ann"):
        assert [name_other(each) for each in ("bob", "ann", None, f"{ERASED_PREFIX}3f2a")] == [
            "bob",
            "",
            "",
            "an erased person (3f2a)",
        ]


def test_a_checkpoint_names_another_who_saved_it(memory_store: Store) -> None:
    memory_store.database.separate_owners()
    with act_for("bob"):
        thread = memory_store.create_thread().id
        memory_store.append(thread, new("Where?"))
        memory_store.save(thread)
        [own] = memory_store.list_checkpoints(thread)
    earlier = replace(own, person=None)  # it was saved before checkpoints had names
    for person, names in (("ann", ["bob", None]), ("bob", ["", None]), (LOCAL_OWNER, ["bob", ""])):
        with act_for(person):
            shown = [describe_checkpoint(each, thread)["saved_by"] for each in (own, earlier)]
            assert shown == names


def test_a_question_the_log_and_undo_name_who_it_was(memory_store: Store) -> None:
    memory_store.database.separate_owners()
    with act_for("bob"):
        thread = memory_store.create_thread().id
        done = memory_store.append(thread, new("Where?"), caller=Caller()).operation
        messages, log = memory_store.list_messages(thread), memory_store.list_operations(thread)
    for person, name in (("ann", "bob"), ("bob", "")):
        with act_for(person):
            assert [each["person"] for each in describe_messages(messages, NO_EXTRAS)] == [name]
            removed = describe_removed_part(RemovedPart(messages, 1, end_id=messages[-1].id, is_newest=True), thread)
            assert removed is not None
            assert [each["person"] for each in removed["messages"]] == [name]
            assert [each["person"] for each in build_log(log, {})] == [name]
            assert add_name("the change", done) == ("the change, by bob" if name else "the change")
    names = DocumentNames("ann", own="ann", unknown="Person")
    assert describe_messages(messages, MessageExtras(name_asker=names.name_asker))[0]["person"] == "Another person"
    assert [names.name_asker(each) for each in ("ann", "Ann", "", None)] == ["ann", "Another person", "Person", "Person"]
    assert done.kind is OperationKind.APPEND
    assert add_name(None, done) is None
